"""`python -m bot reindex`: alone, and through the bot that owns the data folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from bot.adapters.sql_store import open_store
from bot.app import DATABASE
from bot.data_lock import owned
from bot.engine import indexing
from bot.job_files import FOLDER, JobFolder, do_waiting
from bot.reindex import REINDEX, Percents, rebuilder, reindex
from bot.settings import Settings
from tests.adapters.index_parts import key
from tests.adapters.sql_store.helpers import set_stage
from tests.engine.stage import TAVERN, open_stage


def settings_of(folder: Path) -> Settings:
    return Settings.load({"DATA_DIR": str(folder), "LLM_MODEL": "bundled"}, None)


async def test_the_running_bot_builds_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.0)
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        for number in range(5):
            stage.say(f"Line {number}.")
        await stage.quiet()
        async with asyncio.timeout(30):
            while await stage.store.memories.count_to_index(stage.encoder.id):
                await asyncio.sleep(0.01)
        await stage.index.upsert(TAVERN.space_id, [key(4711, vector=await stray(stage.encoder))])

        async def bot() -> None:
            while True:
                await do_waiting(JobFolder(tmp_path), {REINDEX: rebuilder(stage.troupe, _no_head)})
                await asyncio.sleep(0.05)

        with owned(tmp_path):
            running = asyncio.create_task(bot())
            code = await reindex(settings_of(tmp_path))
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
        assert code == 0
        assert "5 memories are indexed." in capsys.readouterr().out
        assert await stage.index.count(TAVERN.space_id) == 5
        assert 4711 not in {memory_id for memory_id, _ in stage.index.rows[TAVERN.space_id]}
        assert not (tmp_path / FOLDER).exists()


async def _no_head() -> None:
    raise AssertionError("the model is the same")


async def stray(encoder: object) -> object:
    return (await encoder.embed_query(["a key that no memory has"]))[0]  # type: ignore[attr-defined]


async def test_alone_it_does_it_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with open_store(tmp_path / DATABASE) as store:
        stage = await set_stage(store)
        await stage.say("The cellar is dark.", 1)
    assert await reindex(settings_of(tmp_path)) == 0
    assert "1 memories are indexed." in capsys.readouterr().out


async def test_nobody_waits_for_it_who_wants_something_else(tmp_path: Path) -> None:
    folder, never = JobFolder(tmp_path), asyncio.Event()

    async def rebuild(_: int, progress: Callable[[str], None]) -> str:
        await never.wait()
        return ""

    async def forget(_: int, progress: Callable[[str], None]) -> str:
        return "Forgotten."

    folder.ask(REINDEX, 0)
    asked = folder.ask("forget", 7)
    slow = asyncio.create_task(do_waiting(folder, {REINDEX: rebuild}, mine=lambda kind: kind == REINDEX))
    await do_waiting(folder, {"forget": forget}, mine=lambda kind: kind != REINDEX)
    result = folder.result(asked)
    assert result is not None
    assert result.text == "Forgotten."
    assert [job.kind for job in folder.waiting()] == [REINDEX]
    slow.cancel()
    with suppress(asyncio.CancelledError):
        await slow


def test_progress_is_told_for_each_hundredth() -> None:
    told: list[str] = []
    percents = Percents(told.append)
    for done in range(0, 1001, 5):
        percents(done, 1000)
    assert len(told) == 101
    assert told[-1] == "1000 of 1000 memories (100%)"
