"""The store of what moderators did."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.trust_tables import moderator_actions
from bot.core.redaction import Names
from bot.core.trust import DETAIL_LIMIT, ModeratorAction


class SqlAudit:
    """Fulfils `bot.core.trust.AuditStore`."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def add(self, action: ModeratorAction) -> ModeratorAction:
        """See the port."""
        insert = sa.insert(moderator_actions).values(
            space_id=action.space_id,
            place_id=action.place_id,
            actor_id=action.actor_id,
            created_at=self._database.now(),
            action=action.action,
            detail=action.detail[:DETAIL_LIMIT],
        )

        def work(connection: Connection) -> ModeratorAction:
            row = connection.execute(insert.returning(moderator_actions)).one()
            return ModeratorAction(**row._mapping)

        return await self._database.write(work)

    async def newest(self, space_id: int, limit: int, before_id: int = 0) -> list[ModeratorAction]:
        """See the port."""
        which = sa.select(moderator_actions).where(moderator_actions.c.space_id == space_id)
        if before_id:
            which = which.where(moderator_actions.c.id < before_id)
        which = which.order_by(moderator_actions.c.id.desc()).limit(limit)

        def work(connection: Connection) -> list[ModeratorAction]:
            return [ModeratorAction(**row._mapping) for row in connection.execute(which)]

        return await self._database.read(work)


def unname_actions(connection: Connection, by_space: Mapping[int, Names]) -> None:
    """Takes these names out of what is told of moderators' actions."""
    for space_id, names in by_space.items():
        which = sa.select(moderator_actions.c.id, moderator_actions.c.detail)
        rows = connection.execute(which.where(moderator_actions.c.space_id == space_id))
        for action_id, detail in rows.all():
            if names and (plain := names.out_of(detail)) != detail:
                change = sa.update(moderator_actions).where(moderator_actions.c.id == action_id)
                connection.execute(change.values(detail=plain))
