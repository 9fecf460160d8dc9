"""A change of anything that a running reply's prompt tells reaches that prompt, wherever it stands in it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.core.types import Memory, Place
from bot.core.vectors import Vector
from tests.engine.stage import BOB, CELLAR, TAVERN, SomeChannels, Stage, open_stage
from tests.records import newest_turns

ASKED = "Mira, what was the name of my grandmother's parrot?"
TOLD = "My grandmother's parrot is called Bartholomew."
GREETED = "Bartholomew is a fine name for a parrot, my dear."


async def talk(stage: Stage, number: int = 150) -> None:
    """So much that what was said before is in the window no more."""
    for turn in range(number):
        stage.say(f"The {turn}th cup of wine is poured and somebody sings about it.", by=BOB)
    await stage.quiet()


async def until_asked(stage: Stage, times: int) -> None:
    async with asyncio.timeout(30):
        while len(stage.model.of("reply")) < times:
            await asyncio.sleep(0.005)


async def change(stage: Stage, how: str, message_id: int) -> None:
    if how == "deleted":
        stage.delete(message_id)
    else:
        stage.edit(message_id, "Some words, but others.")
    await stage.troupe.journal.flushed()


async def words_found() -> None:
    """What words find has been read from the store."""
    async with asyncio.timeout(30):
        while any(task.get_name() == "search by words" for task in asyncio.all_tasks()):
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("how", ["deleted", "edited"])
async def test_a_pinned_turn(tmp_path: Path, how: str) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, {"reply": ["It is late."]}, context_tokens=2048) as stage:
        await stage.scene(await stage.persona())
        told = stage.say(TOLD)
        await stage.quiet()
        turn = (await stage.window())[0]
        await stage.troupe.keeping.pin(TAVERN, (await stage.store.memories.of_turns([turn.id]))[turn.id])
        await talk(stage)
        stage.model.gate = gate
        stage.say("Mira, is there more wine?")
        await until_asked(stage, 1)
        assert "Bartholomew" in stage.model.of("reply")[0].messages[0].content
        await change(stage, how, told)
        await until_asked(stage, 2)
        gate.set()
        await stage.quiet()
        assert "Bartholomew" not in stage.model.of("reply")[1].text
        assert stage.messenger.texts() == ["It is late."]


async def test_a_style_sample(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, {"reply": [GREETED, "It is late."]}, context_tokens=2048) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira, good evening.")
        await stage.quiet()
        await talk(stage)
        said = next(turn for turn in await newest_turns(stage.store, 1, 1000) if turn.text == GREETED)
        stage.model.gate = gate
        stage.say("Mira, is there more wine?")
        await until_asked(stage, 2)
        assert GREETED in stage.model.of("reply")[1].messages[0].content
        stage.delete(*said.message_ids)
        await until_asked(stage, 3)
        gate.set()
        await stage.quiet()
        assert "Bartholomew" not in stage.model.of("reply")[2].text
        assert stage.messenger.texts() == [GREETED, "It is late."]


@pytest.mark.parametrize("how", ["deleted", "edited"])
async def test_what_changes_while_the_prompt_is_gathered_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    encoding, gate = asyncio.Event(), asyncio.Event()
    async with open_stage(tmp_path, {"reply": ["It is late."]}, context_tokens=2048) as stage:
        await stage.scene(await stage.persona())
        told = stage.say(TOLD)
        await talk(stage)
        encode = stage.encoder.embed_query

        async def slowly(texts: Sequence[str]) -> Vector:
            encoding.set()
            await gate.wait()
            return await encode(texts)

        monkeypatch.setattr(stage.encoder, "embed_query", slowly)
        stage.say(ASKED)
        await encoding.wait()
        await words_found()
        await change(stage, how, told)
        await stage.window()
        gate.set()
        await stage.quiet()
        (prompt,) = stage.model.of("reply")
        assert "Bartholomew" not in prompt.text
        assert stage.messenger.texts() == ["It is late."]


async def ask_until(stage: Stage, text: str, place: Place = TAVERN) -> asyncio.Event:
    """Ask, and wait until the model is asked; it answers when the event is set."""
    stage.model.gate = asyncio.Event()
    times = len(stage.model.of("reply")) + 1
    stage.say(text, by=BOB, place=place)
    await until_asked(stage, times)
    return stage.model.gate


@pytest.mark.parametrize("how", ["forgotten", "reworded"])
async def test_a_memory_that_is_no_turn(tmp_path: Path, how: str) -> None:
    async with open_stage(tmp_path, {"reply": ["It is late."]}) as stage:
        await stage.scene(await stage.persona())
        pages, memories = stage.troupe.pages, stage.troupe.memories
        noted = await pages.add(TAVERN, "Mira has a parrot called Bartholomew.", by=BOB)
        memory_id = noted.id if isinstance(noted, Memory) else noted.memory.id
        gate = await ask_until(stage, "Mira, how do you call your parrot?")
        assert "Bartholomew" in stage.model.of("reply")[0].text
        if how == "forgotten":
            await memories.forget(TAVERN, memory_id, by=BOB, moderator=True)
        else:
            await pages.edit(TAVERN, memory_id, "Mira has a parrot called Ferdinand.", by=BOB, moderator=True)
        await until_asked(stage, 2)
        gate.set()
        await stage.quiet()
        assert "Bartholomew" not in stage.model.of("reply")[1].text
        assert stage.messenger.texts() == ["It is late."]


async def test_a_memory_of_the_personas_own_past(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": ["It is late."]}) as stage:
        mira = await stage.persona()
        await stage.scene(mira, place=CELLAR)
        await stage.troupe.pasts.remember(mira, TOLD)
        gate = await ask_until(stage, ASKED, CELLAR)
        assert "Bartholomew" in stage.model.of("reply")[0].text
        (known,) = await stage.troupe.pasts.all(mira)
        await stage.troupe.pasts.forget(mira, [known.id])
        await until_asked(stage, 2)
        gate.set()
        await stage.quiet(CELLAR)
        assert "Bartholomew" not in stage.model.of("reply")[1].text


@pytest.mark.parametrize("how", ["deleted", "edited"])
async def test_a_turn_of_a_linked_channel(tmp_path: Path, how: str) -> None:
    async with open_stage(tmp_path, {"reply": ["It is late."]}, channels=SomeChannels()) as stage:
        mira = await stage.persona()
        await stage.scene(mira, place=TAVERN)
        await stage.scene(mira, place=CELLAR)
        told = stage.say(TOLD, place=TAVERN)
        await stage.quiet(TAVERN)
        await stage.troupe.trust.sharing.share(CELLAR, TAVERN.id, by=BOB)
        gate = await ask_until(stage, ASKED, CELLAR)
        assert "Bartholomew" in stage.model.of("reply")[0].text
        await change(stage, how, told)
        await until_asked(stage, 2)
        gate.set()
        await stage.quiet(CELLAR)
        assert "Bartholomew" not in stage.model.of("reply")[1].text
        assert stage.messenger.texts(CELLAR) == ["It is late."]
