"""Entities: whom or what facts are about."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KEY: sa.types.TypeEngine[Any] = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Makes the tables of entities and of the facts about them. Older facts stay without one."""
    op.create_table(
        "entities",
        sa.Column("id", KEY, nullable=False),
        sa.Column("story_id", KEY, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.BigInteger(), nullable=False),
        sa.Column("persona_id", sa.BigInteger(), nullable=False),
        sa.Column("folded_name", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        _parent("entities", "story_id", "stories.id"),
        sa.PrimaryKeyConstraint("id", name="pk_entities"),
        sa.UniqueConstraint(
            "story_id",
            "owner_id",
            "persona_id",
            "folded_name",
            name="uq_entities_story_id_owner_id_persona_id_folded_name",
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_entities_owner_id", "entities", ["owner_id"])
    op.create_table(
        "memory_subjects",
        sa.Column("memory_id", KEY, nullable=False),
        sa.Column("entity_id", KEY, nullable=False),
        _parent("memory_subjects", "entity_id", "entities.id"),
        _parent("memory_subjects", "memory_id", "memories.id"),
        sa.PrimaryKeyConstraint("memory_id", name="pk_memory_subjects"),
    )
    op.create_index("ix_memory_subjects_entity_id", "memory_subjects", ["entity_id"])


def _parent(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", ondelete="CASCADE")
