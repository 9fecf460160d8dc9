"""The store of lore entries, and their table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Table, text
from sqlalchemy.engine import Connection, Row

from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.columns import BigKey, UtcDateTime
from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.tables import metadata
from bot.core.lore_store import LoreRow

lore_entries = Table(
    "lore_entries",
    metadata,
    Column("id", BigKey, primary_key=True),
    Column("space_id", sa.BigInteger, nullable=False),
    Column("scene_id", BigKey, ForeignKey("scenes.id", ondelete="CASCADE"), nullable=True),
    Column("persona_id", BigKey, ForeignKey("personas.id", ondelete="CASCADE"), nullable=True),
    Column("created_by", sa.BigInteger, nullable=False, server_default=text("0")),
    Column("created_at", UtcDateTime, nullable=False),
    Column("book", sa.Text, nullable=False, server_default=""),
    Column("entry", sa.JSON, nullable=False),
    CheckConstraint("scene_id IS NULL OR persona_id IS NULL", name="owner"),
    Index(None, "space_id"),
    Index(None, "scene_id"),
    Index(None, "persona_id"),
    sqlite_autoincrement=True,
)


class SqlLore:
    """Fulfils `bot.core.lore_store.LoreStore`."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def add(self, rows: Sequence[LoreRow]) -> list[LoreRow]:
        """See the port."""
        now = self._database.now()

        def work(connection: Connection) -> list[LoreRow]:
            made = []
            for row in rows:
                insert = sa.insert(lore_entries).values(**_values(row), created_at=now)
                made.append(_row_of(connection.execute(insert.returning(lore_entries)).one()))
            return made

        return await self._database.write(work)

    async def update(self, row: LoreRow) -> LoreRow | None:
        """See the port."""
        change = (
            sa.update(lore_entries)
            .where(lore_entries.c.id == row.id, lore_entries.c.space_id == row.space_id)
            .values(entry=dict(row.entry), book=row.book)
            .returning(lore_entries)
        )

        def work(connection: Connection) -> LoreRow | None:
            found = connection.execute(change).first()
            return None if found is None else _row_of(found)

        return await self._database.write(work)

    async def of_space(self, space_id: int) -> list[LoreRow]:
        """See the port."""
        return await self._select(lore_entries.c.space_id == space_id)

    async def present(self, space_id: int, scene_id: int, persona_ids: Collection[int]) -> list[LoreRow]:
        """See the port."""
        everywhere = sa.and_(lore_entries.c.scene_id.is_(None), lore_entries.c.persona_id.is_(None))
        here = sa.or_(
            everywhere,
            lore_entries.c.scene_id == scene_id,
            lore_entries.c.persona_id.in_(list(persona_ids)),
        )
        return await self._select(sa.and_(lore_entries.c.space_id == space_id, here))

    async def remove(self, space_id: int, ids: Collection[int]) -> int:
        """See the port."""

        def work(connection: Connection) -> int:
            gone = 0
            for some in portions(ids):
                which = sa.and_(lore_entries.c.space_id == space_id, lore_entries.c.id.in_(some))
                found = connection.execute(sa.delete(lore_entries).where(which))
                gone += found.rowcount
            return gone

        return await self._database.write(work)

    async def _select(self, which: sa.ColumnElement[bool]) -> list[LoreRow]:
        def work(connection: Connection) -> list[LoreRow]:
            found = connection.execute(sa.select(lore_entries).where(which).order_by(lore_entries.c.id))
            return [_row_of(row) for row in found]

        return await self._database.read(work)


def _values(row: LoreRow) -> dict[str, Any]:
    return {
        "space_id": row.space_id,
        "scene_id": row.scene_id,
        "persona_id": row.persona_id,
        "created_by": row.created_by,
        "book": row.book,
        "entry": dict(row.entry),
    }


def _row_of(row: Row[Any]) -> LoreRow:
    return LoreRow(**row._mapping)
