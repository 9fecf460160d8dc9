"""Tables of what was learnt from turns: further keys of memories, and whom or what facts are about."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Column, ForeignKey, Index, Table, UniqueConstraint

from bot.adapters.sql_store.columns import BigKey, UtcDateTime
from bot.adapters.sql_store.tables import memories, metadata, turns


def _parent(name: str, target: str, *, key: bool = False) -> Column[int]:
    return Column(name, BigKey, ForeignKey(target, ondelete="CASCADE"), primary_key=key, nullable=False)


# "Bring this back when …": each leads to one memory and goes with any of the turns it was made from.
triggers = Table(
    "triggers",
    metadata,
    Column("id", BigKey, primary_key=True),
    _parent("memory_id", "memories.id"),
    Column("text", sa.Text, nullable=False),
    Index(None, "memory_id"),
    sqlite_autoincrement=True,
)
trigger_sources = Table(
    "trigger_sources",
    metadata,
    _parent("trigger_id", "triggers.id", key=True),
    _parent("turn_id", "turns.id", key=True),
    Index(None, "turn_id"),
)

# Whom or what facts of a story are about. A member is known by owner and alias, a persona by its id alone
# (no name then), everything else by its name.
entities = Table(
    "entities",
    metadata,
    Column("id", BigKey, primary_key=True),
    _parent("story_id", "stories.id"),
    Column("kind", sa.Text, nullable=False),
    Column("owner_id", sa.BigInteger, nullable=False),
    Column("persona_id", sa.BigInteger, nullable=False),
    Column("folded_name", sa.Text, nullable=False),
    Column("name", sa.Text, nullable=False),
    UniqueConstraint("story_id", "owner_id", "persona_id", "folded_name"),
    Index(None, "owner_id"),
    sqlite_autoincrement=True,
)
memory_subjects = Table(
    "memory_subjects",
    metadata,
    _parent("memory_id", "memories.id", key=True),
    _parent("entity_id", "entities.id"),
    Index(None, "entity_id"),
)

# Numbers behind the newest replies of each place: no words, so that nothing that is forgotten stays here.
explanations = Table(
    "explanations",
    metadata,
    Column("turn_id", BigKey, ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("place_id", sa.BigInteger, nullable=False),
    Column("scene_id", sa.BigInteger, nullable=False),
    Column("aside_id", sa.BigInteger, nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("body", sa.JSON, nullable=False),
    Index(None, "place_id", "turn_id"),
    Index(None, "scene_id", "turn_id"),
)

# Asked for before every reply. A partial index serves only a query that holds its condition word by word,
# so the queries say these with `PINNED`, `REFLECTION` and `ANSWERED`, not with bound values.
PINNED = memories.c.kind == sa.literal_column("'pinned'")
REFLECTION = memories.c.kind == sa.literal_column("'reflection'")
ANSWERED = turns.c.answered_by > sa.literal_column("0")
Index("ix_memories_pinned", memories.c.story_id, sqlite_where=sa.text("kind = 'pinned'"))
Index("ix_memories_reflections", memories.c.story_id, sqlite_where=sa.text("kind = 'reflection'"))
Index(
    "ix_turns_answered_members",
    turns.c.story_id,
    turns.c.owner_id,
    turns.c.id,
    sqlite_where=sa.text("answered_by > 0"),
)
