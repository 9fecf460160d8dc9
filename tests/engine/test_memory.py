"""The three tiers through the engine: window, notes rewritten in the background, recall of long ago."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from bot.core.types import MemoryKind
from bot.engine import indexing
from bot.errors import ModelUnavailable, SearchIndexError, UserFacing
from tests.engine.stage import ALICE, BOB, CELLAR, TAVERN, Stage, open_stage
from tests.fakes import Prompt


@pytest.fixture(autouse=True)
def hurried_indexer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.0)
    monkeypatch.setattr(indexing, "PATIENCE_SECONDS", 0.05)


def notes(**changes: object) -> str:
    answer = {
        "keep": [],
        "lines": [{"section": "events", "text": "Alice lost the silver key.", "turns": [1]}],
        "facts": [{"about": "Alice", "text": "Alice owns a silver key.", "turns": [1], "when": ""}],
        "triggers": [],
        "emotions": [{"turn": 1, "scores": [1, 2, 6, 3, 8, 1, 2, 4]}],
    }
    return json.dumps({**answer, **changes})


async def until_covered(stage: Stage, left: int = 0) -> None:
    async with asyncio.timeout(30):
        while stage.troupe.summariser.waiting > left or stage.troupe.summariser.busy:
            await asyncio.sleep(0.01)


async def until_asked(stage: Stage, times: int) -> None:
    async with asyncio.timeout(30):
        while len(stage.model.of("memory")) < times or stage.troupe.summariser.busy:
            await asyncio.sleep(0.01)


async def until_indexed(stage: Stage) -> None:
    async with asyncio.timeout(30):
        while await stage.store.memories.count_to_index(stage.encoder.id):
            await asyncio.sleep(0.01)


async def talk(stage: Stage, number: int) -> None:
    for turn in range(number):
        stage.say(f"The {turn}th cup of wine is poured and somebody sings about it.", by=BOB)
    await stage.quiet()


async def test_ten_turns_are_summarised_and_the_notes_stand_in_the_next_prompt(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"memory": [notes()]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("I lost the silver key.")
        await talk(stage, 9)
        await until_covered(stage)
        pad = await stage.troupe.memories.scratchpad(TAVERN.id)
        assert [line.text for line in pad.lines] == ["Alice lost the silver key."]
        stage.say("Mira, help!")
        await stage.quiet()
        assert "Alice lost the silver key." in stage.model.of("reply")[0].messages[0].content


async def test_replaced_lines_and_facts_become_memories_with_their_sources(tmp_path: Path) -> None:
    second = notes(lines=[{"section": "events", "text": "The key is found.", "turns": [2], "from": [1]}])
    async with open_stage(tmp_path, {"memory": [notes(), second]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("I lost the silver key.")
        await talk(stage, 9)
        await until_covered(stage)
        await talk(stage, 10)
        await until_covered(stage)
        await until_indexed(stage)
        stored = await stage.store.memories.of_story(1)
        snapshots = [memory for memory in stored if memory.kind is MemoryKind.SNAPSHOT]
        assert [memory.text for memory in snapshots] == ["Alice lost the silver key."]
        assert snapshots[0].sources == (1,)
        assert {memory.text for memory in stored if memory.kind is MemoryKind.FACT} == {
            "Alice owns a silver key."
        }


@pytest.mark.parametrize(
    "junk",
    ["Certainly!", "", "I can't assist with that.", "*Mira smiles.* Good evening, dear.", "x" * 40_000],
)
async def test_junk_never_replaces_the_notes_and_the_turns_wait(tmp_path: Path, junk: str) -> None:
    async with open_stage(tmp_path, {"memory": [notes(), junk]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("I lost the silver key.")
        await talk(stage, 9)
        await until_covered(stage)
        await talk(stage, 10)
        await until_covered(stage, left=10)
        pad = await stage.troupe.memories.scratchpad(TAVERN.id)
        assert [line.text for line in pad.lines] == ["Alice lost the silver key."]
        assert await stage.store.turns.count_uncovered(1) == 10
        assert stage.troupe.summariser.failure


async def test_turns_that_no_answer_covers_stop_waiting_and_keep_the_notes(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"memory": [notes(), *["Certainly!"] * 6, notes()]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("I lost the silver key.")
        await talk(stage, 9)
        await until_covered(stage)
        await talk(stage, 10)
        for attempt in range(6):
            await until_asked(stage, attempt + 2)
            stage.clock.ahead += timedelta(hours=3)
            stage.troupe.summariser.note(TAVERN, 1, 10)
        await until_covered(stage, left=6)
        pad = await stage.troupe.memories.scratchpad(TAVERN.id)
        assert "Alice lost the silver key." in [line.text for line in pad.lines]
        prompts = stage.model.of("memory")
        assert len(prompts[6].text) < len(prompts[1].text)


async def test_a_few_turns_are_summarised_after_five_minutes(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"memory": [notes()]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("I lost the silver key.")
        await stage.quiet()
        assert stage.model.of("memory") == []
        stage.clock.ahead += timedelta(minutes=6)
        stage.troupe.summariser.note(TAVERN, 1, 1)
        await until_covered(stage)
        assert len(stage.model.of("memory")) == 1


async def test_the_summary_waits_while_the_model_is_down_and_comes_later(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"memory": [ModelUnavailable("down"), notes()]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("I lost the silver key.")
        await talk(stage, 9)
        await until_covered(stage, left=10)
        stage.clock.ahead += timedelta(minutes=2)
        stage.troupe.summariser.note(TAVERN, 1, 10)
        await until_covered(stage)
        assert (await stage.troupe.memories.scratchpad(TAVERN.id)).lines


async def test_a_reply_interrupts_a_background_call_which_is_made_again(tmp_path: Path) -> None:
    gate = asyncio.Event()

    def reply(_: Prompt) -> str:
        return "At once."

    async with open_stage(tmp_path, {"memory": [notes(), notes()], "reply": reply}, concurrency=1) as stage:
        await stage.scene(await stage.persona())
        stage.model.gate = gate
        stage.say("I lost the silver key.")
        await talk(stage, 9)
        await stage.model.asked.wait()
        stage.say("Mira, quick!")
        await stage.troupe.journal.flushed()
        async with asyncio.timeout(30):
            while not stage.model.of("reply"):
                await asyncio.sleep(0.005)
        gate.set()
        await stage.quiet()
        assert stage.messenger.texts() == ["At once."]
        assert stage.model.cancelled == 1
        await until_covered(stage, left=2)


async def test_deleting_a_turn_removes_its_note_at_once_and_uncovers_the_others(tmp_path: Path) -> None:
    both = notes(
        lines=[{"section": "events", "text": "The key fell into the well.", "turns": [1, 2]}], facts=[]
    )
    async with open_stage(tmp_path, {"memory": [both]}) as stage:
        await stage.scene(await stage.persona())
        first = stage.say("I drop the silver key into the well.")
        await talk(stage, 9)
        await until_covered(stage)
        stage.delete(first)
        await stage.quiet()
        assert (await stage.troupe.memories.scratchpad(TAVERN.id)).lines == ()
        assert await stage.store.turns.count_uncovered(1) == 1
        assert "silver key" not in (tmp_path / "test.sqlite3").read_bytes().decode("latin-1")


async def test_what_was_said_two_hundred_turns_ago_is_recalled(tmp_path: Path) -> None:
    async with open_stage(tmp_path, context_tokens=2048) as stage:
        await stage.scene(await stage.persona())
        stage.say("My grandmother's parrot is called Bartholomew.")
        await talk(stage, 200)
        await until_indexed(stage)
        stage.say("Mira, what was the name of my grandmother's parrot?")
        await stage.quiet()
        prompt = stage.model.of("reply")[-1]
        assert "Bartholomew" in prompt.messages[-1].content
        assert all("Bartholomew" not in message.content for message in prompt.messages[:-1])


@pytest.mark.parametrize("change", ["deleted", "edited"])
async def test_a_change_of_what_was_recalled_reaches_the_prompt_in_flight(
    tmp_path: Path, change: str
) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, {"reply": ["It is late."]}, context_tokens=2048) as stage:
        await stage.scene(await stage.persona())
        told = stage.say("My grandmother's parrot is called Bartholomew.")
        await talk(stage, 150)
        await until_indexed(stage)
        stage.model.gate = gate
        stage.say("Mira, what was the name of my grandmother's parrot?")
        async with asyncio.timeout(30):
            while not stage.model.of("reply"):
                await asyncio.sleep(0.01)
        assert "Bartholomew" in stage.model.of("reply")[0].text
        if change == "deleted":
            stage.delete(told)
        else:
            stage.edit(told, "My grandmother's parrot has a name.")
        async with asyncio.timeout(30):
            while len(stage.model.of("reply")) < 2:
                await asyncio.sleep(0.01)
        gate.set()
        await stage.quiet()
        assert "Bartholomew" not in stage.model.of("reply")[1].text
        assert stage.messenger.texts() == ["It is late."]


async def test_words_serve_while_the_encoder_loads(tmp_path: Path) -> None:
    async with open_stage(tmp_path, context_tokens=2048) as stage:
        await stage.scene(await stage.persona())
        stage.encoder.ready = False
        stage.say("My grandmother's parrot is called Bartholomew.")
        await talk(stage, 150)
        stage.say("Mira, what was the name of my grandmother's parrot?")
        await stage.quiet()
        assert "Bartholomew" in stage.model.of("reply")[-1].messages[-1].content


async def test_a_failing_encoder_leaves_the_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_stage(tmp_path, context_tokens=2048) as stage:
        await stage.scene(await stage.persona())
        stage.say("My grandmother's parrot is called Bartholomew.")
        await talk(stage, 150)
        await until_indexed(stage)

        async def broken(texts: object) -> object:
            raise SearchIndexError("The embedding model failed (RuntimeError).")

        monkeypatch.setattr(stage.encoder, "embed_query", broken)
        stage.say("Mira, what was the name of my grandmother's parrot?")
        await stage.quiet()
        assert "Bartholomew" in stage.model.of("reply")[-1].messages[-1].content


async def test_a_failing_index_leaves_the_words(tmp_path: Path) -> None:
    async with open_stage(tmp_path, context_tokens=2048) as stage:
        await stage.scene(await stage.persona())
        stage.say("My grandmother's parrot is called Bartholomew.")
        await talk(stage, 150)
        await until_indexed(stage)
        stage.index.fails = True
        stage.say("Mira, what was the name of my grandmother's parrot?")
        await stage.quiet()
        assert "Bartholomew" in stage.model.of("reply")[-1].messages[-1].content
        stage.index.fails = False
        await until_indexed(stage)


async def test_another_story_is_not_recalled(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona()
        await stage.scene(mira)
        stage.say("The parrot Bartholomew knows the password.")
        await stage.quiet()
        await until_indexed(stage)
        await stage.troupe.scenes.start(
            TAVERN, name="Elsewhere", persona_id=mira.id, story="another", after=stage.messenger.next_id()
        )
        stage.say("Mira, what does the parrot Bartholomew know?")
        await stage.quiet()
        assert "password" not in stage.model.of("reply")[-1].text


async def test_an_edit_reaches_words_and_vectors(tmp_path: Path) -> None:
    async with open_stage(tmp_path, context_tokens=2048) as stage:
        await stage.scene(await stage.persona())
        message = stage.say("I was born in Oslo, where the parrot lives.")
        await talk(stage, 150)
        await until_indexed(stage)
        stage.edit(message, "I was born in Bergen, where the parrot lives.")
        await stage.quiet()
        stage.say("Mira, where was I born, where does the parrot live?")
        await stage.quiet()
        assert "Bergen" in stage.model.of("reply")[-1].text
        assert "Oslo" not in stage.model.of("reply")[-1].text
        found = await stage.troupe.memories.search(TAVERN, "born Oslo parrot")
        assert all("Oslo" not in hit.memory.text for hit in found)


async def test_a_deleted_turn_is_found_no_more_and_its_key_leaves_the_index(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        message = stage.say("The password is swordfish.")
        await stage.quiet()
        await until_indexed(stage)
        stage.delete(message)
        await stage.quiet()
        assert await stage.troupe.memories.search(TAVERN, "password swordfish") == []
        async with asyncio.timeout(30):
            while await stage.store.memories.to_erase(1):
                await asyncio.sleep(0.01)
        assert await stage.index.count(TAVERN.space_id) == 0
        await stage.troupe.indexer.rewrite_due(at_once=True)
        assert stage.index.rewritten == [TAVERN.space_id]


async def test_members_forget_what_is_their_own_only(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("The password is swordfish.", by=ALICE)
        await stage.quiet()
        (found,) = await stage.troupe.memories.search(TAVERN, "password")
        with pytest.raises(UserFacing):
            await stage.troupe.memories.forget(TAVERN, found.memory.id, by=BOB, moderator=False)
        await stage.troupe.memories.forget(TAVERN, found.memory.id, by=ALICE, moderator=False)
        await stage.quiet()
        assert await stage.window() == []


async def test_the_models_feelings_replace_the_heads_for_the_turns_it_names(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"memory": [notes()]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("I lost the silver key.")
        await talk(stage, 9)
        await until_covered(stage)
        memories = {memory.turn_id: memory for memory in await stage.store.memories.of_story(1)}
        emotion = memories[1].emotion
        assert emotion is not None
        assert np.allclose(emotion, [1, 2, 6, 3, 8, 1, 2, 4])
        assert str(memories[1].emotion_source).startswith("model:")
        assert memories[2].emotion is None


async def test_the_papers_way_scores_every_text_in_a_call_of_its_own(tmp_path: Path) -> None:
    def scored(prompt: Prompt) -> str:
        numbers = re.findall(r"^\[(\d+)\]", prompt.messages[-1].content, re.MULTILINE)
        texts = [
            {"turn": int(number), "reason": "grieves", "scores": [1, 2, 6, 3, 9, 1, 2, int(number) % 10 + 1]}
            for number in numbers
        ]
        return json.dumps({"texts": texts})

    script = {"memory": [notes(emotions=[])], "emotion": scored}
    async with open_stage(tmp_path, script, score_emotions=True) as stage:
        await stage.scene(await stage.persona())
        stage.say("I lost the silver key.")
        await talk(stage, 9)
        await until_covered(stage)
        (prompt,) = stage.model.of("emotion")
        assert "in a few words why" in prompt.text
        turns = [memory for memory in await stage.store.memories.of_story(1) if memory.turn_id]
        assert len(turns) == 10
        for memory in turns:
            assert memory.emotion is not None
            assert list(memory.emotion)[:5] == [1, 2, 6, 3, 9]
            assert memory.emotion_source == "model:scripted"


async def test_a_sample_is_not_replayed_in_another_channel(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": ["The code to the vault is nine, my dear."] * 2}) as stage:
        mira = await stage.persona()
        await stage.scene(mira, place=CELLAR)
        stage.say("Mira, what is the code?", place=CELLAR)
        await stage.quiet(CELLAR)
        await stage.scene(mira)
        stage.say("Mira, hello!")
        await stage.quiet()
        assert "vault" not in stage.model.of("reply")[-1].text


async def test_three_good_replies_become_style_samples_and_are_replayed(tmp_path: Path) -> None:
    lines = [f"Aye, that be tale number {number}, my dear." for number in range(4)]
    async with open_stage(tmp_path, {"reply": lines}) as stage:
        mira = await stage.persona()
        await stage.scene(mira)
        for _ in range(4):
            stage.say("Mira, another tale!")
            await stage.quiet()
        samples = [sample.text for sample in await stage.troupe.personas.samples(mira.id)]
        assert samples == lines[:3]
        assert lines[0] in stage.model.of("reply")[-1].messages[0].content
