"""A connection to the file with a thread of its own, where work is done as a whole.

The driver would be asked for each statement, and its thread woken and the event loop waited for each time;
a transaction runs dozens of them, and whoever writes holds up all others until they are over.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import aiosqlite
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import Connection
from sqlalchemy.pool import StaticPool

T = TypeVar("T")
_UNUSED_CHUNK: Final = 64
"""What the driver wants to know for reading row by row, which nobody does here."""


class Lane:
    """Opened when it is first needed. Work comes in the order in which it was asked for."""

    def __init__(self, path: Path, *, pragmas: Sequence[str]) -> None:
        self._path = path
        self._pragmas = pragmas
        self._opening: asyncio.Task[aiosqlite.Connection] | None = None
        self._driver: aiosqlite.Connection | None = None
        self._engine: Engine | None = None
        self.waiting = 0
        """How much work waits or is being done."""

    async def run(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns, outside of any transaction. It is done to its end, also when the one who asked
        is cancelled."""
        self.waiting += 1
        try:
            driver = self._driver or await self._open()
            answer: T = await driver._execute(self._visit, work)  # type: ignore[no-untyped-call]
        finally:
            self.waiting -= 1
        return answer

    async def close(self) -> None:
        """Let the work under way end, then let go of the file."""
        if self._opening is not None:
            await asyncio.wait([self._opening])
        driver, self._driver = self._driver, None
        if driver is not None:
            await driver.close()

    async def _open(self) -> aiosqlite.Connection:
        """Goes on when the one who asked is cancelled: a second thread must not open it as well."""
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._opened(), name="open the database")
            self._opening.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._opening)

    async def _opened(self) -> aiosqlite.Connection:
        driver = aiosqlite.Connection(self._connect, iter_chunk_size=_UNUSED_CHUNK)
        driver._thread.daemon = True
        self._driver = await driver
        return self._driver

    # ------------------------------------------------------------ in its thread
    def _connect(self) -> sqlite3.Connection:
        driver = sqlite3.connect(self._path, isolation_level=None)  # it begins and commits nothing by itself
        try:
            for pragma in self._pragmas:
                driver.execute(f"PRAGMA {pragma}")
        except BaseException:
            driver.close()
            raise
        # hide_parameters: what members wrote must not reach a log by way of an exception.
        self._engine = create_engine(
            "sqlite://", creator=lambda: driver, poolclass=StaticPool, hide_parameters=True
        )
        return driver

    def _visit(self, work: Callable[[Connection], T]) -> T:
        assert self._engine is not None
        with self._engine.connect() as connection:
            return work(connection)
