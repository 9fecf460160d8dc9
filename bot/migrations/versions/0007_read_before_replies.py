"""Indexes for what is read before every reply: pins, reflections, members' answered turns."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes three partial indexes."""
    op.create_index("ix_memories_pinned", "memories", ["story_id"], sqlite_where=sa.text("kind = 'pinned'"))
    op.create_index(
        "ix_memories_reflections", "memories", ["story_id"], sqlite_where=sa.text("kind = 'reflection'")
    )
    op.create_index(
        "ix_turns_answered_members",
        "turns",
        ["story_id", "owner_id", "id"],
        sqlite_where=sa.text("answered_by > 0"),
    )
