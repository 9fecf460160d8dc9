"""Answers to members who opted out; opt-outs are no longer kept in the database."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the mark. The table of opt-outs, which nothing ever wrote to, goes: a backup would undo them."""
    op.add_column("turns", sa.Column("unremembered", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.drop_table("opt_outs")
