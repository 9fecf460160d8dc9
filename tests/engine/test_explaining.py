"""What comes to mind by itself, what a reply took from what it was shown, and why it came out so."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import numpy as np
import pytest

from bot.core.spontaneous import COOLDOWN_TURNS
from bot.core.vectors import Vector
from bot.errors import UserFacing
from tests.engine.stage import BOB, TAVERN, Stage, open_stage

pytestmark = pytest.mark.usefixtures("hurried_indexer")

MAY = "may bring it up if it fits, and need not:\n"


class StrongFeelings:
    """A scorer to which every text feels strongly of something."""

    ready = True
    source = "head:strong"

    def scores(self, vectors: Vector) -> Vector:
        felt = np.clip(1 + 70 * np.maximum(vectors[:, :8], 0), 1, 10)
        return np.asarray(felt, dtype=np.float32)


async def until_indexed(stage: Stage) -> None:
    async with asyncio.timeout(20):
        while await stage.store.memories.count_to_index(stage.encoder.id):
            await asyncio.sleep(0.01)


def asides(stage: Stage) -> dict[int, str]:
    """Number of the reply to what came up by itself in its prompt."""
    found = {}
    for number, prompt in enumerate(stage.model.of("reply")):
        content = prompt.messages[-1].content
        if MAY in content:
            found[number] = content.split(MAY)[1].split("\n")[0].split(": ", 1)[1]
    return found


@pytest.mark.timeout(240)
async def test_over_two_hundred_turns_nothing_comes_up_more_often_than_its_cooldown_allows(
    tmp_path: Path,
) -> None:
    cups = itertools.count()
    script = {"reply": lambda _: f"The {next(cups)}th is yours."}
    async with open_stage(tmp_path, script, scorer=StrongFeelings(), context_tokens=1400) as stage:
        await stage.scene(await stage.persona())
        await stage.troupe.options.set(9, 0, "member_rate", "0")
        await stage.troupe.options.set(9, 0, "spontaneous_turns", "8")
        for number in range(100):
            stage.say(f"Mira, cup {number} is poured, and somebody sings of wave {number * 7}.", by=BOB)
            await stage.quiet()
            if number % 10 == 0:
                await until_indexed(stage)
        came = asides(stage)
        assert len(came) >= 5
        numbers = sorted(came)
        assert all(2 * (later - earlier) >= 8 for earlier, later in itertools.pairwise(numbers))
        for text in set(came.values()):
            times = [number for number in numbers if came[number] == text]
            assert all(
                2 * (later - earlier) >= COOLDOWN_TURNS for earlier, later in itertools.pairwise(times)
            )


@pytest.mark.parametrize(("setting", "text"), [("0", "Mira, it rains."), ("1", "Mira, does it rain?")])
async def test_nothing_comes_up_when_switched_off_or_when_a_member_asks(
    tmp_path: Path, setting: str, text: str
) -> None:
    async with open_stage(tmp_path, scorer=StrongFeelings(), context_tokens=1400) as stage:
        await stage.scene(await stage.persona())
        await stage.troupe.options.set(9, 0, "spontaneous_turns", setting)
        for number in range(90):
            stage.say(f"Cup {number} is poured, and somebody sings of wave {number * 7}.", by=BOB)
        await stage.quiet()
        await until_indexed(stage)
        stage.say(text)
        await stage.quiet()
        assert asides(stage) == {}


async def asked_of_the_parrot(stage: Stage, question: str = "Mira, what was my parrot's name?") -> int:
    """The message id of the reply to a question about long ago."""
    stage.say(question)
    await stage.quiet()
    return list(stage.messenger.arrived.values())[-1]


async def long_ago(stage: Stage) -> None:
    await stage.scene(await stage.persona())
    stage.say("My parrot's name is Bartholomew.")
    for number in range(120):
        stage.say(f"The {number}th cup of wine is poured and somebody sings about it.", by=BOB)
    await stage.quiet()
    await until_indexed(stage)


async def test_why_a_reply_came_out_so(tmp_path: Path) -> None:
    script = {"reply": ["Bartholomew, was it not?"]}
    async with open_stage(tmp_path, script, scorer=StrongFeelings(), context_tokens=2048) as stage:
        await long_ago(stage)
        message = await asked_of_the_parrot(stage)
        why = await stage.troupe.explainer.why(TAVERN, message)
        assert why.turn.text == "Bartholomew, was it not?"
        best = why.recalled[0]
        assert best.memory is not None
        assert "Bartholomew" in best.memory.text
        assert best.taken >= 1
        assert best.numbers["rank"] <= 3
        assert best.numbers["d_sem"] is not None
        assert {"recall", "prompt", "model"} <= why.body["milliseconds"].keys()
        assert why.body["parts"]["recalled"] > 0
        assert len(why.body["mood"]) == 8
        assert [turn.text for turn in why.answered] == ["Mira, what was my parrot's name?"]
        await stage.troupe.memories.forget(TAVERN, best.memory.id, by=1, moderator=True)
        await stage.quiet()
        again = await stage.troupe.explainer.why(TAVERN, message)
        assert again.recalled[0].memory is None
        assert "Bartholomew" not in repr(again.body)
        with pytest.raises(UserFacing):
            await stage.troupe.explainer.why(TAVERN, 123)


async def test_a_fact_that_was_asked_for_and_ignored_gets_a_hint_next_time(tmp_path: Path) -> None:
    replies = ["I really could not say.", "Hm, let me think about that.", "Bartholomew.", "Yes, that was it."]
    async with open_stage(tmp_path, {"reply": replies}, context_tokens=2048) as stage:
        await long_ago(stage)
        for question in ("what was", "tell me, what was", "once more, what was", "what exactly was"):
            await asked_of_the_parrot(stage, f"Mira, {question} my parrot's name?")
        hinted = [
            "stands in what Mira remembers" in prompt.messages[-1].content
            for prompt in stage.model.of("reply")
        ]
        assert hinted == [False, True, True, False]
