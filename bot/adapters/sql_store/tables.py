"""Every table of Troupe, as SQLAlchemy sees it. `bot/migrations` builds the same, step by step."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Table, UniqueConstraint, text
from sqlalchemy.types import TypeEngine

from bot.adapters.sql_store.columns import BigKey, EmotionBlob, UtcDateTime

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _key() -> Column[int]:
    return Column("id", BigKey, primary_key=True)


def _number(name: str, **options: object) -> Column[int]:
    return Column(name, sa.BigInteger, nullable=False, **options)  # type: ignore[arg-type]


def _maybe(name: str, kind: type[TypeEngine[Any]]) -> Column[Any]:
    return Column(name, kind, nullable=True)


def _string(name: str) -> Column[str]:
    return Column(name, sa.Text, nullable=False, server_default="")


def _flag(name: str) -> Column[bool]:
    return Column(name, sa.Boolean(create_constraint=False), nullable=False, server_default=sa.false())


def _time(name: str) -> Column[object]:
    return Column(name, UtcDateTime, nullable=False)


def _parent(name: str, target: str, *, key: bool = False, optional: bool = False) -> Column[int]:
    return Column(
        name, BigKey, ForeignKey(target, ondelete="CASCADE"), primary_key=key, nullable=optional and not key
    )


def _partial(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    return Index(name, *columns, unique=unique, sqlite_where=text(where))


# ---------------------------------------------------------------- settings and small values
options = Table(
    "options",
    metadata,
    Column("space_id", sa.BigInteger, primary_key=True),
    Column("place_id", sa.BigInteger, primary_key=True),
    Column("key", sa.Text, primary_key=True),
    Column("value", sa.Text, nullable=False),
)
usage = Table(
    "usage",
    metadata,
    Column("space_id", sa.BigInteger, primary_key=True),
    Column("day", sa.Text, primary_key=True),
    _number("tokens"),
    _number("cost", server_default=text("0")),
)
stored_values = Table(
    "stored_values",
    metadata,
    Column("key", sa.Text, primary_key=True),
    Column("value", sa.Text, nullable=False),
)
counters = Table("counters", metadata, Column("name", sa.Text, primary_key=True), _number("number"))

# ---------------------------------------------------------------- personas
personas = Table(
    "personas",
    metadata,
    _key(),
    _number("space_id"),
    Column("name", sa.Text, nullable=False),
    Column("folded_name", sa.Text, nullable=False),
    Column("revision", sa.Integer, nullable=False, server_default=text("1")),
    _number("created_by", server_default=text("0")),
    Column("temperament", EmotionBlob, nullable=False),
    Column("former_names", sa.JSON, nullable=False),
    _maybe("avatar_url", sa.Text),
    Column("card", sa.JSON, nullable=False),
    _maybe("avatar", sa.LargeBinary),
    _flag("age_restricted"),
    Column("approved", sa.Boolean(create_constraint=False), nullable=False, server_default=sa.true()),
    UniqueConstraint("space_id", "folded_name"),
    sqlite_autoincrement=True,
)
persona_revisions = Table(
    "persona_revisions",
    metadata,
    _parent("persona_id", "personas.id", key=True),
    Column("revision", sa.Integer, primary_key=True),
    Column("name", sa.Text, nullable=False),
    _time("replaced_at"),
    Column("card", sa.JSON, nullable=False),
    _flag("picture_replaced"),
    _maybe("avatar", sa.LargeBinary),
)
persona_archives = Table(
    "persona_archives",
    metadata,
    _parent("persona_id", "personas.id", key=True),
    Column("archive", sa.LargeBinary, nullable=False),
)
audiences = Table(
    "audiences",
    metadata,
    _key(),
    Column("members", sa.Text, nullable=False),
    UniqueConstraint("members"),
    sqlite_autoincrement=True,
)
# Members are no foreign keys: what a deleted persona witnessed stays what it was, and ids never return.
audience_members = Table(
    "audience_members",
    metadata,
    Column("persona_id", sa.BigInteger, primary_key=True),
    _parent("audience_id", "audiences.id", key=True),
    Index(None, "audience_id"),
)

# ---------------------------------------------------------------- places and scenes
places = Table(
    "places",
    metadata,
    Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    _number("guild_id"),
    _number("space_id"),
    _maybe("parent_id", sa.BigInteger),
    _number("seen_until", server_default=text("0")),
    _string("name"),
)
stories = Table(
    "stories",
    metadata,
    _key(),
    _parent("place_id", "places.id"),
    Column("name", sa.Text, nullable=False),
    Column("folded_name", sa.Text, nullable=False),
    UniqueConstraint("place_id", "folded_name"),
    sqlite_autoincrement=True,
)
scenes = Table(
    "scenes",
    metadata,
    _key(),
    _number("space_id"),
    _parent("place_id", "places.id"),
    _parent("story_id", "stories.id"),
    _flag("active"),
    _flag("paused"),
    _time("started_at"),
    Column("name", sa.Text, nullable=False),
    _string("location"),
    _string("situation"),
    _string("story_time"),
    _partial("uq_scenes_one_active", "place_id", where="active = 1", unique=True),
    Index(None, "place_id"),
    Index(None, "story_id"),
    sqlite_autoincrement=True,
)
cast_members = Table(
    "cast_members",
    metadata,
    _parent("scene_id", "scenes.id", key=True),
    _parent("persona_id", "personas.id", key=True),
    Column("position", sa.Integer, nullable=False),
    Index(None, "persona_id"),
)
aliases = Table(
    "aliases",
    metadata,
    _parent("scene_id", "scenes.id", key=True),
    Column("owner_id", sa.BigInteger, primary_key=True),
    Column("name", sa.Text, nullable=False),
    _maybe("avatar_url", sa.Text),
)
moods = Table(
    "moods",
    metadata,
    _parent("scene_id", "scenes.id", key=True),
    _parent("persona_id", "personas.id", key=True),
    Column("mood", sa.Text, nullable=False),
    Index(None, "persona_id"),
)

# ---------------------------------------------------------------- turns
turns = Table(
    "turns",
    metadata,
    _key(),
    _number("space_id"),
    _parent("place_id", "places.id"),
    _parent("scene_id", "scenes.id"),
    _parent("story_id", "stories.id"),
    _number("owner_id"),
    _maybe("persona_id", sa.BigInteger),
    Column("audience_id", BigKey, ForeignKey("audiences.id"), nullable=False),
    Column("kind", sa.Text, nullable=False),
    _flag("mentions_bot"),
    _flag("proxied"),
    _maybe("reply_to", sa.BigInteger),
    _time("created_at"),
    _maybe("edited_at", UtcDateTime),
    _maybe("deleted_at", UtcDateTime),
    _number("changed", server_default=text("0")),  # number of the change that last touched the text
    _maybe("answered_by", sa.BigInteger),
    _maybe("covered_by", sa.BigInteger),
    Column("speaker", sa.Text, nullable=False),
    Column("text", sa.Text, nullable=False),
    _flag("unremembered"),
    _partial("ix_turns_living", "scene_id", "id", where="deleted_at IS NULL"),
    _partial("ix_turns_uncovered", "scene_id", "id", where="covered_by IS NULL AND deleted_at IS NULL"),
    _partial(
        "ix_turns_unanswered",
        "scene_id",
        "created_at",
        where="answered_by IS NULL AND deleted_at IS NULL AND persona_id IS NULL",
    ),
    _partial("ix_turns_answered_by", "answered_by", where="answered_by > 0"),
    Index(None, "owner_id"),
    sqlite_autoincrement=True,
)
turn_messages = Table(
    "turn_messages",
    metadata,
    Column("message_id", sa.BigInteger, primary_key=True, autoincrement=False),
    _parent("turn_id", "turns.id"),
    Index(None, "turn_id"),
)
tombstones = Table(
    "tombstones",
    metadata,
    Column("message_id", sa.BigInteger, primary_key=True, autoincrement=False),
    _time("deleted_at"),
    Index(None, "deleted_at"),
)
outbox = Table(
    "outbox",
    metadata,
    _key(),
    _parent("turn_id", "turns.id"),
    _number("place_id"),
    Column("part", sa.Integer, nullable=False),
    Column("nonce", sa.Text, nullable=False),
    _time("created_at"),
    _maybe("closed_at", UtcDateTime),
    _maybe("message_id", sa.BigInteger),
    Column("text", sa.Text, nullable=False),
    UniqueConstraint("turn_id", "part"),
    _partial("ix_outbox_open", "id", where="closed_at IS NULL"),
    sqlite_autoincrement=True,
)

# ---------------------------------------------------------------- the scratchpad
scratchpad_revisions = Table(
    "scratchpad_revisions",
    metadata,
    _key(),
    _parent("scene_id", "scenes.id"),
    Column("number", sa.Integer, nullable=False),
    _time("created_at"),
    UniqueConstraint("scene_id", "number"),
    sqlite_autoincrement=True,
)
scratchpad_lines = Table(
    "scratchpad_lines",
    metadata,
    _key(),
    _parent("revision_id", "scratchpad_revisions.id"),
    Column("position", sa.Integer, nullable=False),
    Column("section", sa.Text, nullable=False),
    Column("text", sa.Text, nullable=False),
    Index(None, "revision_id"),
)
line_sources = Table(
    "line_sources",
    metadata,
    _parent("line_id", "scratchpad_lines.id", key=True),
    _parent("turn_id", "turns.id", key=True),
    Column("position", sa.Integer, nullable=False),
    Index(None, "turn_id"),
)

# ---------------------------------------------------------------- memories
memories = Table(
    "memories",
    metadata,
    _key(),
    Column("kind", sa.Text, nullable=False),
    _number("space_id"),
    _parent("place_id", "places.id"),
    _parent("story_id", "stories.id"),
    _parent("scene_id", "scenes.id"),
    _parent("turn_id", "turns.id", optional=True),
    Column("audience_id", BigKey, ForeignKey("audiences.id"), nullable=False),
    _time("created_at"),
    Column("importance", sa.Float, nullable=False, server_default=text("0")),
    _maybe("emotion", EmotionBlob),
    _maybe("emotion_source", sa.Text),
    Column("superseded_by", BigKey, ForeignKey("memories.id", ondelete="SET NULL"), nullable=True),
    _maybe("indexed_by", sa.Text),
    _string("speaker"),
    _string("subject"),
    _string("story_time"),
    _maybe("text", sa.Text),
    # A turn's words stand in `turns` alone, so that wiping them there wipes them everywhere.
    CheckConstraint("(kind = 'turn') = (turn_id IS NOT NULL)", name="turn"),
    CheckConstraint("(kind = 'turn') = (text IS NULL)", name="text"),
    UniqueConstraint("turn_id"),
    Index(None, "story_id", "id"),
    Index(None, "story_id", "audience_id"),
    Index(None, "scene_id"),
    Index(None, "indexed_by", "id"),
    _partial("ix_memories_superseded_by", "superseded_by", where="superseded_by IS NOT NULL"),
    sqlite_autoincrement=True,
)
memory_sources = Table(
    "memory_sources",
    metadata,
    _parent("memory_id", "memories.id", key=True),
    _parent("turn_id", "turns.id", key=True),
    Index(None, "turn_id"),
)
memory_owners = Table(
    "memory_owners",
    metadata,
    _parent("memory_id", "memories.id", key=True),
    Column("owner_id", sa.BigInteger, primary_key=True),
    Index(None, "owner_id"),
)
style_samples = Table(
    "style_samples",
    metadata,
    _key(),
    _parent("persona_id", "personas.id"),
    _parent("turn_id", "turns.id", optional=True),
    _flag("pinned"),
    Column("text", sa.Text, nullable=False),
    Index(None, "persona_id"),
    Index(None, "turn_id"),
    sqlite_autoincrement=True,
)
erasures = Table(
    "erasures",
    metadata,
    Column("memory_id", sa.BigInteger, primary_key=True, autoincrement=False),
    _number("space_id"),
    _time("since"),
    _maybe("erased_at", UtcDateTime),
    _partial("ix_erasures_waiting", "memory_id", where="erased_at IS NULL"),
    Index(None, "space_id"),
)
