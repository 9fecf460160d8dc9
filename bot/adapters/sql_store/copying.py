"""Copies a database file while it is in use, and looks whether a copy is sound."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from bot.adapters.sql_store.faults import storage_errors
from bot.errors import StorageError

_BUSY_S: Final = 10.0
_FOREIGN: Final = "{path} is no database of Troupe."
_DAMAGED: Final = "{path} is damaged ({complaint}). Use another backup."
_COUNTED: Final = ("personas", "scenes", "turns", "memories")


def copy_database(source: Path, target: Path) -> None:
    """Writes a copy as of now to a new file, without what was deleted; writers are not held up.

    Blocks for as long as the disk takes: call it in a thread. StorageError when it cannot be done; then
    there is no file at `target`.
    """
    with storage_errors(source):
        if not source.is_file():
            raise StorageError(f"There is no database at {source}.")
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        try:
            with _opened(source) as connection:
                connection.execute("VACUUM INTO ?", (str(target),))
            target.chmod(0o600)
        except BaseException:
            target.unlink(missing_ok=True)
            raise


def check_copy(path: Path) -> dict[str, int]:
    """How many personas, scenes, turns and memories are in it. StorageError when it is no sound database."""
    with storage_errors(path), _opened(path) as connection:
        complaint = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if complaint != "ok":
            raise StorageError(_DAMAGED.format(path=path, complaint=complaint))
        try:
            connection.execute("SELECT version_num FROM alembic_version").fetchone()
            return {
                table: int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
                for table in _COUNTED
            }
        except sqlite3.OperationalError as problem:
            raise StorageError(_FOREIGN.format(path=path)) from problem


def fold_log(path: Path) -> None:
    """Moves what the write-ahead log holds into the file, where both are sound and nobody uses them."""
    with contextlib.suppress(sqlite3.Error), _opened(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The file as it is; a missing one is not made."""
    address = f"{path.resolve().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None)) as connection:
        yield connection
