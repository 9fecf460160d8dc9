"""The store of settings, usage counters and small values."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.tables import options, stored_values, usage

_EVERYWHERE = 0  # the space id under which a day's total is counted


class SqlSettings:
    """Fulfils `bot.core.stores.SettingsStore`."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def options(self, space_id: int) -> dict[tuple[int, str], str]:
        """See the port."""
        which = sa.select(options).where(options.c.space_id == space_id)

        async def work(connection: AsyncConnection) -> dict[tuple[int, str], str]:
            return {(row.place_id, row.key): row.value for row in await connection.execute(which)}

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

    async def reserve(
        self, space_id: int, day: str, tokens: int, *, space_limit: int, total_limit: int
    ) -> bool:
        """See the port; reaching a limit exactly is allowed."""

        async def work(connection: AsyncConnection) -> bool:
            used = await _used(connection, space_id, day)
            total = await _used(connection, _EVERYWHERE, day)
            if (space_limit and used + tokens > space_limit) or (
                total_limit and total + tokens > total_limit
            ):
                return False
            await _count(connection, space_id, day, tokens)
            return True

        return await self._database.write(work)

    async def correct(self, space_id: int, day: str, difference: int) -> None:
        """Adds to the day's counters (a negative difference gives back); they never fall below 0."""
        await self._database.write(lambda connection: _count(connection, space_id, day, difference))

    async def used(self, space_id: int, day: str) -> int:
        """Tokens of this space; of all spaces together for space 0."""
        return await self._database.read(lambda connection: _used(connection, space_id, day))

    async def value(self, key: str) -> str | None:
        """The stored text, or None."""
        which = sa.select(stored_values.c.value).where(stored_values.c.key == key)

        async def work(connection: AsyncConnection) -> str | None:
            found: str | None = (await connection.execute(which)).scalar()
            return found

        return await self._database.read(work)

    async def set_value(self, key: str, value: str) -> None:
        """Replaces what stood there."""
        insert = upsert(stored_values).values(key=key, value=value)
        await self._execute(insert.on_conflict_do_update(index_elements=["key"], set_={"value": value}))

    async def _execute(self, statement: sa.Executable) -> None:
        async def work(connection: AsyncConnection) -> None:
            await connection.execute(statement)

        await self._database.write(work)


async def _used(connection: AsyncConnection, space_id: int, day: str) -> int:
    which = sa.select(usage.c.tokens).where(usage.c.space_id == space_id, usage.c.day == day)
    return int((await connection.execute(which)).scalar() or 0)


async def _count(connection: AsyncConnection, space_id: int, day: str, tokens: int) -> None:
    insert = upsert(usage)
    raised = insert.on_conflict_do_update(
        index_elements=["space_id", "day"],
        set_={"tokens": sa.func.max(0, usage.c.tokens + sa.bindparam("difference", type_=sa.BigInteger))},
    )
    await connection.execute(
        raised,
        [
            {"space_id": space, "day": day, "tokens": max(0, tokens), "difference": tokens}
            for space in (space_id, _EVERYWHERE)
        ],
    )
