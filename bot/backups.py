"""`python -m bot backup` and `restore`: the database into one file, also while the bot runs, and back."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bot import disk
from bot.adapters import aside, backup_file, privacy_ledger
from bot.adapters.sql_store.copying import check_copy, copy_database, fold_log
from bot.adapters.sql_store.migrate import upgrade
from bot.app import DATABASE, INDEX, RESTORED, now
from bot.data_lock import owned
from bot.errors import StorageError
from bot.forgetting import eraser_alone
from bot.job_asking import by_the_bot_or_alone
from bot.job_files import Handler
from bot.settings import Settings
from bot.terminal import Screen

BACKUP: Final = "backup"
_HEADS: Final = backup_file.HEADS.rstrip("/")
_SPARE_BYTES: Final = 64 << 20
_MOST_NUMBER: Final = 1 << 62


# ---------------------------------------------------------------- backup
async def backup(settings: Settings, target: Path) -> int:
    """Write a backup to a file, or under a name with the time into a folder; 0 when it is on the disk."""
    screen = Screen(out=sys.stdout, interactive=sys.stdout.isatty())
    target = await asyncio.to_thread(_checked_target, settings.data_dir, target)
    number = secrets.randbelow(_MOST_NUMBER) + 1
    copy = aside.copy_path(settings.data_dir, number)

    async def alone() -> str:
        await asyncio.to_thread(copy_database, settings.data_dir / DATABASE, copy)
        return ""

    try:
        async with screen.waiting("Copying the database"):
            made = now()
            result = await by_the_bot_or_alone(settings.data_dir, BACKUP, number, alone, screen)
        if not result.ok:
            screen.line(result.text)
            return 1
        async with screen.waiting("Packing it"):
            text = await asyncio.to_thread(_pack, settings.data_dir, copy, target, made)
    finally:
        await asyncio.to_thread(aside.remove, copy)
    screen.line(text)
    return 0


def copier(data_dir: Path) -> Handler:
    """What a running bot does with the job that `backup` leaves: the copy, which the other then packs."""

    async def copy(number: int, progress: Callable[[str], None]) -> str:
        progress("copying the database")
        await asyncio.to_thread(copy_database, data_dir / DATABASE, aside.copy_path(data_dir, number))
        return ""

    return copy


def _checked_target(data_dir: Path, target: Path) -> Path:
    target = target.expanduser()
    if target.is_dir():
        target = target / f"troupe-{now():%Y%m%d-%H%M%S}.zip"
    if target.resolve().is_relative_to(data_dir.resolve()):
        raise StorageError(
            f"{target} lies in DATA_DIR: name a place outside it. A backup is no use on the disk that fails, "
            "and what members have forgotten must not stay in DATA_DIR"
        )
    if target.exists() and not backup_file.is_backup(target):
        raise StorageError(f"{target} is there and is no backup of Troupe; name another file")
    return target


def _pack(data_dir: Path, copy: Path, target: Path, made: datetime) -> str:
    if not copy.is_file():
        raise StorageError(
            "Somebody was forgotten while the copy was made, so it is gone. Please run it again."
        )
    counts = check_copy(copy)
    parts = {backup_file.DATABASE: copy}
    parts |= {f"{backup_file.HEADS}{path.name}": path for path in sorted((data_dir / _HEADS).glob("*.npz"))}
    size = backup_file.write_backup(target, parts, counts, made)
    return (
        f"{target}: {size / 1e6:.1f} MB with {_counted(counts)}. Not in it: the search index (built again), "
        "DATA_DIR/privacy (keep it), .env."
    )


# ---------------------------------------------------------------- restore
async def restore(settings: Settings, source: Path) -> int:
    """Put a backup in the place of the data; 0 when it is there. AlreadyOwned while a bot is running.

    A backup that is no good changes nothing. What was there is kept aside for a day.
    """
    screen = Screen(out=sys.stdout, interactive=sys.stdout.isatty())
    contents = await asyncio.to_thread(backup_file.read_contents, source)
    with owned(settings.data_dir):
        incoming = aside.incoming_path(settings.data_dir, secrets.randbelow(_MOST_NUMBER))
        try:
            async with screen.waiting("Looking at the backup"):
                counts = await asyncio.to_thread(_unpacked, source, contents, incoming, settings.data_dir)
            knew = (settings.data_dir / privacy_ledger.FOLDER).is_dir()
            kept = await asyncio.to_thread(_swap, settings.data_dir, incoming)
        finally:
            await asyncio.to_thread(aside.remove, incoming)
        waiting = screen.waiting("Forgetting again whoever asked for it since")
        async with waiting, eraser_alone(settings, copies_too=False) as (eraser, store):
            again = await eraser.catch_up()
            await store.settings.set_value(RESTORED, now().isoformat())
    screen.line(f"Restored {_counted(counts)}, as of {contents.made_at:%Y-%m-%d %H:%M} UTC.")
    if again:
        screen.line(f"Forgotten again: {again} members or servers that were erased since.")
    if not knew:
        screen.line(
            f"{settings.data_dir / privacy_ledger.FOLDER} is new, so it is not known who opted out or was "
            "forgotten. If you have that folder of the old machine, put it there before you start the bot."
        )
    if kept is not None:
        screen.line(f"What was here is in {kept} for a day, or until somebody is forgotten.")
    screen.line("Start the bot: it reads what was said since from the channels and builds the search index.")
    return 0


def _unpacked(source: Path, contents: backup_file.Contents, incoming: Path, data_dir: Path) -> dict[str, int]:
    """The backup below `incoming`, brought to the newest schema. StorageError when it is no good."""
    needed = 2 * contents.bytes + _SPARE_BYTES
    if (free := disk.free_bytes(data_dir)) < needed:
        raise StorageError(
            f"Restoring takes {needed / 1e6:.0f} MB on the disk of {data_dir}; {free / 1e6:.0f} MB are free."
        )
    backup_file.unpack(source, contents, incoming)
    database = incoming / DATABASE
    counts = check_copy(database)
    upgrade(database)
    fold_log(database)
    return counts


def _swap(data_dir: Path, incoming: Path) -> Path | None:
    """Have the new files in place in one step for the database; where the old ones are now, if any were.

    The index goes first: were the process killed after the database is new, the bot would take the old index
    for its own.
    """
    live = data_dir / DATABASE
    logs = tuple(live.with_name(f"{live.name}{ending}") for ending in ("-wal", "-shm"))
    kept: Path | None = None
    if live.exists():
        fold_log(live)
        kept = aside.replaced_path(data_dir, datetime.now(UTC))
        aside.keep_aside((live, *logs, data_dir / _HEADS), kept)
    shutil.rmtree(data_dir / INDEX, ignore_errors=True)
    for path in logs:
        path.unlink(missing_ok=True)
    (incoming / DATABASE).replace(live)
    shutil.rmtree(data_dir / _HEADS, ignore_errors=True)
    if (incoming / _HEADS).is_dir():
        (incoming / _HEADS).replace(data_dir / _HEADS)
    return kept


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
