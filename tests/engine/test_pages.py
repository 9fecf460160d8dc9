"""Who is who: pages by id and alias, claims by whoever made them, and what a story always keeps in mind."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bot.core.types import MemoryKind
from bot.errors import UserFacing
from tests.engine.stage import ALICE, BOB, CARO, TAVERN, Stage, open_stage
from tests.fakes import Prompt


def numbered(prompt: Prompt) -> dict[str, int]:
    """The turns of a background prompt: the line's text to its number."""
    lines = [line for line in prompt.messages[-1].content.split("\n") if line.startswith("[")]
    return {line.split("] ", 1)[1]: int(line[1:].split("]")[0]) for line in lines}


def known(*facts: tuple[str, str, str], wish: str = "") -> object:
    """A background answer: facts as (about, text, the beginning of the turn they come from)."""

    def answer(prompt: Prompt) -> str:
        turns = numbered(prompt)
        found = []
        for about, text, source in facts:
            from_turns = [number for line, number in turns.items() if line.startswith(source)]
            if from_turns:
                found.append({"about": about, "kind": "person", "text": text, "turns": from_turns[:1]})
        lines = [{"section": "place", "text": "The inn.", "turns": [1]}]
        lines += [{"section": "standing", "text": wish, "turns": [1]}] if wish else []
        return json.dumps({"keep": "all", "lines": lines, "facts": found})

    return answer


async def fill(stage: Stage, number: int = 10) -> None:
    """Enough chatter for the notes to be rewritten over everything said."""
    for turn in range(number):
        stage.say(f"The {turn}th cup of wine is poured.", by=BOB)
    await stage.quiet()
    async with asyncio.timeout(30):
        while stage.troupe.summariser.waiting >= 10 or stage.troupe.summariser.busy:
            await asyncio.sleep(0.01)


async def texts(stage: Stage, name: str) -> list[str]:
    page = await stage.troupe.pages.who(TAVERN, name)
    return [entry.memory.text for entry in page.entries]


async def test_two_members_of_one_name_stay_two(tmp_path: Path) -> None:
    script = known(
        ("Alice", "Alice limps.", "Alice: I limp"), ("Alice (2)", "Alice sings.", "Alice (2): I sing")
    )
    async with open_stage(tmp_path, {"memory": script}) as stage:  # type: ignore[dict-item]
        await stage.scene(await stage.persona())
        stage.say("I limp.", by=ALICE)
        stage.say("I sing.", by=CARO, author_name="Alice")
        await fill(stage)
        found = await stage.troupe.pages.names(TAVERN)
        assert [(one.name, one.owner_id) for one in found] == [("Alice", ALICE), ("Alice", CARO)]
        with pytest.raises(UserFacing, match="There are 2 called"):
            await stage.troupe.pages.who(TAVERN, "Alice")
        assert await texts(stage, str(found[0].id)) == ["Alice limps."]
        assert await texts(stage, str(found[1].id)) == ["Alice sings."]
        assert [one.owner_id for one in await stage.troupe.pages.names(TAVERN, member=CARO)] == [CARO]


async def test_a_renamed_member_keeps_what_is_known_under_the_old_name(tmp_path: Path) -> None:
    script = known(("Alice", "Alice limps.", "Alice: I limp"), ("Alicia", "Alicia sings.", "Alicia: I sing"))
    async with open_stage(tmp_path, {"memory": script}) as stage:  # type: ignore[dict-item]
        await stage.scene(await stage.persona())
        stage.say("I limp.", by=ALICE)
        stage.say("I sing.", by=ALICE, author_name="Alicia")
        await fill(stage)
        page = await stage.troupe.pages.who(TAVERN, "Alicia")
        assert [entry.memory.text for entry in page.entries] == ["Alicia sings."]
        assert [(other.entity.name, len(other.entries)) for other in page.others] == [("Alice", 1)]


