"""Scenes, casts and aliases as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from bot.adapters.sql_store.tables import aliases, cast_members, places, scenes, stories
from bot.core.names import fold
from bot.core.types import Alias, LiveScene, Place, Scene
from bot.errors import StorageError

Condition = sa.ColumnElement[bool]
_COLUMNS = tuple(scenes.c.keys())
_ALIASES = sa.select(aliases).join_from(aliases, scenes).order_by(aliases.c.name)
_ALIASES_OF = _ALIASES.where(aliases.c.scene_id == sa.bindparam("scene_id"))


def select_scenes(connection: Connection, which: Condition) -> list[Scene]:
    """Scenes with their casts, newest first."""
    rows = connection.execute(sa.select(scenes).where(which).order_by(scenes.c.id.desc())).all()
    joined = connection.execute(
        sa.select(cast_members.c.scene_id, cast_members.c.persona_id)
        .join_from(cast_members, scenes)
        .where(which)
        .order_by(cast_members.c.position)
    )
    cast: dict[int, list[int]] = {}
    for scene_id, persona_id in joined:
        cast.setdefault(scene_id, []).append(persona_id)
    return [scene_of(row, tuple(cast.get(row.id, ()))) for row in rows]


def scene_of(row: Row[Any], cast: tuple[int, ...]) -> Scene:
    """A row of the table as a scene."""
    return Scene(**{name: row._mapping[name] for name in _COLUMNS}, cast=cast)


def scene_by_id(connection: Connection, scene_id: int) -> Scene:
    """The scene; StorageError when there is none of this id."""
    found = select_scenes(connection, scenes.c.id == scene_id)
    if not found:
        raise StorageError(f"Scene {scene_id} is not in the database.")
    return found[0]


def aliases_of(connection: Connection, scene_id: int) -> list[Alias]:
    """Those of a scene, by name."""
    return [Alias(**row._mapping) for row in connection.execute(_ALIASES_OF, {"scene_id": scene_id})]


def select_live(connection: Connection) -> list[tuple[Place, LiveScene]]:
    """Every place with an active scene."""
    active = select_scenes(connection, scenes.c.active)
    named: dict[int, dict[int, Alias]] = {}
    for row in connection.execute(_ALIASES.where(scenes.c.active)):
        named.setdefault(row.scene_id, {})[row.owner_id] = Alias(**row._mapping)
    rows = connection.execute(sa.select(places).join_from(places, scenes).where(scenes.c.active))
    where = {row.id: Place(row.id, row.guild_id, row.name, row.parent_id) for row in rows}
    return [(where[scene.place_id], LiveScene(scene, named.get(scene.id, {}))) for scene in active]


def write_place(connection: Connection, place: Place) -> None:
    """Stores the place, or its present name and parent."""
    facts = {"name": place.name, "guild_id": place.guild_id, "parent_id": place.parent_id}
    known = connection.execute(sa.update(places).where(places.c.id == place.id).values(**facts))
    if known.rowcount == 0:
        connection.execute(sa.insert(places).values(id=place.id, space_id=place.space_id, **facts))


def read_from(connection: Connection, place_id: int, message_id: int) -> None:
    """Raises `seen_until`; it never goes back."""
    connection.execute(
        sa.update(places)
        .where(places.c.id == place_id, places.c.seen_until < message_id)
        .values(seen_until=message_id)
    )


def story_for(connection: Connection, place_id: int, name: str | None, default: str) -> int:
    """The id of the place's story of this name, made when new; without a name its latest, or `default`."""
    here = (
        sa.select(stories.c.id).where(stories.c.place_id == place_id).order_by(stories.c.id.desc()).limit(1)
    )
    if name is not None:
        here = here.where(stories.c.folded_name == fold(name))
    found = connection.execute(here).scalar()
    if found is not None:
        return int(found)
    title = default if name is None else name
    insert = sa.insert(stories).values(place_id=place_id, name=title, folded_name=fold(title))
    return int(connection.execute(insert.returning(stories.c.id)).scalar_one())


def make_active(connection: Connection, scene: Scene) -> None:
    """This scene and no other of its place."""
    others = sa.and_(scenes.c.place_id == scene.place_id, scenes.c.active, scenes.c.id != scene.id)
    connection.execute(sa.update(scenes).where(others).values(active=False))
    connection.execute(sa.update(scenes).where(scenes.c.id == scene.id).values(active=True))


def join_cast(connection: Connection, scene_id: int, persona_ids: Sequence[int]) -> None:
    """Adds personas behind the others; those already there keep their place."""
    scene = scene_by_id(connection, scene_id)
    last = sa.select(sa.func.coalesce(sa.func.max(cast_members.c.position), 0)).where(
        cast_members.c.scene_id == scene_id
    )
    position = int(connection.execute(last).scalar_one())
    new = [persona for persona in persona_ids if persona not in scene.cast]
    rows = [
        {"scene_id": scene_id, "persona_id": persona, "position": position + behind}
        for behind, persona in enumerate(new, start=1)
    ]
    if rows:
        connection.execute(sa.insert(cast_members), rows)
