"""`python -m bot forget` and `purge`: alone, and through the bot that owns the data folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bot import forgetting, job_asking
from bot.__main__ import main
from bot.adapters.privacy_ledger import open_ledger
from bot.adapters.sql_store import open_store
from bot.app import DATABASE
from bot.data_lock import owned
from bot.job_files import FOLDER, JobFolder, do_waiting
from bot.settings import Settings
from tests.adapters.sql_store.helpers import set_stage

ZAN = 987654321987654321


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.load({"DATA_DIR": str(tmp_path), "LLM_MODEL": "bundled"}, None)


async def fill(folder: Path) -> None:
    async with open_store(folder / DATABASE) as store:
        stage = await set_stage(store)
        await stage.say("xyzzyplugh", 1, owner_id=ZAN, speaker="Zanzibar")
        await stage.say("Hello, Zanzibar.", 2)


def found(folder: Path, mark: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and mark.encode() in path.read_bytes()]


async def test_alone_it_erases_every_byte_and_says_what_there_was(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    await fill(settings.data_dir)
    assert found(settings.data_dir, "xyzzyplugh")
    assert await forgetting.forget(settings, ZAN) == 0
    assert "Forgotten: 1 messages" in capsys.readouterr().out
    for mark in ("xyzzyplugh", "Zanzibar", str(ZAN)):
        assert found(settings.data_dir, mark) == []
    assert open_ledger(settings.data_dir).erased_at(ZAN) is not None
    assert await forgetting.forget(settings, ZAN) == 0
    assert "Nothing was kept" in capsys.readouterr().out


async def test_alone_it_purges_a_server(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    await fill(settings.data_dir)
    assert await forgetting.purge(settings, 9) == 0
    assert "with 2 messages" in capsys.readouterr().out
    assert found(settings.data_dir, "xyzzyplugh") == []
    async with open_store(settings.data_dir / DATABASE) as store:
        assert await store.privacy.known_spaces() == []


@pytest.mark.parametrize("fails", [False, True])
async def test_a_running_bot_does_it_and_is_followed(
    settings: Settings, fails: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[int] = []

    async def handler(member_id: int, progress: Callable[[str], None]) -> str:
        asked.append(member_id)
        progress("stopping replies")
        await asyncio.sleep(1.0)
        return "Forgotten."

    known = {} if fails else {forgetting.FORGET: handler}

    async def bot() -> None:
        while True:
            await do_waiting(JobFolder(settings.data_dir), known)
            await asyncio.sleep(0.05)

    with owned(settings.data_dir):
        running = asyncio.create_task(bot())
        code = await forgetting.forget(settings, ZAN)
        running.cancel()
    told = capsys.readouterr()
    assert code == int(fails)
    assert ("cannot forget" if fails else "Forgotten.") in told.out
    assert fails or "stopping replies" in told.err
    assert asked == ([] if fails else [ZAN])
    assert not (settings.data_dir / FOLDER).exists()


async def test_when_the_bot_ends_meanwhile_it_is_done_alone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(job_asking, "LOCK_S", 0.1)
    await fill(settings.data_dir)
    with owned(settings.data_dir):
        asking = asyncio.create_task(forgetting.forget(settings, ZAN))
        while not JobFolder(settings.data_dir).waiting():
            await asyncio.sleep(0.01)
    assert await asking == 0
    assert "Forgotten: 1 messages" in capsys.readouterr().out
    assert found(settings.data_dir, str(ZAN)) == []


@pytest.mark.parametrize(
    "words", [["forget", "Ana"], ["forget", "-1"], ["forget", "٣"], ["purge", "0"], ["forget"]]
)
def test_what_is_no_id_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words, {}) == 2
    capsys.readouterr()
