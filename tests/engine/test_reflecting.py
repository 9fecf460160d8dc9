"""Personas reflect in the background when enough has moved them; thoughts go with what they rest on."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from bot.core.types import Memory, MemoryKind
from tests.engine.gates import Held
from tests.engine.stage import BOB, TAVERN, Stage, open_stage
from tests.engine.test_explaining import StrongFeelings
from tests.fakes import Prompt

pytestmark = pytest.mark.usefixtures("hurried_indexer")

NOTES = json.dumps({"keep": "all", "lines": [{"section": "place", "text": "The inn.", "turns": [1]}]})
THOUGHT = "Bob drowns what he will not say."


def think(_: Prompt) -> str:
    return json.dumps({"insights": [{"text": THOUGHT, "memories": [1, 2]}]})


async def thoughts(stage: Stage) -> list[Memory]:
    return [one for one in await stage.store.memories.of_story(1) if one.kind is MemoryKind.REFLECTION]


async def lived(stage: Stage, turns: int) -> list[int]:
    """So many turns, each felt before the next ten come; their message ids."""
    messages = []
    for number in range(turns):
        messages.append(stage.say(f"Cup {number} is emptied, and wave {number * 7} is sung of.", by=BOB))
        if number % 10 == 9:
            await stage.quiet()
            async with asyncio.timeout(20):
                while (
                    await stage.store.memories.count_to_index(stage.encoder.id)
                    or stage.troupe.summariser.waiting >= 10
                    or stage.troupe.summariser.busy
                ):
                    await asyncio.sleep(0.01)
    return messages


async def test_enough_feeling_makes_a_thought_that_only_the_persona_knows(tmp_path: Path) -> None:
    script = {"memory": lambda _: NOTES, "reflection": think}
    async with open_stage(tmp_path, script, scorer=StrongFeelings(), context_tokens=1400) as stage:
        mira = await stage.persona()
        await stage.scene(mira)
        messages = await lived(stage, 60)
        first = (await thoughts(stage))[0]
        assert (first.text, first.speaker, first.witnesses) == (THOUGHT, "Mira", (mira.id,))
        assert first.owner_ids == (BOB,)
        assert len(first.sources) == 2
        assert 1 <= len(stage.model.of("reflection")) <= 4
        stage.say("Mira, does Bob drown what he will not say?")
        await stage.quiet()
        assert f"a thought of Mira: {THOUGHT}" in stage.model.of("reply")[-1].messages[-1].content
        evidence = {turn.id: turn for turn in await stage.store.turns.by_ids(first.sources)}
        stage.delete(*[turn.message_ids[0] for turn in evidence.values()], place=TAVERN)
        await stage.quiet()
        assert first.id not in [one.id for one in await thoughts(stage)]
        assert len(messages) == 60


async def test_junk_is_not_asked_for_again_over_the_same_turns(tmp_path: Path) -> None:
    script = {"memory": lambda _: NOTES, "reflection": lambda _: "I cannot think of anything."}
    async with open_stage(tmp_path, script, scorer=StrongFeelings()) as stage:
        await stage.scene(await stage.persona())
        await lived(stage, 60)
        asked = [prompt.messages[1].content for prompt in stage.model.of("reflection")]
        assert asked
        assert len(set(asked)) == len(asked)
        firsts = [text.split("\n[1] ")[1].split("\n")[0] for text in asked]
        assert len(set(firsts)) == len(firsts)
        assert await thoughts(stage) == []


async def test_little_feeling_makes_no_call(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"memory": lambda _: NOTES}) as stage:
        await stage.scene(await stage.persona())
        await lived(stage, 30)
        assert stage.model.of("reflection") == []


def first_of(prompt: Prompt) -> str:
    """The first memory that a reflection is asked about."""
    return prompt.messages[1].content.split("\n[1] ")[1].split("\n")[0]


def think_of_words(prompt: Prompt) -> str:
    return json.dumps({"insights": [{"text": f"I keep this: {first_of(prompt)}", "memories": [1]}]})


async def test_a_thought_of_words_that_were_edited_meanwhile_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = {"memory": lambda _: NOTES, "reflection": think_of_words}
    async with open_stage(tmp_path, script, scorer=StrongFeelings()) as stage:
        await stage.scene(await stage.persona())
        storing = Held(monkeypatch, stage.store.memories, "add", before=True)
        living = asyncio.create_task(lived(stage, 60))
        async with asyncio.timeout(40):
            while not stage.model.of("reflection"):
                await asyncio.sleep(0.01)
        await storing.reached()
        words = re.search(r"Cup \d+ is emptied", first_of(stage.model.of("reflection")[0]))
        assert words is not None
        turn = next(one for one in await stage.window() if words[0] in one.text)
        stage.edit(turn.message_ids[0], "I said nothing.")
        await stage.troupe.journal.flushed()
        storing.go.set()
        await living
        assert [one.text for one in await thoughts(stage) if words[0] in one.text] == []
