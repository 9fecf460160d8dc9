"""Two who ask for the same in the same moment: it is done once, and the other is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest

from bot.core.types import Persona
from bot.errors import UserFacing
from tests.engine.gates import Held
from tests.engine.stage import ALICE, BOB, TAVERN, Stage, open_stage

HELLO, EVENING = "Hello there.", "Good evening."


async def both(*work: Awaitable[object]) -> list[type]:
    """How each of them ended."""
    done = await asyncio.gather(*work, return_exceptions=True)
    return sorted((type(one) for one in done), key=lambda kind: kind.__name__)


async def greeter(stage: Stage) -> Persona:
    """A persona with two greetings."""
    mira = await stage.persona(greeting=HELLO)
    return await stage.troupe.personas.edit(mira.id, alternate_greetings=[EVENING])


async def test_a_persona_that_two_bring_in_greets_once(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await greeter(stage)
        await stage.scene(await stage.persona("Odo"))
        adding = [stage.troupe.scenes.cast_add(TAVERN, mira.id) for _ in range(2)]
        assert UserFacing in await both(*adding)
        await stage.quiet()
        assert stage.messenger.texts() == [HELLO]


async def test_two_members_never_get_one_alias(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        using = [stage.troupe.aliases.use(TAVERN, member, "Captain Red") for member in (ALICE, BOB)]
        assert UserFacing in await both(*using)
        assert len(await stage.troupe.aliases.list(TAVERN.id)) == 1


async def test_what_is_paused_is_the_scene_that_is_played_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona()
        await stage.scene(mira)
        looking = Held(monkeypatch, stage.store.scenes, "active")
        pausing = asyncio.create_task(stage.troupe.scenes.pause(TAVERN))
        await looking.reached()
        starting = asyncio.create_task(stage.scene(mira, name="The voyage"))
        await asyncio.wait([starting], timeout=0.2)
        looking.go.set()
        assert (await pausing).paused
        await starting


async def test_a_reply_that_two_want_anew_is_made_anew_once(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira, are you there?")
        await stage.quiet()
        (reply,) = [turn for turn in await stage.store.turns.by_ids([1, 2]) if turn.persona_id]
        stage.model.gate = asyncio.Event()
        again = [stage.troupe.replies.regenerate(TAVERN, reply.message_ids[0]) for _ in range(2)]
        await both(*again)
        stage.model.gate.set()
        await stage.quiet()
        first, second = stage.model.of("reply")
        assert second.text.count("are you there?") == first.text.count("are you there?") == 1
        assert len([turn for turn in await stage.window() if turn.persona_id]) == 1


async def test_a_greeting_that_two_swipe_is_replaced_once(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await greeter(stage)
        await stage.scene(mira)
        await stage.quiet()
        swiping = [stage.troupe.greetings.swipe(TAVERN, mira.id, 1) for _ in range(2)]
        assert UserFacing in await both(*swiping)
        await stage.quiet()
        assert [turn.text for turn in await stage.window()] == [EVENING]


async def test_two_changes_of_one_persona_are_both_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona()
        personas = stage.troupe.personas
        reading = Held(monkeypatch, stage.store.personas, "get")
        first = asyncio.create_task(personas.edit(mira.id, description="An old sailor."))
        await reading.reached()
        others = [
            asyncio.create_task(work)
            for work in (
                personas.edit(mira.id, name="Miranda", temperament=[9, 1, 1, 1, 1, 1, 1, 1]),
                personas.restrict(mira.id, age_restricted=True),
            )
        ]
        await asyncio.wait(others, timeout=0.2)
        reading.go.set()
        await asyncio.gather(first, *others)
        changed = await personas.by_id(mira.id)
        assert (changed.name, changed.text("description")) == ("Miranda", "An old sailor.")
        assert changed.age_restricted
        assert changed.temperament[0] == 9


async def test_a_persona_that_is_approved_while_it_is_edited_stays_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.troupe.personas.create(TAVERN.space_id, name="Mira", approved=False)
        reading = Held(monkeypatch, stage.store.personas, "get")
        editing = asyncio.create_task(stage.troupe.personas.edit(mira.id, description="An old sailor."))
        await reading.reached()
        await stage.troupe.trust.approval.approve(TAVERN.space_id, mira.id)
        reading.go.set()
        await editing
        assert (await stage.troupe.personas.by_id(mira.id)).approved


@pytest.fixture
def book() -> dict[str, object]:
    """A lorebook of three entries."""
    entries = [{"keys": [word], "content": f"About the {word}."} for word in ("mill", "well", "inn")]
    return {"entries": entries}


async def test_two_changes_of_the_lore_in_one_card_are_both_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, book: dict[str, object]
) -> None:
    async with open_stage(tmp_path) as stage:
        mira, lore = await stage.persona(), stage.troupe.lore
        await stage.troupe.personas.edit(mira.id, character_book=book)
        looking = Held(monkeypatch, lore, "all")
        first = asyncio.create_task(lore.edit(TAVERN.space_id, "Mira:1", {"content": "It burned."}))
        await looking.reached()
        await lore.edit(TAVERN.space_id, "Mira:2", {"content": "It is dry."})
        looking.go.set()
        await first
        told = [one.entry.content for one in await lore.all(TAVERN.space_id)]
        assert told == ["It burned.", "It is dry.", "About the inn."]


async def test_an_entry_of_a_card_is_not_taken_for_one_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, book: dict[str, object]
) -> None:
    async with open_stage(tmp_path) as stage:
        mira, lore = await stage.persona(), stage.troupe.lore
        await stage.troupe.personas.edit(mira.id, character_book=book)
        looking = Held(monkeypatch, lore, "all")
        first = asyncio.create_task(lore.remove(TAVERN.space_id, "Mira:1"))
        await looking.reached()
        await lore.remove(TAVERN.space_id, "Mira:1")
        looking.go.set()
        with pytest.raises(UserFacing, match="meanwhile"):
            await first
        told = [one.entry.content for one in await lore.all(TAVERN.space_id)]
        assert told == ["About the well.", "About the inn."]


async def test_a_persona_that_one_approves_and_another_rejects_is_decided_on_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.troupe.personas.create(TAVERN.space_id, name="Mira", approved=False)
        approval = stage.troupe.trust.approval
        looking = Held(monkeypatch, stage.store.personas, "get")
        rejecting = asyncio.create_task(approval.reject(TAVERN.space_id, mira.id))
        await looking.reached()
        approving = asyncio.create_task(approval.approve(TAVERN.space_id, mira.id))
        await asyncio.wait([approving], timeout=0.2)
        looking.go.set()
        assert UserFacing in await both(rejecting, approving)
