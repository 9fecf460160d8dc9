"""The first schema."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY: sa.types.TypeEngine[Any] = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Makes every table. It stands by itself: later changes of the code leave this history alone."""
    _settings()
    _personas()
    _scenes()
    _casts()
    _turns()
    _messages()
    _scratchpads()
    _memories()
    _beside_memories()


def _parent(table: str, column: str, target: str, rule: str | None = "CASCADE") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", ondelete=rule)


def _keys(*names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, KEY, nullable=False) for name in names]


def _numbers(*names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in names]


def _words(*names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def _texts(*names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.Text(), server_default="", nullable=False) for name in names]


def _flags(*names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.Boolean(), server_default=sa.text("0"), nullable=False) for name in names]


def _index(name: str, table: str, *columns: str, unique: bool = False, where: str | None = None) -> None:
    condition = None if where is None else sa.text(where)
    op.create_index(name, table, list(columns), unique=unique, sqlite_where=condition)


def _settings() -> None:
    op.create_table(
        "options",
        *_numbers("space_id", "place_id"),
        *_words("key", "value"),
        sa.PrimaryKeyConstraint("space_id", "place_id", "key", name="pk_options"),
    )
    op.create_table(
        "usage",
        *_numbers("space_id"),
        *_words("day"),
        *_numbers("tokens"),
        sa.PrimaryKeyConstraint("space_id", "day", name="pk_usage"),
    )
    op.create_table(
        "stored_values", *_words("key", "value"), sa.PrimaryKeyConstraint("key", name="pk_stored_values")
    )
    op.create_table(
        "counters", *_words("name"), *_numbers("number"), sa.PrimaryKeyConstraint("name", name="pk_counters")
    )
    op.create_table(
        "opt_outs",
        *_numbers("space_id"),
        *_words("member_key"),
        sa.Column("since", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("space_id", "member_key", name="pk_opt_outs"),
    )
    op.create_table(
        "jobs",
        *_keys("id"),
        *_words("kind"),
        sa.Column("space_id", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        *_texts("request", "progress"),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sqlite_autoincrement=True,
    )


def _personas() -> None:
    op.create_table(
        "personas",
        *_keys("id"),
        *_numbers("space_id"),
        *_words("name", "folded_name"),
        sa.Column("revision", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("created_by", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("temperament", sa.LargeBinary(), nullable=False),
        sa.Column("former_names", sa.JSON(), nullable=False),
        sa.Column("avatar_url", sa.Text(), nullable=True),
        sa.Column("card", sa.JSON(), nullable=False),
        sa.Column("avatar", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_personas"),
        sa.UniqueConstraint("space_id", "folded_name", name="uq_personas_space_id_folded_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "persona_revisions",
        *_keys("persona_id"),
        sa.Column("revision", sa.Integer(), nullable=False),
        *_words("name"),
        sa.Column("replaced_at", sa.DateTime(), nullable=False),
        sa.Column("card", sa.JSON(), nullable=False),
        _parent("persona_revisions", "persona_id", "personas.id"),
        sa.PrimaryKeyConstraint("persona_id", "revision", name="pk_persona_revisions"),
    )
    op.create_table(
        "audiences",
        *_keys("id"),
        *_words("members"),
        sa.PrimaryKeyConstraint("id", name="pk_audiences"),
        sa.UniqueConstraint("members", name="uq_audiences_members"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "audience_members",
        *_numbers("persona_id"),
        *_keys("audience_id"),
        _parent("audience_members", "audience_id", "audiences.id"),
        sa.PrimaryKeyConstraint("persona_id", "audience_id", name="pk_audience_members"),
    )
    _index("ix_audience_members_audience_id", "audience_members", "audience_id")


def _scenes() -> None:
    op.create_table(
        "places",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        *_numbers("guild_id", "space_id"),
        sa.Column("parent_id", sa.BigInteger(), nullable=True),
        sa.Column("seen_until", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        *_texts("name"),
        sa.PrimaryKeyConstraint("id", name="pk_places"),
    )
    op.create_table(
        "stories",
        *_keys("id", "place_id"),
        *_words("name", "folded_name"),
        _parent("stories", "place_id", "places.id"),
        sa.PrimaryKeyConstraint("id", name="pk_stories"),
        sa.UniqueConstraint("place_id", "folded_name", name="uq_stories_place_id_folded_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "scenes",
        *_keys("id"),
        *_numbers("space_id"),
        *_keys("place_id", "story_id"),
        *_flags("active", "paused"),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        *_words("name"),
        *_texts("location", "situation", "story_time"),
        _parent("scenes", "place_id", "places.id"),
        _parent("scenes", "story_id", "stories.id"),
        sa.PrimaryKeyConstraint("id", name="pk_scenes"),
        sqlite_autoincrement=True,
    )
    _index("ix_scenes_place_id", "scenes", "place_id")
    _index("ix_scenes_story_id", "scenes", "story_id")
    _index("uq_scenes_one_active", "scenes", "place_id", unique=True, where="active = 1")


def _casts() -> None:
    op.create_table(
        "cast_members",
        *_keys("scene_id", "persona_id"),
        sa.Column("position", sa.Integer(), nullable=False),
        _parent("cast_members", "persona_id", "personas.id"),
        _parent("cast_members", "scene_id", "scenes.id"),
        sa.PrimaryKeyConstraint("scene_id", "persona_id", name="pk_cast_members"),
    )
    _index("ix_cast_members_persona_id", "cast_members", "persona_id")
    op.create_table(
        "aliases",
        *_keys("scene_id"),
        *_numbers("owner_id"),
        *_words("name"),
        sa.Column("avatar_url", sa.Text(), nullable=True),
        _parent("aliases", "scene_id", "scenes.id"),
        sa.PrimaryKeyConstraint("scene_id", "owner_id", name="pk_aliases"),
    )
    op.create_table(
        "moods",
        *_keys("scene_id", "persona_id"),
        *_words("mood"),
        _parent("moods", "persona_id", "personas.id"),
        _parent("moods", "scene_id", "scenes.id"),
        sa.PrimaryKeyConstraint("scene_id", "persona_id", name="pk_moods"),
    )
    _index("ix_moods_persona_id", "moods", "persona_id")


def _turns() -> None:
    op.create_table(
        "turns",
        *_keys("id"),
        *_numbers("space_id"),
        *_keys("place_id", "scene_id", "story_id"),
        *_numbers("owner_id"),
        sa.Column("persona_id", sa.BigInteger(), nullable=True),
        *_keys("audience_id"),
        *_words("kind"),
        *_flags("mentions_bot", "proxied"),
        sa.Column("reply_to", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("edited_at", sa.DateTime(), nullable=True),
        sa.Column("deleted_at", sa.DateTime(), nullable=True),
        sa.Column("changed", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("answered_by", sa.BigInteger(), nullable=True),
        sa.Column("covered_by", sa.BigInteger(), nullable=True),
        *_words("speaker", "text"),
        _parent("turns", "audience_id", "audiences.id", None),
        _parent("turns", "place_id", "places.id"),
        _parent("turns", "scene_id", "scenes.id"),
        _parent("turns", "story_id", "stories.id"),
        sa.PrimaryKeyConstraint("id", name="pk_turns"),
        sqlite_autoincrement=True,
    )
    _index("ix_turns_answered_by", "turns", "answered_by", where="answered_by > 0")
    _index("ix_turns_living", "turns", "scene_id", "id", where="deleted_at IS NULL")
    _index("ix_turns_owner_id", "turns", "owner_id")
    _index(
        "ix_turns_unanswered",
        "turns",
        "scene_id",
        "created_at",
        where="answered_by IS NULL AND deleted_at IS NULL AND persona_id IS NULL",
    )
    _index("ix_turns_uncovered", "turns", "scene_id", "id", where="covered_by IS NULL AND deleted_at IS NULL")


def _messages() -> None:
    op.create_table(
        "turn_messages",
        sa.Column("message_id", sa.BigInteger(), autoincrement=False, nullable=False),
        *_keys("turn_id"),
        _parent("turn_messages", "turn_id", "turns.id"),
        sa.PrimaryKeyConstraint("message_id", name="pk_turn_messages"),
    )
    _index("ix_turn_messages_turn_id", "turn_messages", "turn_id")
    op.create_table(
        "tombstones",
        sa.Column("message_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("deleted_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("message_id", name="pk_tombstones"),
    )
    _index("ix_tombstones_deleted_at", "tombstones", "deleted_at")
    op.create_table(
        "outbox",
        *_keys("id", "turn_id"),
        *_numbers("place_id"),
        sa.Column("part", sa.Integer(), nullable=False),
        *_words("nonce"),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("closed_at", sa.DateTime(), nullable=True),
        sa.Column("message_id", sa.BigInteger(), nullable=True),
        *_words("text"),
        _parent("outbox", "turn_id", "turns.id"),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        sa.UniqueConstraint("turn_id", "part", name="uq_outbox_turn_id_part"),
        sqlite_autoincrement=True,
    )
    _index("ix_outbox_open", "outbox", "id", where="closed_at IS NULL")


def _scratchpads() -> None:
    op.create_table(
        "scratchpad_revisions",
        *_keys("id", "scene_id"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        _parent("scratchpad_revisions", "scene_id", "scenes.id"),
        sa.PrimaryKeyConstraint("id", name="pk_scratchpad_revisions"),
        sa.UniqueConstraint("scene_id", "number", name="uq_scratchpad_revisions_scene_id_number"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "scratchpad_lines",
        *_keys("id", "revision_id"),
        sa.Column("position", sa.Integer(), nullable=False),
        *_words("section", "text"),
        _parent("scratchpad_lines", "revision_id", "scratchpad_revisions.id"),
        sa.PrimaryKeyConstraint("id", name="pk_scratchpad_lines"),
    )
    _index("ix_scratchpad_lines_revision_id", "scratchpad_lines", "revision_id")
    op.create_table(
        "line_sources",
        *_keys("line_id", "turn_id"),
        sa.Column("position", sa.Integer(), nullable=False),
        _parent("line_sources", "line_id", "scratchpad_lines.id"),
        _parent("line_sources", "turn_id", "turns.id"),
        sa.PrimaryKeyConstraint("line_id", "turn_id", name="pk_line_sources"),
    )
    _index("ix_line_sources_turn_id", "line_sources", "turn_id")


def _memories() -> None:
    op.create_table(
        "memories",
        *_keys("id"),
        *_words("kind"),
        *_numbers("space_id"),
        *_keys("place_id", "story_id", "scene_id"),
        sa.Column("turn_id", KEY, nullable=True),
        *_keys("audience_id"),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("importance", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("emotion", sa.LargeBinary(), nullable=True),
        sa.Column("emotion_source", sa.Text(), nullable=True),
        sa.Column("superseded_by", KEY, nullable=True),
        sa.Column("indexed_by", sa.Text(), nullable=True),
        *_texts("speaker", "subject", "story_time"),
        sa.Column("text", sa.Text(), nullable=True),
        sa.CheckConstraint("(kind = 'turn') = (text IS NULL)", name=op.f("ck_memories_text")),
        sa.CheckConstraint("(kind = 'turn') = (turn_id IS NOT NULL)", name=op.f("ck_memories_turn")),
        _parent("memories", "audience_id", "audiences.id", None),
        _parent("memories", "place_id", "places.id"),
        _parent("memories", "scene_id", "scenes.id"),
        _parent("memories", "story_id", "stories.id"),
        _parent("memories", "superseded_by", "memories.id", "SET NULL"),
        _parent("memories", "turn_id", "turns.id"),
        sa.PrimaryKeyConstraint("id", name="pk_memories"),
        sa.UniqueConstraint("turn_id", name="uq_memories_turn_id"),
        sqlite_autoincrement=True,
    )
    _index("ix_memories_indexed_by_id", "memories", "indexed_by", "id")
    _index("ix_memories_scene_id", "memories", "scene_id")
    _index("ix_memories_story_id_audience_id", "memories", "story_id", "audience_id")
    _index("ix_memories_story_id_id", "memories", "story_id", "id")
    _index("ix_memories_superseded_by", "memories", "superseded_by", where="superseded_by IS NOT NULL")


def _beside_memories() -> None:
    op.create_table(
        "memory_sources",
        *_keys("memory_id", "turn_id"),
        _parent("memory_sources", "memory_id", "memories.id"),
        _parent("memory_sources", "turn_id", "turns.id"),
        sa.PrimaryKeyConstraint("memory_id", "turn_id", name="pk_memory_sources"),
    )
    _index("ix_memory_sources_turn_id", "memory_sources", "turn_id")
    op.create_table(
        "memory_owners",
        *_keys("memory_id"),
        *_numbers("owner_id"),
        _parent("memory_owners", "memory_id", "memories.id"),
        sa.PrimaryKeyConstraint("memory_id", "owner_id", name="pk_memory_owners"),
    )
    _index("ix_memory_owners_owner_id", "memory_owners", "owner_id")
    op.create_table(
        "style_samples",
        *_keys("id", "persona_id"),
        sa.Column("turn_id", KEY, nullable=True),
        *_flags("pinned"),
        *_words("text"),
        _parent("style_samples", "persona_id", "personas.id"),
        _parent("style_samples", "turn_id", "turns.id"),
        sa.PrimaryKeyConstraint("id", name="pk_style_samples"),
        sqlite_autoincrement=True,
    )
    _index("ix_style_samples_persona_id", "style_samples", "persona_id")
    _index("ix_style_samples_turn_id", "style_samples", "turn_id")
    op.create_table(
        "erasures",
        sa.Column("memory_id", sa.BigInteger(), autoincrement=False, nullable=False),
        *_numbers("space_id"),
        sa.Column("since", sa.DateTime(), nullable=False),
        sa.Column("erased_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("memory_id", name="pk_erasures"),
    )
    _index("ix_erasures_space_id", "erasures", "space_id")
    _index("ix_erasures_waiting", "erasures", "memory_id", where="erased_at IS NULL")
