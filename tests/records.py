"""What is stored: of a scene as a place reads it when it wakes, and of anything by a statement."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.engine import Connection

from bot.adapters.sql_store import SqlStore
from bot.core.stores import PlaceRecord
from bot.core.types import Turn
from bot.engine.parts import Store

_ALWAYS = datetime(2000, 1, 1, tzinfo=UTC)


async def record_of(
    store: Store, scene_id: int, *, turns: int = 1000, since: datetime = _ALWAYS
) -> PlaceRecord:
    """The record of the place where the scene is played; one that waits is played for the moment."""
    scene = await store.scenes.get(scene_id)
    assert scene is not None
    played = await store.scenes.active(scene.place_id)
    if not scene.active:
        await store.scenes.update(scene_id, active=True)
    record = await store.scenes.record(scene.place_id, turns=turns, since=since)
    if played is not None and played.id != scene_id:
        await store.scenes.update(played.id, active=True)
    assert record is not None
    return record


async def newest_turns(store: Store, scene_id: int, limit: int) -> list[Turn]:
    """The newest living turns, oldest first."""
    return list((await record_of(store, scene_id, turns=limit)).newest)


async def unanswered_turns(store: Store, scene_id: int, since: datetime = _ALWAYS) -> list[Turn]:
    """Members' living turns without an answer."""
    return list((await record_of(store, scene_id, since=since)).unanswered)


async def moods_of(store: Store, scene_id: int) -> Mapping[int, str]:
    """JSON by persona id."""
    return (await record_of(store, scene_id)).moods


async def sql(store: SqlStore, statement: str, parameters: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Run a statement of one's own in a transaction; its rows."""

    def work(connection: Connection) -> list[tuple[Any, ...]]:
        found = connection.exec_driver_sql(statement, parameters)
        return [tuple(row) for row in found] if found.returns_rows else []

    return await store.write(work)
