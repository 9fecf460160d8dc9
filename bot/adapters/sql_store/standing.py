"""What stands in every prompt of a story: what is pinned, and the standing instructions of its scenes."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.knowledge_tables import PINNED
from bot.adapters.sql_store.memory_rows import SELECT_MEMORIES, select_memories
from bot.adapters.sql_store.tables import (
    audience_members,
    line_sources,
    memories,
    scenes,
    scratchpad_lines,
    scratchpad_revisions,
    turns,
)
from bot.core.knowledge import Always, Wish
from bot.core.scratchpad import STANDING


def select_always(connection: Connection, story_id: int, persona_id: int | None) -> Always:
    """See `KnowledgeStore.always`. Call it in a snapshot."""
    pinned = sa.and_(memories.c.story_id == story_id, PINNED)
    if persona_id is not None:
        pinned = sa.and_(pinned, memories.c.audience_id.in_(_witnessed(persona_id)))
    pins = select_memories(connection, SELECT_MEMORIES.where(pinned).order_by(memories.c.id))
    return Always(tuple(pins), _wishes(connection, story_id, persona_id))


def _witnessed(persona_id: int) -> sa.Select[tuple[int]]:
    return sa.select(audience_members.c.audience_id).where(audience_members.c.persona_id == persona_id)


def _wishes(connection: Connection, story_id: int, persona_id: int | None) -> tuple[Wish, ...]:
    newest = (
        sa.select(sa.func.max(scratchpad_revisions.c.id))
        .join(scenes, scenes.c.id == scratchpad_revisions.c.scene_id)
        .where(scenes.c.story_id == story_id)
        .group_by(scratchpad_revisions.c.scene_id)
    )
    which = (
        sa.select(scratchpad_lines.c.id, scratchpad_revisions.c.scene_id, scratchpad_lines.c.text)
        .join(scratchpad_revisions, scratchpad_revisions.c.id == scratchpad_lines.c.revision_id)
        .where(scratchpad_lines.c.revision_id.in_(newest), scratchpad_lines.c.section == STANDING)
        .order_by(scratchpad_revisions.c.scene_id, scratchpad_lines.c.position)
    )
    if persona_id is not None:
        unheard = (
            sa.select(line_sources.c.turn_id)
            .join(turns, turns.c.id == line_sources.c.turn_id)
            .where(
                line_sources.c.line_id == scratchpad_lines.c.id,
                turns.c.audience_id.not_in(_witnessed(persona_id)),
            )
        )
        which = which.where(~sa.exists(unheard))
    return tuple(Wish(*row) for row in connection.execute(which))
