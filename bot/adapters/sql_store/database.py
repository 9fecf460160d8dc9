"""Transactions on the one SQLite file: a writer who takes all that waits at once, and a few readers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from bot.adapters.sql_store.faults import storage_errors
from bot.adapters.sql_store.lane import Lane
from bot.errors import StorageError, log_failure

_log = logging.getLogger(__name__)

_READERS: Final = 5
"""So many reads go on at once: a reply begins with about ten."""
_BUSY_MS: Final = 5000
_TOGETHER: Final = 64
"""At most so much work is written in one transaction."""
_PRAGMAS: Final = (
    f"busy_timeout={_BUSY_MS}",
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "secure_delete=ON",
)
_READER_PRAGMAS: Final = (*_PRAGMAS, "query_only=ON", "cache_size=-512")
"""Half a MiB of pages for each reader: the system keeps the file's pages once for all of them."""

T = TypeVar("T")
Work = Callable[[Connection], T]
"""Statements and what is made of their rows, in a thread: it must touch nothing else."""


@dataclass(frozen=True, slots=True)
class _Wish:
    work: Work[Any]
    result: asyncio.Future[Any]
    alone: bool
    """Whether it is done outside of any transaction."""

    def fulfil(self, outcome: _Outcome) -> None:
        """Tell whoever waits for it; maybe nobody does any more."""
        if self.result.done():
            if outcome.error is not None:
                log_failure(_log, "A write failed that nobody waits for any more", outcome.error)
            return
        if outcome.error is None:
            self.result.set_result(outcome.value)
        else:
            self.result.set_exception(outcome.error)


@dataclass(frozen=True, slots=True)
class _Outcome:
    value: Any = None
    error: Exception | None = None


class Database:
    """Runs work in transactions. What was asked for is done to its end, also when the one who asked is
    cancelled."""

    def __init__(self, *, path: Path, clock: Callable[[], datetime]) -> None:
        self.path = path
        self._clock = clock
        self._writer = Lane(path, pragmas=_PRAGMAS)
        self._readers = [Lane(path, pragmas=_READER_PRAGMAS) for _ in range(_READERS)]
        self._wishes: list[_Wish] = []
        self._writing: asyncio.Task[None] | None = None
        self._closed = False

    def now(self) -> datetime:
        """The present, aware UTC."""
        return self._clock()

    async def write(self, work: Work[T]) -> T:
        """What `work` returns, committed; nothing is written when it raises.

        What waits while others are written shares one transaction, since each costs a wait for the disk.
        """
        return await self._wish(work)

    async def read(self, work: Work[T], *, snapshot: bool = False) -> T:
        """What `work` returns; with `snapshot` all its statements see the same moment."""
        self._check_open()
        lane = min(self._readers, key=lambda one: one.waiting)
        with storage_errors(self.path):
            return await lane.run(_in_snapshot(work) if snapshot else work)

    async def standstill(self, work: Work[T]) -> T:
        """What `work` returns, done by the writer outside of any transaction, for what SQLite does only
        there."""
        return await self._wish(work, alone=True)

    async def close(self) -> None:
        """Waits for the work under way, then lets go of the file."""
        self._closed = True
        if self._writing is not None:
            await asyncio.wait([self._writing])
        for lane in (*self._readers, self._writer):
            await lane.close()

    # ------------------------------------------------------------ the writer
    async def _wish(self, work: Work[T], *, alone: bool = False) -> T:
        self._check_open()
        wish = _Wish(self._explained(work), asyncio.get_running_loop().create_future(), alone)
        self._wishes.append(wish)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write(), name="sql-write")
        answer: T = await wish.result
        return answer

    async def _write(self) -> None:
        try:
            while self._wishes:
                wishes = self._next_ones()
                for wish, outcome in zip(wishes, await self._outcomes(wishes), strict=True):
                    wish.fulfil(outcome)
        finally:
            self._writing = None

    def _next_ones(self) -> list[_Wish]:
        """What is written together, in the order it was asked for."""
        many = next((at for at, wish in enumerate(self._wishes) if wish.alone), len(self._wishes))
        many = min(max(many, 1), _TOGETHER)
        taken, self._wishes = self._wishes[:many], self._wishes[many:]
        return taken

    async def _outcomes(self, wishes: Sequence[_Wish]) -> list[_Outcome]:
        if len(wishes) > 1:
            together = await self._outcome(_together([wish.work for wish in wishes]))
            if together.error is not None:
                return [together] * len(wishes)
            if together.value is not None:
                return list(together.value)
        works = [wish.work if wish.alone else _in_transaction(wish.work) for wish in wishes]
        return [await self._outcome(work) for work in works]

    async def _outcome(self, work: Work[Any]) -> _Outcome:
        try:
            with storage_errors(self.path):
                return _Outcome(await self._writer.run(work))
        except Exception as error:
            return _Outcome(error=error)

    # ------------------------------------------------------------ both
    def _explained(self, work: Work[T]) -> Work[T]:
        """The work, whose failures say what to do."""

        def explained(connection: Connection) -> T:
            with storage_errors(self.path):
                return work(connection)

        return explained

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("The database is closed.")


# ---------------------------------------------------------------- in the thread of a connection
def _in_snapshot(work: Work[T]) -> Work[T]:
    """All statements see what the first one sees."""

    def read(connection: Connection) -> T:
        connection.exec_driver_sql("BEGIN")
        try:
            return work(connection)
        finally:
            connection.exec_driver_sql("ROLLBACK")

    return read


def _in_transaction(work: Work[T]) -> Work[T]:
    """Committed, or nothing of it."""

    def write(connection: Connection) -> T:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            value = work(connection)
            connection.exec_driver_sql("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise
        return value

    return write


def _together(works: Sequence[Work[Any]]) -> Work[list[_Outcome] | None]:
    """All in one transaction, where a failure of one undoes that one alone. None when the transaction could
    not be kept, as with a full disk: nothing of any is written then."""

    def write(connection: Connection) -> list[_Outcome] | None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            outcomes = [_apart(connection, work) for work in works]
            connection.exec_driver_sql("COMMIT")
        except DBAPIError:
            _roll_back(connection)
            return None
        return outcomes

    return write


def _apart(connection: Connection, work: Work[Any]) -> _Outcome:
    connection.exec_driver_sql("SAVEPOINT work")
    try:
        outcome = _Outcome(work(connection))
    except Exception as error:
        connection.exec_driver_sql("ROLLBACK TO work")  # fails when SQLite has given up all of it
        outcome = _Outcome(error=error)
    connection.exec_driver_sql("RELEASE work")
    return outcome


def _roll_back(connection: Connection) -> None:
    with suppress(DBAPIError):  # SQLite may have done so itself
        connection.exec_driver_sql("ROLLBACK")
