"""Opens the database: migrations first, then the stores on one file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.audit import SqlAudit
from bot.adapters.sql_store.database import Database, T, Work
from bot.adapters.sql_store.explanations import SqlExplanations
from bot.adapters.sql_store.knowledge import SqlKnowledge
from bot.adapters.sql_store.links import SqlLinks
from bot.adapters.sql_store.lore import SqlLore
from bot.adapters.sql_store.memories import SqlMemories
from bot.adapters.sql_store.migrate import MIGRATIONS, upgrade
from bot.adapters.sql_store.pasts import SqlPasts
from bot.adapters.sql_store.personas import SqlPersonas
from bot.adapters.sql_store.privacy import SqlPrivacy
from bot.adapters.sql_store.scenes import SqlScenes
from bot.adapters.sql_store.settings import SqlSettings
from bot.adapters.sql_store.spending import SqlUsage
from bot.adapters.sql_store.tables import erasures, memories, outbox, personas, scenes, turns
from bot.adapters.sql_store.turns import SqlTurns

_COUNTED = {
    "personas": sa.select(sa.func.count()).select_from(personas),
    "scenes": sa.select(sa.func.count()).select_from(scenes),
    "turns": sa.select(sa.func.count()).where(turns.c.deleted_at.is_(None)),
    "turns_to_summarise": sa.select(sa.func.count()).where(
        turns.c.deleted_at.is_(None),
        turns.c.covered_by.is_(None),
        turns.c.kind != "ooc",
        ~turns.c.unremembered,
    ),
    "memories": sa.select(sa.func.count()).select_from(memories),
    "outbox_open": sa.select(sa.func.count()).where(outbox.c.closed_at.is_(None)),
    "keys_to_erase": sa.select(sa.func.count()).where(erasures.c.erased_at.is_(None)),
}


class SqlStore:
    """The stores of `bot.core.ports` and `bot.core.privacy` on one SQLite file."""

    def __init__(self, *, database: Database) -> None:
        self._database = database
        self.turns = SqlTurns(database=database)
        self.scenes = SqlScenes(database=database)
        self.personas = SqlPersonas(database=database)
        self.memories = SqlMemories(database=database)
        self.settings = SqlSettings(database=database)
        self.lore = SqlLore(database=database)
        self.pasts = SqlPasts(database=database)
        self.knowledge = SqlKnowledge(database=database)
        self.explanations = SqlExplanations(database=database)
        self.privacy = SqlPrivacy(database=database)
        self.usage = SqlUsage(database=database)
        self.audit = SqlAudit(database=database)
        self.links = SqlLinks(database=database)

    async def write(self, work: Work[T]) -> T:
        """What one's own statements return, in a transaction."""
        return await self._database.write(work)

    async def describe(self) -> dict[str, int | str]:
        """What `python -m bot check` shows: `check` ("ok", or SQLite's first complaint), `schema` (the newest
        migration applied), `path`, sizes in bytes, and counts. Reads the whole file."""

        def work(connection: Connection) -> dict[str, int | str]:
            check = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
            schema = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one()
            counts = {name: int(connection.execute(count).scalar_one()) for name, count in _COUNTED.items()}
            return {"check": str(check), "schema": str(schema), **counts}

        found = await self._database.read(work, snapshot=True)
        path = self._database.path
        sizes = await asyncio.to_thread(lambda: (_size(path), _size(path.with_name(path.name + "-wal"))))
        return {"path": str(path), "size_bytes": sizes[0], "wal_bytes": sizes[1], **found}

    async def truncate_wal(self) -> bool:
        """Moves all pages out of the write-ahead log and empties it. False when a reader was in the way for
        five seconds; ask again later."""
        return await self._database.standstill(_truncate)

    async def erase_bytes(self) -> bool:
        """Writes the whole file anew: on return no byte of a deleted or replaced text is left in it.

        `secure_delete` overwrites what is deleted, but pages that SQLite split earlier may hold stray copies
        of a row, which only a new file loses. Writers wait meanwhile, readers go on; it needs free disk for
        two more copies. False, as for `truncate_wal`, when the log could not be emptied.
        """

        def work(connection: Connection) -> bool:
            connection.exec_driver_sql("VACUUM")
            return _truncate(connection)

        return await self._database.standstill(work)


@asynccontextmanager
async def open_store(
    path: Path,
    *,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    script_location: Path = MIGRATIONS,
) -> AsyncIterator[SqlStore]:
    """The stores on this file, made when missing and brought to the newest schema. `clock` gives aware times.

    StorageError, saying what to do, when the file is damaged, locked, read-only or from a newer version.
    """
    await asyncio.to_thread(upgrade, path, script_location)
    database = Database(path=path, clock=clock)
    try:
        yield SqlStore(database=database)
    finally:
        await database.close()


def _truncate(connection: Connection) -> bool:
    row = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
    return bool(row[0] == 0)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
