"""How large a reply's prompt is as a scene grows to 10,000 turns, and how much of it a prompt cache can keep.

Four members and one persona talk in one place. The engine, SQLite and LanceDB are real and the clock runs
fast; the model is scripted (it writes valid notes and counts four characters a token) and the encoder hashes
words, since encoding 10,000 turns says nothing about prompts. Over the 120 turns before each mark every third
turn is a reply, and there each prompt is compared with the one before; elsewhere replies are rare, and those
prompts, 80 turns apart, are not compared.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks._encoding import say
from benchmarks._notes import notes_for
from benchmarks._words import Sentences
from bot.adapters.lance_index import LanceIndex
from bot.engine.state import PlaceState
from tests.engine.stage import ALICE, BOB, CARO, TAVERN, RealClock, Stage, open_stage
from tests.fakes import Prompt
from tests.fakes_encoder import HashEncoder

MARKS: Final = (100, 1_000, 10_000)
PERSONA: Final = "Mira"
_MEMBERS: Final = (ALICE, BOB, CARO, 104)
_CLOSE: Final = 120
"""So many turns before each mark, every third turn is a reply."""
_AVERAGED: Final = 60
"""The tokens at a mark are the mean over so many turns: a window shrinks by a quarter and grows again."""
_OFTEN, _SELDOM = 2, 80
"""Members' messages per reply."""
_PER_TURN: Final = timedelta(seconds=30)
_BATCH: Final = 20
_WAIT_S: Final = 60.0


def run(arguments: Sequence[str], marks: Sequence[int] = MARKS) -> dict[str, Any]:
    """Return the prompt's tokens at each mark, and the median share of a prompt's characters that is a common
    prefix with the prompt before it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks prompt", description=__doc__)
    parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="troupe-") as folder:
        return asyncio.run(_run(Path(folder), marks))


async def _run(folder: Path, marks: Sequence[int]) -> dict[str, Any]:
    sentences = Sentences(seed=4)
    said = iter(range(10**9))
    encoder = HashEncoder()
    async with AsyncExitStack() as stack:
        index = await stack.enter_async_context(
            LanceIndex.open(folder / "lancedb", encoder_id=encoder.id, dimensions=encoder.dimensions)
        )
        script = {
            "reply": lambda _: f"*nods* {sentences.next()}",
            "memory": lambda prompt: notes_for(prompt.text, next(said), feelings=False),
        }
        stage = await stack.enter_async_context(
            open_stage(folder, script, index=index, clock=RealClock())  # type: ignore[arg-type]
        )
        persona = await stage.persona(PERSONA, description=f"{PERSONA} keeps an inn. {sentences.next()}")
        await stage.scene(persona)
        talk = _Talk(stage, sentences)
        for mark in marks:
            await talk.go_on(max(0, mark - _CLOSE), _SELDOM)
            await talk.go_on(mark, _OFTEN)
        return talk.figures(marks)


class _Talk:
    """The scripted conversation: counts turns, and notes each prompt with the turn it answered at."""

    def __init__(self, stage: Stage, sentences: Sentences) -> None:
        self._stage = stage
        self._sentences = sentences
        self._turns = 0
        self._messages = 0
        self._before, self._asked_at = "", 0
        self._tokens: list[tuple[int, int]] = []
        self._shares: list[float] = []

    async def go_on(self, until: int, per_reply: int) -> None:
        """Talk until so many turns were said; every so many messages address the persona."""
        while self._turns < until:
            asked = self._messages % per_reply == per_reply - 1
            member = _MEMBERS[self._messages % len(_MEMBERS)]
            text = self._sentences.next()
            self._stage.clock.ahead += _PER_TURN
            self._stage.say(f"{PERSONA}, {text}" if asked else text, by=member)
            self._messages += 1
            self._turns += 1
            if asked:
                await self._stage.quiet(within=_WAIT_S)
                self._take(self._stage.model.of("reply")[-1])
                self._turns += 1
            if asked or self._turns % _BATCH == 0:
                await self._settled()
            if self._turns % 500 < 2:
                say(f"{self._turns} turns")

    def _take(self, prompt: Prompt) -> None:
        text = "\n".join(f"{message.role}: {message.content}" for message in prompt.messages)
        if self._before and self._turns - self._asked_at <= 2 * _OFTEN:
            self._shares.append(_common(self._before, text) / len(text))
        self._before, self._asked_at = text, self._turns
        tokens = sum(self._stage.model.count_tokens(message.content) for message in prompt.messages)
        self._tokens.append((self._turns, tokens))
        self._stage.model.prompts.clear()

    async def _settled(self) -> None:
        """What was said is stored, and the notes keep up with it, as they do at the pace of people."""
        await self._stage.troupe.journal.flushed()
        await self._stage.troupe.places.do(TAVERN, _nothing)
        async with asyncio.timeout(_WAIT_S):
            while self._stage.troupe.summariser.waiting >= 2 * _BATCH:  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    def figures(self, marks: Sequence[int]) -> dict[str, Any]:
        """Mean tokens near each mark, and the median share."""
        tokens = {
            str(mark): round(float(np.mean([n for at, n in self._tokens if mark - _AVERAGED <= at <= mark])))
            for mark in marks
        }
        return {"tokens": tokens, "common_prefix": round(float(np.median(self._shares)), 3)}


def _common(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


async def _nothing(_: PlaceState) -> None:
    """Waits for the place's turn."""
