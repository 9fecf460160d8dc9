"""Triggers as rows: texts that lead to the memory of a turn, and the turns they come from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.knowledge_tables import trigger_sources, triggers
from bot.adapters.sql_store.tables import memories
from bot.core.types import Trigger

MOST_OF_A_MEMORY: Final = 8
"""The newest triggers of a memory stay; each costs a row of the index."""


def insert_triggers(connection: Connection, made: Sequence[Trigger]) -> None:
    """Stores each trigger at the memories of its turns, which wait to be indexed again."""
    memory_of = _memories_of(connection, {turn for trigger in made for turn in trigger.sources})
    wanted = [
        (trigger, memory_of[turn])
        for trigger in made
        for turn in dict.fromkeys(trigger.sources)
        if turn in memory_of
    ]
    if not wanted:
        return
    insert = sa.insert(triggers).returning(triggers.c.id, sort_by_parameter_order=True)
    rows = [{"memory_id": memory_id, "text": trigger.text} for trigger, memory_id in wanted]
    ids = connection.execute(insert, rows).scalars().all()
    sources = [
        {"trigger_id": trigger_id, "turn_id": turn}
        for trigger_id, (trigger, _) in zip(ids, wanted, strict=True)
        for turn in dict.fromkeys(trigger.sources)
    ]
    connection.execute(sa.insert(trigger_sources), sources)
    _wait(connection, {memory_id for _, memory_id in wanted})


def select_triggers(connection: Connection, memory_ids: Collection[int]) -> dict[int, tuple[str, ...]]:
    """Memory id to the texts of its newest triggers, oldest first; memories without any are left out."""
    found: dict[int, tuple[str, ...]] = {}
    for some in portions(memory_ids):
        which = (
            sa.select(triggers.c.memory_id, triggers.c.text)
            .where(triggers.c.memory_id.in_(some))
            .order_by(triggers.c.id)
        )
        for memory_id, text in connection.execute(which):
            found[memory_id] = (*found.get(memory_id, ()), text)[-MOST_OF_A_MEMORY:]
    return found


def drop_triggers(connection: Connection, turn_ids: Collection[int]) -> list[tuple[int, int]]:
    """Removes the triggers made from these turns; (memory id, space id) of the memories that had them,
    which wait to be indexed again once their keys are erased."""
    keys: dict[int, int] = {}
    for some in portions(turn_ids):
        naming = sa.select(trigger_sources.c.trigger_id).where(trigger_sources.c.turn_id.in_(some))
        had = (
            sa.select(memories.c.id, memories.c.space_id)
            .join(triggers, triggers.c.memory_id == memories.c.id)
            .where(triggers.c.id.in_(naming))
        )
        keys.update((memory, space) for memory, space in connection.execute(had))
        connection.execute(sa.delete(triggers).where(triggers.c.id.in_(naming)))
    _wait(connection, keys)
    return sorted(keys.items())


def _memories_of(connection: Connection, turn_ids: Collection[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for some in portions(turn_ids):
        which = sa.select(memories.c.turn_id, memories.c.id).where(memories.c.turn_id.in_(some))
        found.update((turn, memory) for turn, memory in connection.execute(which))
    return found


def _wait(connection: Connection, memory_ids: Collection[int]) -> None:
    for some in portions(memory_ids):
        connection.execute(sa.update(memories).where(memories.c.id.in_(some)).values(indexed_by=None))
