"""Memories as rows. The words of a turn's memory are the turn's own, joined in when it is read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.audiences import audience_ids, members_key, read_key
from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.entity_rows import link_facts
from bot.adapters.sql_store.tables import audiences, memories, memory_owners, memory_sources, turns
from bot.core.types import NOBODY, Memory, MemoryDraft, MemoryKind

_KINDS = {kind.value: kind for kind in MemoryKind}
# In the order of `Memory`'s fields, for `_memory_of`: a story of 100,000 is read row by row.
SELECT_MEMORIES = sa.select(
    memories.c.kind,
    memories.c.space_id,
    memories.c.place_id,
    memories.c.story_id,
    memories.c.scene_id,
    sa.func.coalesce(memories.c.text, turns.c.text),
    memories.c.created_at,
    audiences.c.members,
    turns.c.owner_id,
    sa.func.coalesce(turns.c.speaker, memories.c.speaker),
    memories.c.subject,
    memories.c.story_time,
    memories.c.importance,
    memories.c.emotion,
    memories.c.emotion_source,
    memories.c.id,
    memories.c.turn_id,
    memories.c.audience_id,
    memories.c.superseded_by,
).select_from(memories.join(audiences).outerjoin(turns, turns.c.id == memories.c.turn_id))


def select_memories(connection: Connection, statement: sa.Select[Any]) -> list[Memory]:
    """The memories of a `SELECT_MEMORIES`, in its order. Call it in a snapshot."""
    rows = connection.execute(statement).all()
    made = [row.id for row in rows if row.turn_id is None]
    sources = _beside(connection, memory_sources, memory_sources.c.turn_id, made)
    owners = _beside(connection, memory_owners, memory_owners.c.owner_id, made)
    return [_memory_of(row, sources, owners) for row in rows]


def memories_by_ids(connection: Connection, memory_ids: Collection[int]) -> list[Memory]:
    """Ascending by id; those that are gone are left out. Call it in a snapshot."""
    found: list[Memory] = []
    for some in portions(memory_ids):
        which = SELECT_MEMORIES.where(memories.c.id.in_(some)).order_by(memories.c.id)
        found.extend(select_memories(connection, which))
    return found


def insert_memories(connection: Connection, drafts: Sequence[MemoryDraft]) -> list[Memory]:
    """Stores memories of all kinds but `turn` (ValueError), with sources and owners; ids grow in order."""
    if any(draft.kind is MemoryKind.TURN for draft in drafts):
        raise ValueError("a turn's memory is made together with its turn")
    if not drafts:
        return []
    audience = audience_ids(connection, [draft.witnesses for draft in drafts])
    rows = [_row(draft, audience[members_key(draft.witnesses)]) for draft in drafts]
    insert = sa.insert(memories).returning(memories.c.id, sort_by_parameter_order=True)
    ids = connection.execute(insert, rows).scalars().all()
    stored = [
        _stored(draft, id_, row["audience_id"]) for draft, id_, row in zip(drafts, ids, rows, strict=True)
    ]
    sources = [{"memory_id": made.id, "turn_id": turn} for made in stored for turn in made.sources]
    if sources:
        connection.execute(sa.insert(memory_sources), sources)
    owners = [{"memory_id": made.id, "owner_id": owner} for made in stored for owner in made.owner_ids]
    if owners:
        connection.execute(sa.insert(memory_owners), owners)
    link_facts(connection, drafts, stored)
    return stored


def _beside(
    connection: Connection, table: sa.Table, value: sa.Column[Any], memory_ids: Collection[int]
) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    for some in portions(memory_ids):
        which = sa.select(table.c.memory_id, value).where(table.c.memory_id.in_(some)).order_by(value)
        for memory_id, other in connection.execute(which):
            found[memory_id] = (*found.get(memory_id, ()), other)
    return found


def _memory_of(
    row: Sequence[Any], sources: dict[int, tuple[int, ...]], owners: dict[int, tuple[int, ...]]
) -> Memory:
    before, (members, owner), after = row[:7], row[7:9], row[9:]
    memory_id, turn_id = after[6:8]
    if turn_id is None:
        said_in, said_by = sources.get(memory_id, ()), owners.get(memory_id, ())
    else:
        said_in, said_by = (turn_id,), () if owner == NOBODY else (owner,)
    fields: list[Any] = [_KINDS[before[0]], *before[1:], read_key(members), said_in, said_by, *after]
    return Memory(*fields)


def _row(draft: MemoryDraft, audience_id: int) -> dict[str, Any]:
    return {
        "kind": draft.kind.value,
        "space_id": draft.space_id,
        "place_id": draft.place_id,
        "story_id": draft.story_id,
        "scene_id": draft.scene_id,
        "audience_id": audience_id,
        "created_at": draft.created_at,
        "importance": draft.importance,
        "emotion": draft.emotion,
        "emotion_source": draft.emotion_source,
        "speaker": draft.speaker,
        "subject": draft.subject,
        "story_time": draft.story_time,
        "text": draft.text,
    }


def _stored(draft: MemoryDraft, memory_id: int, audience_id: int) -> Memory:
    """The memory exactly as it will be read again."""
    return Memory(
        kind=draft.kind,
        space_id=draft.space_id,
        place_id=draft.place_id,
        story_id=draft.story_id,
        scene_id=draft.scene_id,
        text=draft.text,
        created_at=draft.created_at.astimezone(UTC),
        witnesses=tuple(sorted(set(draft.witnesses))),
        sources=tuple(sorted(set(draft.sources))),
        owner_ids=tuple(sorted(set(draft.owner_ids))),
        speaker=draft.speaker,
        subject=draft.subject,
        story_time=draft.story_time,
        importance=draft.importance,
        emotion=draft.emotion,
        emotion_source=draft.emotion_source,
        id=memory_id,
        audience_id=audience_id,
    )
