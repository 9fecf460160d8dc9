"""The store of explanations: the newest of each place, gone with their turns."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.knowledge_tables import explanations
from bot.adapters.sql_store.tables import turns
from bot.adapters.sql_store.turn_rows import LIVING
from bot.core.explanations import KEPT, Asides, Explanation

_COUNTED = 1000
"""More turns need no counting: no setting asks for a longer wait."""


class SqlExplanations:
    """Fulfils `bot.core.explanations.ExplanationStore`."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def keep(self, explanation: Explanation) -> None:
        """See the port."""
        living = sa.select(turns.c.id).where(turns.c.id == explanation.turn_id, LIVING)
        values = {
            "turn_id": explanation.turn_id,
            "place_id": explanation.place_id,
            "scene_id": explanation.scene_id,
            "aside_id": explanation.aside_id,
            "created_at": explanation.created_at,
            "body": dict(explanation.body),
        }
        here = explanations.c.place_id == explanation.place_id
        newest = sa.select(explanations.c.turn_id).where(here).order_by(explanations.c.turn_id.desc())
        first_old = newest.offset(KEPT).limit(1).scalar_subquery()

        def work(connection: Connection) -> None:
            if connection.execute(living).scalar() is None:
                return
            connection.execute(sa.delete(explanations).where(explanations.c.turn_id == explanation.turn_id))
            connection.execute(sa.insert(explanations).values(values))
            connection.execute(sa.delete(explanations).where(here, explanations.c.turn_id <= first_old))

        await self._database.write(work)

    async def of_turn(self, turn_id: int) -> Explanation | None:
        """See the port."""
        return await self._one(sa.select(explanations).where(explanations.c.turn_id == turn_id))

    async def latest(self, scene_id: int, *, persona_id: int) -> Explanation | None:
        """See the port."""
        which = (
            sa.select(explanations)
            .join(turns, turns.c.id == explanations.c.turn_id)
            .where(explanations.c.scene_id == scene_id, turns.c.persona_id == persona_id)
            .order_by(explanations.c.turn_id.desc())
            .limit(1)
        )
        return await self._one(which)

    async def asides(self, scene_id: int, *, cooldown: int) -> Asides:
        """See the port."""
        here = sa.and_(turns.c.scene_id == scene_id, LIVING)
        told = sa.and_(explanations.c.scene_id == scene_id, explanations.c.aside_id.is_not(None))
        last = sa.select(sa.func.max(explanations.c.turn_id)).where(told)
        edge = sa.select(turns.c.id).where(here).order_by(turns.c.id.desc()).offset(cooldown).limit(1)

        def work(connection: Connection) -> Asides:
            some = sa.select(turns.c.id).where(here).limit(_COUNTED).subquery()
            counted = sa.select(sa.func.count()).select_from(some)
            count = int(connection.execute(counted).scalar_one())
            newest = connection.execute(last).scalar()
            if newest is None:
                return Asides(turns=count)
            after = sa.select(sa.func.count()).where(here, turns.c.id > newest)
            since = int(connection.execute(after).scalar_one())
            oldest = connection.execute(edge).scalar() or 0
            resting = sa.select(explanations.c.aside_id).where(told, explanations.c.turn_id > oldest)
            found = connection.execute(resting).scalars()
            return Asides(since, frozenset(found), count)

        return await self._database.read(work, snapshot=True)

    async def _one(self, which: sa.Select[Any]) -> Explanation | None:
        def work(connection: Connection) -> Explanation | None:
            row = connection.execute(which).first()
            return None if row is None else _explanation(row)

        return await self._database.read(work)


def _explanation(row: Row[Any]) -> Explanation:
    return Explanation(row.turn_id, row.place_id, row.scene_id, row.created_at, row.body, row.aside_id)
