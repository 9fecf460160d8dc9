"""Trust: what moderators did, channels that share memories, age-restricted and waiting personas."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

KEY: sa.types.TypeEngine[Any] = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Makes two tables and two marks of personas; those that are there are for everybody and approved."""
    op.create_table(
        "moderator_actions",
        sa.Column("id", KEY, nullable=False),
        sa.Column("space_id", sa.BigInteger(), nullable=False),
        sa.Column("place_id", sa.BigInteger(), nullable=False),
        sa.Column("actor_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_moderator_actions"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_moderator_actions_space_id_id", "moderator_actions", ["space_id", "id"])
    op.create_index("ix_moderator_actions_actor_id", "moderator_actions", ["actor_id"])
    op.create_table(
        "place_links",
        sa.Column("place_id", sa.BigInteger(), nullable=False),
        sa.Column("source_id", sa.BigInteger(), nullable=False),
        sa.Column("space_id", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["place_id"], ["places.id"], name="fk_place_links_place_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["places.id"], name="fk_place_links_source_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("place_id", "source_id", name="pk_place_links"),
    )
    op.create_index("ix_place_links_source_id", "place_links", ["source_id"])
    op.create_index("ix_place_links_space_id", "place_links", ["space_id"])
    for name, default in (("age_restricted", sa.false()), ("approved", sa.true())):
        op.add_column("personas", sa.Column(name, sa.Boolean(), server_default=default, nullable=False))
