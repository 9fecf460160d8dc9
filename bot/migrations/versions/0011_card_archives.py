"""The archives that cards came in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the table; cards that came before have lost their other files."""
    op.create_table(
        "persona_archives",
        sa.Column("persona_id", sa.Integer(), nullable=False),
        sa.Column("archive", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["persona_id"],
            ["personas.id"],
            name="fk_persona_archives_persona_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("persona_id", name="pk_persona_archives"),
    )
