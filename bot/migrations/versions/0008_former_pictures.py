"""The pictures that personas had before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the picture and whether it was replaced; of earlier changes nothing is known."""
    op.add_column(
        "persona_revisions",
        sa.Column("picture_replaced", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.add_column("persona_revisions", sa.Column("avatar", sa.LargeBinary(), nullable=True))
