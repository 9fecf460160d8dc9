"""The store of settings and small values."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.tables import options, stored_values


class SqlSettings:
    """Fulfils `bot.core.stores.SettingsStore`."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def options(self, space_id: int) -> dict[tuple[int, str], str]:
        """See the port."""
        which = sa.select(options).where(options.c.space_id == space_id)

        def work(connection: Connection) -> dict[tuple[int, str], str]:
            return {(row.place_id, row.key): row.value for row in connection.execute(which)}

        return await self._database.read(work)

    async def all_options(self) -> dict[int, dict[tuple[int, str], str]]:
        """See the port."""

        def work(connection: Connection) -> dict[int, dict[tuple[int, str], str]]:
            found: dict[int, dict[tuple[int, str], str]] = {}
            for row in connection.execute(sa.select(options)):
                found.setdefault(row.space_id, {})[row.place_id, row.key] = row.value
            return found

        return await self._database.read(work)

    async def set_option(self, space_id: int, place_id: int, key: str, value: str | None) -> None:
        """None removes it, so that the wider setting holds again."""
        statement: sa.Executable
        if value is None:
            statement = sa.delete(options).where(
                options.c.space_id == space_id, options.c.place_id == place_id, options.c.key == key
            )
        else:
            insert = upsert(options).values(space_id=space_id, place_id=place_id, key=key, value=value)
            statement = insert.on_conflict_do_update(
                index_elements=["space_id", "place_id", "key"], set_={"value": value}
            )
        await self._execute(statement)

    async def value(self, key: str) -> str | None:
        """The stored text, or None."""
        which = sa.select(stored_values.c.value).where(stored_values.c.key == key)

        def work(connection: Connection) -> str | None:
            found: str | None = connection.execute(which).scalar()
            return found

        return await self._database.read(work)

    async def values(self, prefix: str) -> dict[str, str]:
        """See the port."""
        which = sa.select(stored_values).where(stored_values.c.key.startswith(prefix, autoescape=True))

        def work(connection: Connection) -> dict[str, str]:
            return {row.key: row.value for row in connection.execute(which)}

        return await self._database.read(work)

    async def set_value(self, key: str, value: str) -> None:
        """Replaces what stood there."""
        insert = upsert(stored_values).values(key=key, value=value)
        await self._execute(insert.on_conflict_do_update(index_elements=["key"], set_={"value": value}))

    async def _execute(self, statement: sa.Executable) -> None:
        def work(connection: Connection) -> None:
            connection.execute(statement)

        await self._database.write(work)
