"""What an edit or a deletion takes with it, in every revision and every kind of memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.columns import UtcDateTime
from bot.adapters.sql_store.entity_rows import drop_lonely, entities_of, reinstate
from bot.adapters.sql_store.knowledge_tables import explanations
from bot.adapters.sql_store.mood_rows import take_back_feelings
from bot.adapters.sql_store.tables import (
    counters,
    erasures,
    line_sources,
    memories,
    memory_sources,
    outbox,
    scratchpad_lines,
    style_samples,
    turns,
)
from bot.adapters.sql_store.trigger_rows import drop_triggers

_CHANGES = "changes"


@dataclass(frozen=True, slots=True)
class Words:
    """The new text of one turn and when it became so."""

    turn_id: int
    text: str
    edited_at: datetime


def change_number(connection: Connection) -> int:
    """How many times turns were changed so far. What is read now is stale once a turn has a higher number."""
    found = sa.select(counters.c.number).where(counters.c.name == _CHANGES)
    return int(connection.execute(found).scalar() or 0)


def wipe_turns(connection: Connection, turn_ids: Collection[int], now: datetime) -> tuple[int, ...]:
    """Takes text and name from turns and removes all that was made of them; the ids of removed memories."""
    gone: list[int] = []
    number = next_change(connection)
    for some in portions(turn_ids):
        _remove_lines(connection, some)
        gone.extend(_remove_made(connection, some, now, keep_own=False))
        connection.execute(
            sa.update(turns)
            .where(turns.c.id.in_(some))
            .values(text="", speaker="", deleted_at=now, changed=number)
        )
        connection.execute(sa.delete(explanations).where(explanations.c.turn_id.in_(some)))
        closed = sa.func.coalesce(outbox.c.closed_at, sa.literal(now, UtcDateTime()))
        connection.execute(
            sa.update(outbox).where(outbox.c.turn_id.in_(some)).values(text="", closed_at=closed)
        )
    return tuple(sorted(gone))


def reword_turn(connection: Connection, words: Words, now: datetime) -> tuple[int, ...]:
    """Gives a turn other words and removes what was made of the old ones; the ids of memories to be shown
    no more, the turn's own among them until it is encoded again."""
    number = next_change(connection)
    _remove_lines(connection, [words.turn_id])
    changed = _remove_made(connection, [words.turn_id], now, keep_own=True)
    connection.execute(
        sa.update(memories)
        .where(memories.c.turn_id == words.turn_id)
        .values(indexed_by=None, emotion=None, emotion_source=None)
    )
    connection.execute(
        sa.update(turns)
        .where(turns.c.id == words.turn_id)
        .values(text=words.text, edited_at=words.edited_at, changed=number, covered_by=None)
    )
    return tuple(sorted(changed))


def remove_memories(connection: Connection, memory_ids: Collection[int], now: datetime) -> None:
    """Removes memories; one of a turn takes the turn's words and all that was made of them with it."""
    said: list[int] = []
    for some in portions(memory_ids):
        found = connection.execute(
            sa.select(memories.c.id, memories.c.space_id, memories.c.turn_id).where(memories.c.id.in_(some))
        )
        rows = found.all()
        said.extend(row.turn_id for row in rows if row.turn_id is not None)
        _drop(connection, [(row.id, row.space_id) for row in rows if row.turn_id is None], now)
    if said:
        wipe_turns(connection, said, now)


def queue_erasures(connection: Connection, keys: Collection[tuple[int, int]], now: datetime) -> None:
    """(memory id, space id) pairs whose rows must leave the index."""
    if not keys:
        return
    insert = upsert(erasures)
    connection.execute(
        # The bytes of an earlier removal may still wait: `since` keeps the older time.
        insert.on_conflict_do_update(index_elements=["memory_id"], set_={"erased_at": None}),
        [{"memory_id": memory, "space_id": space, "since": now, "erased_at": None} for memory, space in keys],
    )


def next_change(connection: Connection) -> int:
    """The number of a change that begins now, for the turns that it touches."""
    insert = upsert(counters).values(name=_CHANGES, number=1)
    raised = insert.on_conflict_do_update(
        index_elements=["name"], set_={"number": counters.c.number + 1}
    ).returning(counters.c.number)
    return int(connection.execute(raised).scalar_one())


def _remove_lines(connection: Connection, turn_ids: list[int]) -> None:
    """Removes the lines that name these turns."""
    naming = sa.select(line_sources.c.line_id).where(line_sources.c.turn_id.in_(turn_ids))
    drop_lines(connection, set(connection.execute(naming).scalars()))


def drop_lines(connection: Connection, line_ids: Collection[int]) -> None:
    """Removes lines of scratchpads; all turns of those lines wait to be summarised again."""
    for some in portions(line_ids):
        beside = sa.select(line_sources.c.turn_id).where(line_sources.c.line_id.in_(some))
        connection.execute(sa.update(turns).where(turns.c.id.in_(beside)).values(covered_by=None))
        connection.execute(sa.delete(scratchpad_lines).where(scratchpad_lines.c.id.in_(some)))


def _remove_made(connection: Connection, turn_ids: list[int], now: datetime, *, keep_own: bool) -> list[int]:
    """Removes memories and samples made of these turns, and what they did to moods; the turns' own memories
    too, or only their keys."""
    take_back_feelings(connection, turn_ids)
    made = sa.select(memory_sources.c.memory_id).where(memory_sources.c.turn_id.in_(turn_ids))
    found = connection.execute(
        sa.select(memories.c.id, memories.c.space_id, memories.c.turn_id).where(
            sa.or_(memories.c.id.in_(made), memories.c.turn_id.in_(turn_ids))
        )
    )
    rows = found.all()
    kept = [(row.id, row.space_id) for row in rows if keep_own and row.turn_id is not None]
    gone = [(row.id, row.space_id) for row in rows if not (keep_own and row.turn_id is not None)]
    queue_erasures(connection, [*kept, *drop_triggers(connection, turn_ids)], now)
    _drop(connection, gone, now)
    connection.execute(sa.delete(style_samples).where(style_samples.c.turn_id.in_(turn_ids)))
    return [row.id for row in rows]


def _drop(connection: Connection, keys: Collection[tuple[int, int]], now: datetime) -> None:
    ids = [memory for memory, _ in keys]
    about = {entity.id for entity in entities_of(connection, ids).values()}
    reinstate(connection, ids)
    for some in portions(ids):
        connection.execute(sa.delete(memories).where(memories.c.id.in_(some)))
    drop_lonely(connection, about)
    queue_erasures(connection, keys, now)
