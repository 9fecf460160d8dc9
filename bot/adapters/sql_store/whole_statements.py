"""Runs each SQL statement in one visit to its connection's thread, rows and all.

The driver goes there four times: for a cursor, to run the statement, for the rows, and to close the cursor.
Each visit waits for a thread to wake and for the event loop to come round, and a reply runs dozens of
statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Self

import aiosqlite

_CHUNK = 64
"""What the driver wants to know for reading row by row, which nobody does here."""


class WholeCursor:
    """What SQLAlchemy uses of a driver's cursor. It reads all rows of a statement at once anyway."""

    def __init__(self, run: Callable[..., Any]) -> None:
        self._run = run
        self._rows: Sequence[Any] = ()
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None
        self.arraysize = 1

    async def __aenter__(self) -> Self:
        return self

    async def execute(self, sql: str, parameters: Any = ()) -> Self:
        """Run a statement and fetch what it answers."""
        return self._take(await self._run(_execute, sql, parameters))

    async def executemany(self, sql: str, parameters: Any) -> Self:
        """Run a statement for each set of parameters."""
        return self._take(await self._run(_executemany, sql, parameters))

    async def fetchall(self) -> Sequence[Any]:
        """The rows of the last statement."""
        return self._rows

    async def close(self) -> None:
        """Nothing is held open."""

    def _take(self, answer: tuple[sqlite3.Cursor, Sequence[Any]]) -> Self:
        cursor, self._rows = answer
        self.description, self.rowcount, self.lastrowid = (
            cursor.description,
            cursor.rowcount,
            cursor.lastrowid,
        )
        return self


class WholeConnection(aiosqlite.Connection):
    """A connection of the driver whose cursors need one visit a statement."""

    def cursor(self) -> WholeCursor:  # type: ignore[override]
        """A cursor; no thread is asked for it."""

        async def run(work: Callable[..., Any], sql: str, parameters: Any) -> Any:
            return await self._execute(work, self._conn, sql, parameters)  # type: ignore[no-untyped-call]

        return WholeCursor(run)

    async def rollback(self) -> None:
        """Only where there is something to roll back: after most reads there is not."""
        if self.in_transaction:
            await super().rollback()


def connect(database: str, **options: Any) -> WholeConnection:
    """As the driver's own `connect`: a connection that opens when it is awaited, with a thread of its own."""
    connection = WholeConnection(lambda: sqlite3.connect(database, **options), iter_chunk_size=_CHUNK)
    connection._thread.daemon = True
    return connection


def _execute(
    connection: sqlite3.Connection, sql: str, parameters: Any
) -> tuple[sqlite3.Cursor, Sequence[Any]]:
    cursor = connection.execute(sql, parameters)
    rows = cursor.fetchall() if cursor.description else ()
    cursor.close()
    return cursor, rows


def _executemany(
    connection: sqlite3.Connection, sql: str, parameters: Any
) -> tuple[sqlite3.Cursor, Sequence[Any]]:
    cursor = connection.executemany(sql, parameters)
    cursor.close()
    return cursor, ()
