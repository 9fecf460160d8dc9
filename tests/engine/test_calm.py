"""Background work stands back while a reply is prepared, and not for ever."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.engine import calm, indexing
from bot.engine.calm import Calm
from tests.engine.stage import open_stage


async def test_work_goes_on_when_the_last_reply_is_prepared() -> None:
    quiet = Calm()
    await quiet.wait()
    with quiet.disturbed():
        with quiet.disturbed():
            waiting = asyncio.create_task(quiet.wait())
        await asyncio.sleep(0)
        assert not waiting.done()
    async with asyncio.timeout(30):
        await waiting


async def test_a_busy_bot_does_its_background_work_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calm, "LONGEST_SECONDS", 0.01)
    quiet = Calm()
    with quiet.disturbed():
        async with asyncio.timeout(30):
            await quiet.wait()


async def test_turns_are_indexed_when_the_reply_is_on_its_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.0)
    monkeypatch.setattr(calm, "LONGEST_SECONDS", 30.0)
    reading, gate = asyncio.Event(), asyncio.Event()
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        query = stage.encoder.embed_query

        async def slowly(texts: list[str]) -> object:
            reading.set()
            await gate.wait()
            return await query(texts)

        monkeypatch.setattr(stage.encoder, "embed_query", slowly)
        stage.say("Mira, who is there?")
        await reading.wait()
        stage.say("Nobody but the rain.")
        await stage.troupe.journal.flushed()
        for _ in range(50):
            await asyncio.sleep(0)
        assert await stage.store.memories.count_to_index(stage.encoder.id) == 2
        gate.set()
        async with asyncio.timeout(30):
            while await stage.store.memories.count_to_index(stage.encoder.id):
                await asyncio.sleep(0.01)
        await stage.quiet()
