"""Jobs are files in the data folder; the table that was meant for them is gone."""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Removes the table, which no version has ever written to."""
    op.drop_table("jobs")
