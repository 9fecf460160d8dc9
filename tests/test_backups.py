"""`python -m bot backup` and `restore`: what is in a backup, what comes back, and who stays forgotten."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot import backups, forgetting
from bot.adapters import aside
from bot.adapters.backup_file import read_contents, write_backup
from bot.adapters.privacy_ledger import FOLDER as LEDGER
from bot.adapters.privacy_ledger import open_ledger
from bot.adapters.sql_store import open_store
from bot.app import DATABASE, INDEX, RESTORED, now
from bot.data_lock import AlreadyOwned, owned
from bot.errors import StorageError
from bot.job_files import JobFolder, do_waiting
from bot.settings import Settings
from tests.adapters.sql_store.helpers import set_stage

ZAN, ANA = 987654321987654321, 77


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.load({"DATA_DIR": str(tmp_path / "data"), "LLM_MODEL": "bundled"}, None)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "backup.zip"


async def fill(folder: Path) -> None:
    """One scene in which two members spoke, an index and a trained head."""
    async with open_store(folder / DATABASE) as store:
        stage = await set_stage(store)
        await stage.say("xyzzyplugh", 1, owner_id=ZAN, speaker="Zanzibar")
        await stage.say("The bell rings.", 2, owner_id=ANA)
    for path in (folder / "heads" / "all-minilm.npz", folder / INDEX / "some.lance"):
        await asyncio.to_thread(path.parent.mkdir)
        write(path, "weights")


def texts(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        return [text for (text,) in database.execute("SELECT text FROM turns ORDER BY id")]


def say_more(folder: Path) -> None:
    """What is said after the backup."""
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        database.execute("UPDATE turns SET text = 'Changed since.' WHERE owner_id = ?", (ANA,))
        database.commit()


def write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def read(path: Path) -> str:
    return path.read_text("utf-8")


def names(folder: Path, pattern: str = "*") -> list[Path]:
    return sorted(folder.glob(pattern))


def found(folder: Path, mark: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and mark.encode() in path.read_bytes()]


async def test_a_backup_holds_database_and_heads_and_comes_back_whole(
    settings: Settings, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = settings.data_dir
    await fill(data)
    assert await backups.backup(settings, target) == 0
    assert "2 turns" in capsys.readouterr().out
    with zipfile.ZipFile(target) as packed:
        assert set(packed.namelist()) == {
            "README.txt",
            "backup.json",
            "troupe.sqlite3",
            "heads/all-minilm.npz",
        }
    assert stat.S_IMODE(os.stat(target).st_mode) == 0o600
    assert names(data, aside.FOLDER) == []
    say_more(data)
    write(data / "heads" / "all-minilm.npz", "other weights")
    assert await backups.restore(settings, target) == 0
    told = capsys.readouterr().out
    assert "Restored 1 personas, 1 scenes, 2 turns" in told
    assert texts(data) == ["xyzzyplugh", "The bell rings."]
    assert read(data / "heads" / "all-minilm.npz") == "weights"
    assert names(data / INDEX, "some.lance") == []
    async with open_store(data / DATABASE) as store:
        restored = await store.settings.value(RESTORED)
        assert restored is not None
        assert now() - datetime.fromisoformat(restored) < timedelta(minutes=1)
    (kept,) = names(data / aside.FOLDER)
    assert str(kept) in told
    assert texts(kept) == ["xyzzyplugh", "Changed since."]
    assert read(kept / "heads" / "all-minilm.npz") == "other weights"


async def test_a_copy_holds_nothing_that_was_deleted_before(settings: Settings, target: Path) -> None:
    await fill(settings.data_dir)
    with closing(sqlite3.connect(settings.data_dir / DATABASE)) as database:
        database.execute("UPDATE turns SET text = 'x' || hex(randomblob(3000)) WHERE owner_id = ?", (ZAN,))
        database.execute("UPDATE turns SET text = '' WHERE owner_id = ?", (ZAN,))
        database.commit()
    assert await backups.backup(settings, target) == 0
    with zipfile.ZipFile(target) as packed:
        assert b"xyzzyplugh" not in packed.read("troupe.sqlite3")


async def test_who_was_forgotten_after_the_backup_stays_forgotten(
    settings: Settings, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = settings.data_dir
    await fill(data)
    await backups.backup(settings, target)
    assert await forgetting.forget(settings, ZAN) == 0
    await open_ledger(data).opt_out(ANA)
    assert await backups.restore(settings, target) == 0
    assert "Forgotten again: 1" in capsys.readouterr().out
    assert texts(data) == ["The bell rings."]
    for mark in ("xyzzyplugh", "Zanzibar", str(ZAN)):
        assert found(data, mark) == []
    assert open_ledger(data).opted_out(ANA)
    with zipfile.ZipFile(target) as packed:
        assert not [name for name in packed.namelist() if LEDGER in name]


async def test_forgetting_reaches_what_a_restore_put_aside(settings: Settings, target: Path) -> None:
    await fill(settings.data_dir)
    await backups.backup(settings, target)
    await backups.restore(settings, target)
    assert len(found(settings.data_dir, "xyzzyplugh")) == 2
    await forgetting.forget(settings, ZAN)
    assert found(settings.data_dir, "xyzzyplugh") == []


async def test_on_another_machine_it_is_said_that_nobody_knows_who_was_forgotten(
    settings: Settings, target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await fill(settings.data_dir)
    await backups.backup(settings, target)
    other = Settings.load({"DATA_DIR": str(tmp_path / "new"), "LLM_MODEL": "bundled"}, None)
    assert await backups.restore(other, target) == 0
    told = capsys.readouterr().out
    assert "is not known who opted out" in told
    assert "for a day" not in told
    assert texts(other.data_dir) == ["xyzzyplugh", "The bell rings."]


async def test_a_running_bot_makes_the_copy_and_keeps_writing(
    settings: Settings, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = settings.data_dir
    await fill(data)

    async def bot() -> None:
        while True:
            await do_waiting(JobFolder(data), {backups.BACKUP: backups.copier(data)})
            await asyncio.sleep(0.05)

    with owned(data):
        async with open_store(data / DATABASE) as store:
            running = asyncio.create_task(bot())
            code = await backups.backup(settings, target)
            running.cancel()
            await store.settings.set_value("after", "1")
        assert code == 0
        with pytest.raises(AlreadyOwned, match="stop it first"):
            await backups.restore(settings, target)
    assert "2 turns" in capsys.readouterr().out
    assert names(data, aside.FOLDER) == []


async def test_a_bot_that_cannot_copy_says_why(
    settings: Settings, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def refuse(number: int, progress: Callable[[str], None]) -> str:
        raise StorageError("The disk is full.")

    async def bot() -> None:
        while True:
            await do_waiting(JobFolder(settings.data_dir), {backups.BACKUP: refuse})
            await asyncio.sleep(0.05)

    with owned(settings.data_dir):
        running = asyncio.create_task(bot())
        assert await backups.backup(settings, target) == 1
        running.cancel()
    assert "The disk is full." in capsys.readouterr().out
    assert names(target.parent, target.name) == []


def other_schema(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()


def broken_page(database: Path) -> None:
    content = bytearray(database.read_bytes())
    content[4096 : 4096 + 512] = b"\xff" * 512
    database.write_bytes(content)


def foreign(database: Path) -> None:
    database.unlink()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE cakes(name)")
        connection.commit()


@pytest.mark.parametrize(
    ("spoil", "told"),
    [(other_schema, "newer Troupe"), (broken_page, "damaged"), (foreign, "no database of Troupe")],
)
async def test_a_backup_of_no_use_changes_nothing(
    settings: Settings, tmp_path: Path, target: Path, spoil: Callable[[Path], None], told: str
) -> None:
    data = settings.data_dir
    await fill(data)
    await backups.backup(settings, tmp_path / "good.zip")
    with zipfile.ZipFile(tmp_path / "good.zip") as packed:
        packed.extract("troupe.sqlite3", tmp_path)
    spoil(tmp_path / "troupe.sqlite3")
    write_backup(target, {"troupe.sqlite3": tmp_path / "troupe.sqlite3"}, {}, now())
    say_more(data)
    with pytest.raises(StorageError, match=told):
        await backups.restore(settings, target)
    assert texts(data) == ["xyzzyplugh", "Changed since."]
    assert names(data / INDEX, "some.lance")
    assert names(data, aside.FOLDER) == []


class PowerCut(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("survived", range(5))
async def test_a_restore_that_is_cut_short_leaves_no_index_of_another_database(
    settings: Settings, target: Path, monkeypatch: pytest.MonkeyPatch, survived: int
) -> None:
    data = settings.data_dir
    await fill(data)
    await backups.backup(settings, target)
    say_more(data)
    steps = 0

    def until_then(step: Callable[..., object]) -> Callable[..., object]:
        def taken(*given: object, **more: object) -> object:
            nonlocal steps
            steps += 1
            if steps > survived:
                raise PowerCut
            return step(*given, **more)

        return taken

    swap = backups._swap

    def cut_swap(data_dir: Path, incoming: Path) -> Path | None:
        with monkeypatch.context() as during:
            during.setattr(backups.shutil, "rmtree", until_then(backups.shutil.rmtree))
            during.setattr(Path, "replace", until_then(Path.replace))
            during.setattr(Path, "unlink", until_then(Path.unlink))
            return swap(data_dir, incoming)

    monkeypatch.setattr(backups, "_swap", cut_swap)
    with pytest.raises(PowerCut):
        await backups.restore(settings, target)
    said = texts(data)
    assert said in (["xyzzyplugh", "Changed since."], ["xyzzyplugh", "The bell rings."])
    restored = said[1] == "The bell rings."
    assert restored == (survived >= 4)
    assert not (restored and (data / INDEX).exists())


def not_a_zip(target: Path) -> None:
    target.write_bytes(b"PK\x03\x04 hello")


def cut_short(target: Path) -> None:
    target.write_bytes(target.read_bytes()[: target.stat().st_size // 2])


def another_zip(target: Path) -> None:
    with zipfile.ZipFile(target, "w") as packed:
        packed.writestr("holiday.txt", "sun")


def escaping(target: Path) -> None:
    listed = {"troupe.sqlite3": [1, "x"], "heads/../../evil.npz": [1, "x"]}
    about = {"format": 1, "made_at": "2026-01-01T00:00:00+00:00", "counts": {}, "files": listed}
    with zipfile.ZipFile(target, "w") as packed:
        packed.writestr("backup.json", json.dumps(about))


def swollen(target: Path) -> None:
    about = {"format": 1, "made_at": "2026-01-01T00:00:00+00:00", "counts": {}}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("troupe.sqlite3", bytes(50_000_000))
        packed.writestr("backup.json", json.dumps({**about, "files": {"troupe.sqlite3": [100, "x"]}}))


@pytest.mark.parametrize("spoil", [not_a_zip, cut_short, another_zip, escaping, swollen])
async def test_what_is_no_backup_is_refused(
    settings: Settings, target: Path, spoil: Callable[[Path], None]
) -> None:
    await fill(settings.data_dir)
    await backups.backup(settings, target)
    spoil(target)
    with pytest.raises(StorageError, match=r"no backup of Troupe|damaged"):
        await backups.restore(settings, target)
    assert texts(settings.data_dir) == ["xyzzyplugh", "The bell rings."]
    assert names(settings.data_dir, aside.FOLDER) == []


async def test_a_missing_file_and_a_missing_database_are_named(settings: Settings, target: Path) -> None:
    with pytest.raises(StorageError, match="cannot be read"):
        await backups.restore(settings, target)
    with pytest.raises(StorageError, match="no database at"):
        await backups.backup(settings, target)
    assert names(target.parent, target.name) == []


async def test_a_backup_goes_into_a_folder_replaces_a_backup_and_nothing_else(
    settings: Settings, tmp_path: Path, target: Path
) -> None:
    await fill(settings.data_dir)
    assert await backups.backup(settings, tmp_path) == 0
    (dated,) = names(tmp_path, "troupe-*.zip")
    say_more(settings.data_dir)
    assert await backups.backup(settings, dated) == 0
    assert read_contents(dated).counts["turns"] == 2
    write(target, "my novel")
    with pytest.raises(StorageError, match="no backup of Troupe"):
        await backups.backup(settings, target)
    assert read(target) == "my novel"
    with pytest.raises(StorageError, match="outside"):
        await backups.backup(settings, settings.data_dir / "backup.zip")


def test_what_was_put_aside_goes_after_a_day(tmp_path: Path) -> None:
    for name, age in (("replaced-1", aside.KEPT_S + 60), ("replaced-2", 60.0)):
        folder = tmp_path / aside.FOLDER / name
        folder.mkdir(parents=True)
        (folder / DATABASE).write_bytes(b"old")
        os.utime(folder, (time.time() - age, time.time() - age))
    assert aside.remove_old(tmp_path) == aside.LOOK_S
    assert [path.name for path in (tmp_path / aside.FOLDER).iterdir()] == ["replaced-2"]
    aside.remove_all(tmp_path)
    assert not (tmp_path / aside.FOLDER).exists()
