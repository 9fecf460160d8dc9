"""A persona's own past, recalled wherever it plays and nowhere else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.core.types import MemoryKind
from bot.engine.pasts import carried
from bot.errors import UserFacing
from tests.engine.gates import Held
from tests.engine.stage import CELLAR, TAVERN, Stage, open_stage

PAST = "# Childhood\n- The silver ferry burned at night.\n- Bob rebuilt the mill.\n- bob rebuilt the MILL.\n"


async def told(stage: Stage, text: str) -> str:
    """The last message of the prompt that answers this in the cellar or tavern."""
    place = CELLAR if text.startswith("cellar ") else TAVERN
    stage.say(text.removeprefix("cellar "), place=place)
    await stage.quiet(place)
    return [one for one in stage.model.prompts if one.purpose == "reply"][-1].messages[-1].content


async def test_a_past_is_recalled_in_every_scene_of_its_persona_and_of_no_other(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira, bea = await stage.persona("Mira"), await stage.persona("Bea")
        done = await stage.troupe.pasts.remember(mira, PAST)
        assert (done.added, done.merged, done.total) == (2, 1, 2)
        await stage.troupe.indexer.catch_up()
        await stage.scene(mira)
        await stage.scene(mira, bea, place=CELLAR)
        for where in ("", "cellar "):
            last = await told(stage, f"{where}Mira, what happened to the silver ferry?")
            assert "- Childhood: The silver ferry burned at night." in last
        assert "burned" not in await told(stage, "cellar Bea, what happened to the silver ferry?")
        again = await stage.troupe.pasts.remember(mira, PAST)
        assert (again.added, again.merged, again.total) == (0, 3, 2)
    async with open_stage(tmp_path, messenger=stage.messenger, index=stage.index) as stage:
        assert "burned at night" in await told(stage, "Mira, tell me of the silver ferry again?")
        memories = await stage.troupe.pasts.all(mira)
        assert {one.kind for one in memories} == {MemoryKind.CANON}
        assert [one.text for one in memories] == [
            "The silver ferry burned at night.",
            "Bob rebuilt the mill.",
        ]


async def test_both_vectors_are_made_and_go_with_the_memory(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona("Mira")
        await stage.troupe.pasts.remember(mira, PAST)
        await stage.troupe.indexer.catch_up()
        assert await stage.index.count(9) == 2
        first, second = await stage.troupe.pasts.all(mira)
        assert await stage.troupe.pasts.search(mira, "FERRY silver") == [first]
        assert [one.id for one in await stage.troupe.pasts.forget(mira, [second.id, 999])] == [second.id]
        await stage.troupe.indexer.catch_up()
        assert await stage.index.count(9) == 1
        with pytest.raises(UserFacing, match="no such memory"):
            await stage.troupe.pasts.forget(mira, [second.id])
        await stage.troupe.personas.delete(mira.id)
        await stage.troupe.indexer.catch_up()
        assert await stage.index.count(9) == 0
        assert await stage.store.memories.by_ids([first.id]) == []


async def test_its_place_is_no_place_of_the_guild(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona("Mira")
        await stage.troupe.pasts.remember(mira, PAST)
    async with open_stage(tmp_path, messenger=stage.messenger) as stage:
        assert stage.troupe.live.places() == []
        assert stage.troupe.conduct is not None
        with pytest.raises(UserFacing, match="no memories"):
            await stage.troupe.pasts.remember(mira, "")


async def test_a_card_carries_its_past_along(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona("Mira")
        card = await stage.troupe.personas.exported(mira)
        assert await stage.troupe.pasts.exported(mira, card) == card
        await stage.troupe.pasts.remember(mira, PAST)
        carrying = await stage.troupe.pasts.exported(mira, card)
        assert carrying["extensions"]["troupe"]["memories"][0] == {
            "text": "The silver ferry burned at night.",
            "when": "Childhood",
        }
        without, entries = carried(carrying)
        assert without == card
        bea = await stage.persona("Bea")
        assert await stage.troupe.pasts.taken_over(bea, entries) == 2
        assert [one.text for one in await stage.troupe.pasts.all(bea)] == [one.text for one in entries]


async def test_a_past_that_is_given_while_a_reply_looks_for_one_is_recalled_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona("Mira")
        await stage.scene(mira)
        looking = Held(monkeypatch, stage.store.pasts, "find")
        first = asyncio.create_task(stage.troupe.pasts.scope(mira.id, [1]))
        await looking.reached()
        await stage.troupe.pasts.remember(mira, PAST)
        looking.go.set()
        await first
        last = await told(stage, "Mira, what happened to the silver ferry?")
        assert "- Childhood: The silver ferry burned at night." in last


async def test_a_file_that_is_given_twice_at_once_is_remembered_once(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona("Mira")
        given = [stage.troupe.pasts.remember(mira, PAST) for _ in range(2)]
        done = await asyncio.gather(*given)
        assert sorted(one.added for one in done) == [0, 2]
        assert len(await stage.troupe.pasts.all(mira)) == 2
