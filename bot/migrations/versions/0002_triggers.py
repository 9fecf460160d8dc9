"""Triggers: further keys that lead to a memory."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KEY: sa.types.TypeEngine[Any] = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Makes the tables of triggers and of the turns they come from."""
    op.create_table(
        "triggers",
        sa.Column("id", KEY, nullable=False),
        sa.Column("memory_id", KEY, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        _parent("triggers", "memory_id", "memories.id"),
        sa.PrimaryKeyConstraint("id", name="pk_triggers"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_triggers_memory_id", "triggers", ["memory_id"])
    op.create_table(
        "trigger_sources",
        sa.Column("trigger_id", KEY, nullable=False),
        sa.Column("turn_id", KEY, nullable=False),
        _parent("trigger_sources", "trigger_id", "triggers.id"),
        _parent("trigger_sources", "turn_id", "turns.id"),
        sa.PrimaryKeyConstraint("trigger_id", "turn_id", name="pk_trigger_sources"),
    )
    op.create_index("ix_trigger_sources_turn_id", "trigger_sources", ["turn_id"])


def _parent(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", ondelete="CASCADE")
