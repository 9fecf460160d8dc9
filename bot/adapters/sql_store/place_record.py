"""All that is stored of the scene that a place plays, read at one moment.

It is read whenever a place wakes, so its statements are built once, and the few that stand alone are one.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.audiences import read_key
from bot.adapters.sql_store.personas import persona_of
from bot.adapters.sql_store.scene_rows import aliases_of, scene_of
from bot.adapters.sql_store.scratchpads import newest_scratchpad
from bot.adapters.sql_store.tables import (
    audiences,
    cast_members,
    line_sources,
    memories,
    moods,
    personas,
    scenes,
    scratchpad_lines,
    turns,
)
from bot.adapters.sql_store.turn_rows import LIVING, SELECT_TURNS, UNCOVERED, speakers_of, turn_of
from bot.core.stores import LONG_STORY, PlaceRecord

_SCENE: Final = sa.bindparam("scene_id", type_=scenes.c.id.type)
_FIRST_BEYOND: Final = (
    sa.select(memories.c.id).where(memories.c.story_id == scenes.c.story_id).limit(1).offset(LONG_STORY)
)
_ACTIVE: Final = sa.select(
    scenes,
    sa.select(sa.func.count())
    .where(turns.c.scene_id == scenes.c.id, UNCOVERED)
    .scalar_subquery()
    .label("uncovered"),
    sa.exists(_FIRST_BEYOND).label("is_long"),
).where(scenes.c.place_id == sa.bindparam("place_id"), scenes.c.active)
_CAST: Final = (
    sa.select(personas)
    .join_from(cast_members, personas)
    .where(cast_members.c.scene_id == _SCENE)
    .order_by(cast_members.c.position)
)
_MOODS: Final = sa.select(moods.c.persona_id, moods.c.mood).where(moods.c.scene_id == _SCENE)
_WITNESSES: Final = (
    sa.select(line_sources.c.turn_id, audiences.c.members)
    .join_from(scratchpad_lines, line_sources)
    .join(turns, turns.c.id == line_sources.c.turn_id)
    .join(audiences, audiences.c.id == turns.c.audience_id)
    .where(scratchpad_lines.c.revision_id == sa.bindparam("revision_id"))
)
_NEWEST: Final = (
    SELECT_TURNS.where(turns.c.scene_id == _SCENE, LIVING)
    .order_by(turns.c.id.desc())
    .limit(sa.bindparam("most"))
)
_OPEN: Final = sa.and_(
    turns.c.created_at > sa.bindparam("since", type_=turns.c.created_at.type),
    turns.c.answered_by.is_(None),
    turns.c.persona_id.is_(None),
    turns.c.owner_id != 0,
    LIVING,
)
"""Members' turns without an answer; those that addressed nobody are among them."""
_UNANSWERED: Final = SELECT_TURNS.where(turns.c.scene_id == _SCENE, _OPEN).order_by(turns.c.id)
_OWING: Final = (
    sa.select(scenes.c.place_id)
    .where(scenes.c.active, ~scenes.c.paused, sa.exists().where(turns.c.scene_id == scenes.c.id, _OPEN))
    .order_by(scenes.c.place_id)
)


def read_place(connection: Connection, place_id: int, *, most: int, since: datetime) -> PlaceRecord | None:
    """What `SceneStore.record` promises. Call it in a snapshot."""
    row = connection.execute(_ACTIVE, {"place_id": place_id}).first()
    if row is None:
        return None
    scene = {"scene_id": row.id}
    cast = connection.execute(_CAST, scene).all()
    felt = connection.execute(_MOODS, scene)
    newest = connection.execute(_NEWEST, {**scene, "most": most}).all()
    unanswered = connection.execute(_UNANSWERED, {**scene, "since": since})
    scratchpad = newest_scratchpad(connection, row.id)
    witnesses = connection.execute(_WITNESSES, {"revision_id": scratchpad.revision_id})
    return PlaceRecord(
        scene=scene_of(row, tuple(one.id for one in cast)),
        personas=tuple(persona_of(one) for one in cast),
        aliases=tuple(aliases_of(connection, row.id)),
        scratchpad=scratchpad,
        witnesses={turn_id: frozenset(read_key(members)) for turn_id, members in witnesses},
        moods={one.persona_id: one.mood for one in felt},
        speakers=tuple(speakers_of(connection, row.id)),
        newest=tuple(turn_of(one) for one in reversed(newest)),
        unanswered=tuple(turn_of(one) for one in unanswered),
        uncovered=row.uncovered,
        is_long=row.is_long,
    )


def select_owing(connection: Connection, since: datetime) -> list[int]:
    """The places where `read_place` would find unanswered turns, unless they pause."""
    return list(connection.execute(_OWING, {"since": since}).scalars())
