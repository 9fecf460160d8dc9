"""Lore: entries of a guild, a scene or a persona."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

KEY: sa.types.TypeEngine[Any] = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Makes the table. An entry of a scene or persona goes with it."""
    op.create_table(
        "lore_entries",
        sa.Column("id", KEY, nullable=False),
        sa.Column("space_id", sa.BigInteger(), nullable=False),
        sa.Column("scene_id", KEY, nullable=True),
        sa.Column("persona_id", KEY, nullable=True),
        sa.Column("created_by", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("book", sa.Text(), server_default="", nullable=False),
        sa.Column("entry", sa.JSON(), nullable=False),
        sa.CheckConstraint("scene_id IS NULL OR persona_id IS NULL", name=op.f("ck_lore_entries_owner")),
        sa.ForeignKeyConstraint(
            ["scene_id"], ["scenes.id"], name="fk_lore_entries_scene_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["persona_id"], ["personas.id"], name="fk_lore_entries_persona_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_lore_entries"),
        sqlite_autoincrement=True,
    )
    for column in ("space_id", "scene_id", "persona_id"):
        op.create_index(f"ix_lore_entries_{column}", "lore_entries", [column])
