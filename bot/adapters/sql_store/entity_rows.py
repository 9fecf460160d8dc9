"""Entities as rows: found or made for new facts, gone with the last fact about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.knowledge_tables import entities, memory_subjects
from bot.adapters.sql_store.tables import memories
from bot.core.knowledge import Entity, EntityKind, FactDraft
from bot.core.names import fold
from bot.core.types import Memory, MemoryDraft

_KEY = ["story_id", "owner_id", "persona_id", "folded_name"]


def link_facts(connection: Connection, drafts: Sequence[MemoryDraft], stored: Sequence[Memory]) -> None:
    """Tells what new facts are about, and marks the older facts that they replace."""
    for draft, memory in zip(drafts, stored, strict=True):
        if not isinstance(draft, FactDraft):
            continue
        if draft.entity is not None:
            entity_id = ensure_entity(connection, memory.story_id, draft.entity)
            row = {"memory_id": memory.id, "entity_id": entity_id}
            connection.execute(sa.insert(memory_subjects).values(row))
        if draft.replaces:
            older = sa.and_(
                memories.c.id.in_(draft.replaces),
                memories.c.id < memory.id,
                memories.c.story_id == memory.story_id,
                memories.c.kind == memory.kind.value,
                memories.c.superseded_by.is_(None),
            )
            connection.execute(sa.update(memories).where(older).values(superseded_by=memory.id))


def ensure_entity(connection: Connection, story_id: int, entity: Entity) -> int:
    """The id of the entity in this story, made when new; it goes by the newest spelling of its name."""
    values = {
        "story_id": story_id,
        "kind": entity.kind.value,
        "owner_id": entity.owner_id,
        "persona_id": entity.persona_id,
        "folded_name": "" if entity.persona_id else fold(entity.name),
        "name": entity.name,
    }
    insert = upsert(entities).values(values)
    put = insert.on_conflict_do_update(index_elements=_KEY, set_={"name": entity.name})
    return int(connection.execute(put.returning(entities.c.id)).scalar_one())


def select_entities(connection: Connection, which: sa.ColumnElement[bool]) -> list[Entity]:
    """Ascending by id."""
    rows = connection.execute(sa.select(entities).where(which).order_by(entities.c.id))
    return [entity_of(row) for row in rows]


def entity_of(row: sa.Row[Any]) -> Entity:
    """An entity from a row of its table."""
    return Entity(EntityKind(row.kind), row.name, row.owner_id, row.persona_id, row.id)


def entities_of(connection: Connection, memory_ids: Collection[int]) -> Mapping[int, Entity]:
    """Memory id to whom it is about; memories about nobody are left out."""
    found: dict[int, Entity] = {}
    for some in portions(memory_ids):
        which = (
            sa.select(memory_subjects.c.memory_id, entities)
            .join(entities, entities.c.id == memory_subjects.c.entity_id)
            .where(memory_subjects.c.memory_id.in_(some))
        )
        found.update({row.memory_id: entity_of(row) for row in connection.execute(which)})
    return found


def reinstate(connection: Connection, memory_ids: Collection[int]) -> None:
    """Before memories go: what they replaced is replaced by their own successors, or stands again."""
    for some in portions(memory_ids):
        pointed = sa.select(memories.c.superseded_by).where(memories.c.superseded_by.in_(some))
        going = sorted(set(connection.execute(pointed).scalars()))
        for memory_id in going:  # ascending: a successor is always the newer one
            after = sa.select(memories.c.superseded_by).where(memories.c.id == memory_id).scalar_subquery()
            older = memories.c.superseded_by == memory_id
            connection.execute(sa.update(memories).where(older).values(superseded_by=after))


def drop_lonely(connection: Connection, entity_ids: Collection[int]) -> None:
    """Removes those of these entities that no fact is about any more."""
    for some in portions(entity_ids):
        told = sa.exists().where(memory_subjects.c.entity_id == entities.c.id)
        connection.execute(sa.delete(entities).where(entities.c.id.in_(some), ~told))