async def test_a_renamed_persona_keeps_its_page(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"memory": known(("Mira", "Mira hums.", "Alice: "))}) as stage:  # type: ignore[dict-item]
        mira = await stage.persona()
        await stage.scene(mira)
        stage.say("You hum a lot.")
        await fill(stage)
        await stage.troupe.personas.edit(mira.id, name="Old Mirabel")
        assert await texts(stage, "Old Mirabel") == ["Mira hums."]


async def test_what_a_persona_said_about_a_member_is_marked_as_the_personas(tmp_path: Path) -> None:
    script = {
        "memory": known(("Alice", "Alice stole the key.", "Mira: You stole")),
        "reply": ["You stole the key, Alice!", "Hm."],
    }
    async with open_stage(tmp_path, script, context_tokens=1400) as stage:  # type: ignore[arg-type]
        await stage.scene(await stage.persona())
        stage.say("Mira, good evening.")
        await stage.quiet()
        await fill(stage, 60)
        (entry,) = (await stage.troupe.pages.who(TAVERN, "Alice")).entries
        assert (entry.memory.text, entry.memory.speaker) == ("Alice stole the key.", "Mira")
        assert set(entry.memory.owner_ids) == {ALICE}
        stage.say("Mira, who stole the key?")
        await stage.quiet()
        assert "as said by Mira: Alice stole the key." in stage.model.of("reply")[-1].messages[-1].content
        gone = await stage.troupe.memories.forget(TAVERN, entry.memory.id, by=ALICE, moderator=False)
        assert gone.kind is MemoryKind.FACT


async def test_only_the_one_it_is_about_or_a_moderator_changes_a_fact(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"memory": known(("Alice", "Alice limps.", "Bob: Alice"))}) as stage:  # type: ignore[dict-item]
        await stage.scene(await stage.persona())
        stage.say("Good evening.", by=ALICE)
        stage.say("Alice limps.", by=BOB)
        await fill(stage)
        (entry,) = (await stage.troupe.pages.who(TAVERN, "Alice")).entries
        pages = stage.troupe.pages
        with pytest.raises(UserFacing):
            await pages.edit(TAVERN, entry.memory.id, "Alice runs.", by=CARO, moderator=False)
        await pages.edit(TAVERN, entry.memory.id, "Alice runs.", by=ALICE, moderator=False)
        assert await texts(stage, "Alice") == ["Alice runs."]
        (found,) = await stage.troupe.memories.search(TAVERN, "who runs", limit=1)
        assert found.memory.text == "Alice runs."


async def test_a_wish_holds_in_the_storys_next_scene_for_those_who_heard_it(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"memory": known(wish="Call Alice Captain.")}) as stage:  # type: ignore[dict-item]
        mira, tom = await stage.persona(), await stage.persona("Tom")
        await stage.scene(mira)
        stage.say("Always call me Captain.")
        await fill(stage)
        await stage.troupe.scenes.start(
            TAVERN, name="Next day", persona_id=mira.id, after=stage.messenger.next_id()
        )
        await stage.troupe.scenes.cast_add(TAVERN, tom.id)
        stage.say("Mira, good morning.")
        await stage.quiet()
        stage.say("Tom, good morning.")
        await stage.quiet()
        heard, unheard = (prompt.messages[0].content for prompt in stage.model.of("reply"))
        assert "- Call Alice Captain." in heard
        assert "Captain" not in unheard


async def test_a_pin_goes_with_its_turn(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        message = stage.say("The bridge is sacred.")
        await stage.quiet()
        (found,) = await stage.troupe.memories.search(TAVERN, "bridge")
        await stage.troupe.keeping.pin(TAVERN, found.memory.id)
        with pytest.raises(UserFacing, match="pinned already"):
            await stage.troupe.keeping.pin(TAVERN, found.memory.id)
        (pin,) = (await stage.troupe.keeping.always(TAVERN)).pins
        assert pin.text == "Alice: The bridge is sacred."
        stage.delete(message)
        await stage.quiet()
        assert (await stage.troupe.keeping.always(TAVERN)).pins == ()
