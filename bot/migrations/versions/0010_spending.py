"""Who the model's tokens went to, what they cost, and which notices about it were given."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the cost to the day's counters, and two tables. Who used what before is not known."""
    op.add_column("usage", sa.Column("cost", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.create_table(
        "usage_shares",
        sa.Column("space_id", sa.BigInteger(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("member_id", sa.BigInteger(), nullable=False),
        sa.Column("persona_id", sa.BigInteger(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("space_id", "day", "member_id", "persona_id", name="pk_usage_shares"),
    )
    op.create_index("ix_usage_shares_member_id_day", "usage_shares", ["member_id", "day"])
    op.create_index("ix_usage_shares_persona_id_day", "usage_shares", ["persona_id", "day"])
    op.create_table(
        "usage_notices",
        sa.Column("space_id", sa.BigInteger(), nullable=False),
        sa.Column("place_id", sa.BigInteger(), nullable=False),
        sa.Column("member_id", sa.BigInteger(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "space_id", "place_id", "member_id", "about", "period", name="pk_usage_notices"
        ),
    )
    op.create_index("ix_usage_notices_member_id", "usage_notices", ["member_id"])
