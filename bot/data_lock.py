"""One process owns the data folder: a file lock that ends with the process, however it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from bot.errors import SettingsError

LOCK: Final = "troupe.lock"


class AlreadyOwned(SettingsError):
    """Another process uses the data folder."""


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Own the folder, made when missing, inside the block.

    AlreadyOwned when another process does; SettingsError when the folder cannot be used.
    """
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise AlreadyOwned(
            f"Another Troupe is running on {folder.resolve()}: stop it first, "
            "or set DATA_DIR to another folder"
        ) from None
    except OSError as problem:
        raise SettingsError(
            f"DATA_DIR={folder} cannot be used ({problem.strerror}): "
            "expected a folder that the bot may write to, for example DATA_DIR=data"
        ) from problem
    try:
        yield
    finally:
        lock.release()
