"""Where the memories of a persona's past live: a hidden place of its own, with one story and one scene."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.forgetting import queue_erasures
from bot.adapters.sql_store.tables import memories, places, scenes, stories
from bot.core.names import fold
from bot.core.past_store import Past
from bot.core.types import Persona

_NAME = "past"


class SqlPasts:
    """Fulfils `bot.core.past_store.PastStore`."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def find(self, persona_id: int) -> Past | None:
        """See the port."""
        return await self._database.read(lambda connection: _found(connection, persona_id))

    async def open(self, persona: Persona) -> Past:
        """See the port."""
        now = self._database.now()

        def work(connection: Connection) -> Past:
            return _found(connection, persona.id) or _made(connection, persona, now)

        return await self._database.write(work)


def drop_past(connection: Connection, persona_id: int, now: datetime) -> None:
    """Removes a persona's past, with its keys."""
    place_id = _place_id(persona_id)
    which = sa.select(memories.c.id, memories.c.space_id).where(memories.c.place_id == place_id)
    keys = [(row.id, row.space_id) for row in connection.execute(which)]
    connection.execute(sa.delete(places).where(places.c.id == place_id))
    queue_erasures(connection, keys, now)


def _place_id(persona_id: int) -> int:
    """No place on Discord has a negative id."""
    return -persona_id


def _found(connection: Connection, persona_id: int) -> Past | None:
    which = sa.select(scenes.c.id, scenes.c.story_id, scenes.c.space_id, scenes.c.place_id)
    row = connection.execute(which.where(scenes.c.place_id == _place_id(persona_id))).first()
    return None if row is None else Past(persona_id, row.space_id, row.place_id, row.story_id, row.id)


def _made(connection: Connection, persona: Persona, now: datetime) -> Past:
    place_id = _place_id(persona.id)
    connection.execute(
        sa.insert(places).values(
            id=place_id, guild_id=persona.space_id, space_id=persona.space_id, seen_until=0, name=_NAME
        )
    )
    story = sa.insert(stories).values(place_id=place_id, name=_NAME, folded_name=fold(_NAME))
    story_id = int(connection.execute(story.returning(stories.c.id)).scalar_one())
    scene = sa.insert(scenes).values(
        space_id=persona.space_id,
        place_id=place_id,
        story_id=story_id,
        active=False,
        paused=False,
        started_at=now,
        name=_NAME,
    )
    scene_id = int(connection.execute(scene.returning(scenes.c.id)).scalar_one())
    return Past(persona.id, persona.space_id, place_id, story_id, scene_id)
