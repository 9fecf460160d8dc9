"""What its time is up for is deleted, and nothing else."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.types import Place
from bot.engine import indexing
from tests.engine.gates import Held, steps
from tests.engine.stage import BOB, CELLAR, TAVERN, Stage, open_stage

GUILD = TAVERN.space_id
THREAD = Place(id=650, guild_id=9, name="corner", parent_id=CELLAR.id)
ELSEWHERE = Place(id=700, guild_id=10, name="inn")


def holds(folder: Path, mark: bytes) -> bool:
    return any(mark in path.read_bytes() for path in folder.iterdir() if path.is_file())


async def said(stage: Stage, place: Place = TAVERN) -> list[str]:
    return [turn.text for turn in await stage.window(place)]


async def test_nothing_is_deleted_unless_a_server_says_so(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("Long ago.", created_at=stage.clock() - timedelta(days=4000))
        await stage.quiet()
        await stage.troupe.retention.step()
        assert await said(stage) == ["Long ago."]


async def test_what_is_older_than_the_days_of_the_server_goes(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona()
        await stage.scene(mira)
        stage.say("Long ago.", created_at=stage.clock() - timedelta(days=31))
        stage.say("Lately.", created_at=stage.clock() - timedelta(days=29))
        await stage.quiet()
        await stage.troupe.options.set(GUILD, 0, "retention_days", "30")
        await stage.troupe.retention.step()
        assert await said(stage) == ["Lately."]
        assert [memory.text for memory in await stage.store.memories.of_story(1)] == ["Lately."]
        assert await stage.troupe.personas.find(GUILD, "Mira") == mira
        await stage.troupe.indexer.catch_up()
        await stage.troupe.indexer.rewrite_due(at_once=True)
        assert not holds(tmp_path, b"Long ago")


async def test_a_server_that_is_left_is_deleted_after_its_days_of_grace(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("We were here.", by=BOB)
        await stage.quiet()
        await stage.troupe.retention.left(GUILD)
        stage.clock.ahead += timedelta(days=6)
        await stage.troupe.retention.left(GUILD)  # told twice: the first time counts
        await stage.troupe.retention.step()
        assert await said(stage) == ["We were here."]
        stage.clock.ahead += timedelta(days=1, hours=1)
        await stage.troupe.retention.step()
        assert await stage.store.privacy.known_spaces() == []
        assert not stage.troupe.is_live(TAVERN.id)
        await stage.troupe.retention.step()


async def test_coming_back_in_time_restores_everything(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("We were here.", by=BOB)
        await stage.quiet()
        await stage.troupe.options.set(GUILD, 0, "grace_days", "2")
        await stage.troupe.retention.left(GUILD)
        stage.clock.ahead += timedelta(days=1)
        await stage.troupe.retention.joined(GUILD)
        stage.clock.ahead += timedelta(days=30)
        await stage.troupe.retention.step()
        assert await said(stage) == ["We were here."]


async def test_servers_left_while_the_bot_was_away_are_noticed_at_the_start(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        other = await stage.troupe.personas.create(ELSEWHERE.space_id, name="Odo", by=BOB)
        await stage.scene(other, place=ELSEWHERE)
    async with open_stage(tmp_path) as stage:
        await stage.troupe.retention.present_in([ELSEWHERE.guild_id, 11])
        stage.clock.ahead += timedelta(days=8)
        await stage.troupe.retention.step()
        assert await stage.store.privacy.known_spaces() == [ELSEWHERE.space_id]
        assert stage.troupe.is_live(ELSEWHERE.id)


async def test_a_deleted_channel_is_forgotten_with_its_threads(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona()
        for place in (TAVERN, CELLAR, THREAD):
            await stage.scene(mira, place=place)
            stage.say(f"In the {place.name}.", place=place)
            await stage.quiet(place)
        await stage.troupe.retention.channel_gone(CELLAR.id)
        assert [place.id for place in await stage.store.scenes.places()] == [TAVERN.id]
        assert [stage.troupe.is_live(place.id) for place in (TAVERN, CELLAR, THREAD)] == [True, False, False]
        assert await said(stage) == ["In the tavern."]
        await stage.troupe.retention.channel_gone(12345)


async def test_a_deleted_channel_leaves_the_index_although_nothing_more_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.0)
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("We were here.")
        await stage.quiet()
        async with asyncio.timeout(10):
            while not await stage.index.count(GUILD):
                await asyncio.sleep(0.01)
        await stage.troupe.retention.channel_gone(TAVERN.id)
        await stage.troupe.indexer.rewrite_due()
        async with asyncio.timeout(10):
            while await stage.index.count(GUILD):
                await asyncio.sleep(0.01)


async def both_servers(stage: Stage) -> None:
    """A scene in each of two servers."""
    await stage.scene(await stage.persona())
    odo = await stage.troupe.personas.create(ELSEWHERE.space_id, name="Odo", by=BOB)
    await stage.scene(odo, place=ELSEWHERE)


async def test_two_servers_left_at_once_are_both_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path) as stage:
        await both_servers(stage)
        held = Held(monkeypatch, stage.store.settings, "value")
        first = asyncio.create_task(stage.troupe.retention.left(GUILD))
        await held.reached()
        second = asyncio.create_task(stage.troupe.retention.left(ELSEWHERE.space_id))
        async with asyncio.timeout(30):
            await asyncio.wait([second], timeout=0.05)
            held.go.set()
            await asyncio.gather(first, second)
        stage.clock.ahead += timedelta(days=8)
        await stage.troupe.retention.step()
        assert await stage.store.privacy.known_spaces() == []


async def test_a_server_that_comes_back_while_another_is_deleted_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path) as stage:
        await both_servers(stage)
        await stage.troupe.retention.left(ELSEWHERE.space_id)
        await stage.troupe.retention.left(GUILD)
        stage.clock.ahead += timedelta(days=8)
        held = Held(monkeypatch, stage.store.privacy, "erase_space", before=True)
        deleting = asyncio.create_task(stage.troupe.retention.step())
        await held.reached()
        back = asyncio.create_task(stage.troupe.retention.joined(ELSEWHERE.space_id))
        await steps()
        held.go.set()
        await asyncio.gather(deleting, back)
        assert await stage.store.privacy.known_spaces() == [ELSEWHERE.space_id]
