"""The store behind the privacy commands: one member, channel or guild, in every table."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.engine import Connection

from bot.adapters.sql_store import erasing
from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.member_export import export_member
from bot.adapters.sql_store.member_rows import MemberRows, rows_of
from bot.adapters.sql_store.spending_tables import usage_shares
from bot.adapters.sql_store.tables import (
    aliases,
    counters,
    memories,
    memory_owners,
    metadata,
    personas,
    places,
    turns,
)
from bot.adapters.sql_store.trust_tables import moderator_actions
from bot.core.privacy import Erased, Export, Owned

_APPLIED = "privacy"


class SqlPrivacy:
    """Fulfils `bot.core.privacy.PrivacyStore`."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def owned(self, member_id: int) -> Owned:
        """See the port."""

        def work(connection: Connection) -> Owned:
            return _counted(connection, rows_of(connection, member_id))

        return await self._database.read(work, snapshot=True)

    async def erase(
        self, member_id: int, *, number: int, space_id: int = 0, unremembered: bool = False
    ) -> Erased:
        """See the port."""
        now = self._database.now()

        def work(connection: Connection) -> Erased:
            found = rows_of(connection, member_id, space_id)
            if unremembered:
                answers = sa.select(turns.c.id).where(turns.c.unremembered)
                found.reply_ids.update(connection.execute(answers).scalars())
            erased = erasing.erase_rows(connection, member_id, found, now)
            _set_applied(connection, number)
            return erased

        return await self._database.write(work)

    async def erase_space(self, space_id: int, *, number: int) -> Erased:
        """See the port."""

        def work(connection: Connection) -> Erased:
            inside = sa.select(places.c.id).where(places.c.space_id == space_id)
            place_ids = tuple(connection.execute(inside).scalars())
            count = sa.select(sa.func.count()).where(turns.c.space_id == space_id)
            said = int(connection.execute(count).scalar_one())
            erasing.drop_space(connection, space_id)
            _set_applied(connection, number)
            return Erased(turns=said, dropped_spaces=(space_id,), dropped_places=place_ids)

        return await self._database.write(work)

    async def erase_place(self, place_id: int) -> Erased:
        """See the port."""
        now = self._database.now()
        return await self._database.write(lambda connection: erasing.drop_place(connection, place_id, now))

    async def erase_before(self, space_id: int, moment: datetime) -> Erased:
        """See the port. Pinned notes and personas' pasts stay: moderators wrote them."""
        now = self._database.now()
        return await self._database.write(
            lambda connection: erasing.drop_before(connection, space_id, moment, now)
        )

    async def count_before(self, space_id: int, moment: datetime) -> int:
        """See the port."""
        return await self._database.read(
            lambda connection: erasing.count_before(connection, space_id, moment), snapshot=True
        )

    async def applied(self) -> int:
        """See the port; 0 for a database that never followed one."""
        which = sa.select(counters.c.number).where(counters.c.name == _APPLIED)

        def work(connection: Connection) -> int:
            return int(connection.execute(which).scalar() or 0)

        return await self._database.read(work)

    async def set_applied(self, number: int) -> None:
        """See the port."""
        await self._database.write(lambda connection: _set_applied(connection, number))

    async def known_members(self) -> list[int]:
        """See the port. Ascending."""
        columns = (
            turns.c.owner_id,
            aliases.c.owner_id,
            memory_owners.c.owner_id,
            personas.c.created_by,
            moderator_actions.c.actor_id,
            usage_shares.c.member_id,
        )
        return await self._distinct(columns)

    async def known_spaces(self) -> list[int]:
        """See the port. Ascending."""
        return await self._distinct(
            [table.c.space_id for table in metadata.sorted_tables if "space_id" in table.c]
        )

    async def export(self, member_id: int) -> Export:
        """See the port."""

        def work(connection: Connection) -> Export:
            return export_member(connection, member_id, rows_of(connection, member_id))

        return await self._database.read(work, snapshot=True)

    async def _distinct(self, columns: Collection[sa.Column[int]]) -> list[int]:
        which = sa.union(*(sa.select(column.label("id")).where(column != 0) for column in columns))

        def work(connection: Connection) -> list[int]:
            return sorted(connection.execute(which).scalars())

        return await self._database.read(work)


def _set_applied(connection: Connection, number: int) -> None:
    if number <= 0:
        return
    insert = upsert(counters).values(name=_APPLIED, number=number)
    newer = sa.func.max(counters.c.number, number)
    connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_={"number": newer}))


def _counted(connection: Connection, found: MemberRows) -> Owned:
    own = 0
    for some in portions(found.turn_ids):
        living = sa.select(sa.func.count()).where(turns.c.id.in_(some), turns.c.deleted_at.is_(None))
        own += int(connection.execute(living).scalar_one())
    learned = 0
    for some in portions(found.memory_ids):
        made = sa.select(sa.func.count()).where(memories.c.id.in_(some), memories.c.turn_id.is_(None))
        learned += int(connection.execute(made).scalar_one())
    return Owned(
        turns=own,
        replies=len(found.reply_ids),
        aliases=len(found.alias_scenes),
        memories=learned,
        notes=len(found.line_ids),
        samples=len(found.sample_ids),
        personas=len(found.made_personas),
        usage=found.usage_rows,
        space_ids=tuple(sorted(found.spaces | found.direct)),
        newest=found.newest,
    )
