"""Connections to the one SQLite file: a writer whose transactions queue, and a few readers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, event
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from bot.adapters.sql_store.faults import storage_errors
from bot.adapters.sql_store.whole_statements import connect
from bot.errors import StorageError

_log = logging.getLogger(__name__)
_READERS = 5
"""So many reads go on at once: a reply begins with about ten."""
_BUSY_MS = 5000
_NO_BEGIN = "troupe_no_begin"
_PRAGMAS = (
    f"busy_timeout={_BUSY_MS}",
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "secure_delete=ON",
)
_READER_PRAGMAS = (*_PRAGMAS, "query_only=ON", "cache_size=-512")
"""Half a MiB of pages for each reader: the system keeps the file's pages once for all of them."""

T = TypeVar("T")
Work = Callable[[AsyncConnection], Awaitable[T]]


class Database:
    """Runs work in transactions. Work that has begun ends, also when the one who asked is cancelled:
    a statement cut off half-way would leave its connection in an unknown state."""

    def __init__(self, *, path: Path, clock: Callable[[], datetime]) -> None:
        self.path = path
        self._clock = clock
        self._writer = _engine(path, connections=1, pragmas=_PRAGMAS, begin="BEGIN IMMEDIATE")
        self._readers = _engine(path, connections=_READERS, pragmas=_READER_PRAGMAS, begin=None)
        self._turn = asyncio.Lock()  # first come, first served
        self._running: set[asyncio.Task[Any]] = set()
        self._closed = False

    def now(self) -> datetime:
        """The present, aware UTC."""
        return self._clock()

    async def write(self, work: Work[T]) -> T:
        """What `work` returns, committed; nothing is written when it raises."""
        self._check_open()
        return await self._to_its_end(self._write(work), "sql-write")

    async def read(self, work: Work[T], *, snapshot: bool = False) -> T:
        """What `work` returns; with `snapshot` all its statements see the same moment."""
        self._check_open()
        return await self._to_its_end(self._read(work, snapshot), "sql-read")

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """The writer's connection in a transaction of its own. `write` also survives a cancelled caller."""
        self._check_open()
        async with self._begun() as connection:
            yield connection

    @asynccontextmanager
    async def standstill(self) -> AsyncIterator[AsyncConnection]:
        """The writer's connection outside any transaction, for what SQLite does only there."""
        self._check_open()
        async with self._turn:
            with storage_errors(self.path):
                async with self._writer.execution_options(**{_NO_BEGIN: True}).connect() as connection:
                    yield connection

    async def close(self) -> None:
        """Waits for the work under way, then lets go of the file."""
        self._closed = True
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._readers.dispose()
        await self._writer.dispose()

    async def _write(self, work: Work[T]) -> T:
        async with self._begun() as connection:
            return await work(connection)

    @asynccontextmanager
    async def _begun(self) -> AsyncIterator[AsyncConnection]:
        async with self._turn:
            with storage_errors(self.path):
                async with self._writer.begin() as connection:
                    yield connection

    async def _read(self, work: Work[T], snapshot: bool) -> T:
        with storage_errors(self.path):
            async with self._readers.connect() as connection:
                if not snapshot:
                    return await work(connection)
                await connection.exec_driver_sql("BEGIN")
                try:
                    return await work(connection)
                finally:
                    await connection.exec_driver_sql("ROLLBACK")

    async def _to_its_end(self, work: Coroutine[Any, Any, T], name: str) -> T:
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.debug("%s failed: %s", task.get_name(), type(task.exception()).__name__)

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("The database is closed.")


def _engine(path: Path, *, connections: int, pragmas: tuple[str, ...], begin: str | None) -> AsyncEngine:
    # hide_parameters: what members wrote must not reach a log by way of an exception.
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(path)),
        connect_args={"async_creator_fn": connect},
        pool_size=connections,
        max_overflow=0,
        pool_timeout=30,
        pool_reset_on_return=None,
        skip_autocommit_rollback=begin is None,  # a visit to the thread for each read, to end nothing
        hide_parameters=True,
    )

    @event.listens_for(engine.sync_engine, "connect")
    def _connect(driver: Any, _record: object) -> None:
        driver.isolation_level = None  # the driver begins and commits nothing by itself
        cursor = driver.cursor()
        for pragma in pragmas:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    if begin is not None:

        @event.listens_for(engine.sync_engine, "begin")
        def _begin(connection: Connection) -> None:
            if not connection.get_execution_options().get(_NO_BEGIN):
                connection.exec_driver_sql(begin)

    return engine
