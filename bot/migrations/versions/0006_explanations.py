"""Explanations: the numbers behind the newest replies."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

KEY: sa.types.TypeEngine[Any] = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Makes the table of explanations. Replies made before have none."""
    op.create_table(
        "explanations",
        sa.Column("turn_id", KEY, nullable=False),
        sa.Column("place_id", sa.BigInteger(), nullable=False),
        sa.Column("scene_id", sa.BigInteger(), nullable=False),
        sa.Column("aside_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["turn_id"], ["turns.id"], name="fk_explanations_turn_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("turn_id", name="pk_explanations"),
    )
    op.create_index("ix_explanations_place_id_turn_id", "explanations", ["place_id", "turn_id"])
    op.create_index("ix_explanations_scene_id_turn_id", "explanations", ["scene_id", "turn_id"])
