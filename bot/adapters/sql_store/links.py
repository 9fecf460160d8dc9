"""The store of links between channels."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.trust_tables import place_links
from bot.core.trust import Link


class SqlLinks:
    """Fulfils `bot.core.trust.LinkStore`."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def add(self, link: Link) -> bool:
        """See the port."""
        insert = upsert(place_links).values(
            place_id=link.place_id,
            source_id=link.source_id,
            space_id=link.space_id,
            created_by=link.created_by,
            created_at=self._database.now(),
        )
        return await self._change(insert.on_conflict_do_nothing())

    async def remove(self, place_id: int, source_id: int) -> bool:
        """See the port."""
        which = sa.and_(place_links.c.place_id == place_id, place_links.c.source_id == source_id)
        return await self._change(sa.delete(place_links).where(which))

    async def into(self, place_id: int) -> list[Link]:
        """See the port."""
        return await self._select(place_links.c.place_id == place_id)

    async def of_space(self, space_id: int) -> list[Link]:
        """See the port."""
        return await self._select(place_links.c.space_id == space_id)

    async def _change(self, statement: sa.Executable) -> bool:
        def work(connection: Connection) -> bool:
            return bool(connection.execute(statement).rowcount > 0)

        return await self._database.write(work)

    async def _select(self, which: sa.ColumnElement[bool]) -> list[Link]:
        order = place_links.c.created_at, place_links.c.source_id

        def work(connection: Connection) -> list[Link]:
            found = connection.execute(sa.select(place_links).where(which).order_by(*order))
            return [Link(**row._mapping) for row in found]

        return await self._database.read(work)
