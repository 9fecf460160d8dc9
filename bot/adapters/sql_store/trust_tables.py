"""Tables of what moderators did, and of channels whose memories feed others."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Column, ForeignKey, Index, Table, text

from bot.adapters.sql_store.columns import BigKey, UtcDateTime
from bot.adapters.sql_store.tables import metadata

moderator_actions = Table(
    "moderator_actions",
    metadata,
    Column("id", BigKey, primary_key=True),
    Column("space_id", sa.BigInteger, nullable=False),
    Column("place_id", sa.BigInteger, nullable=False),
    Column("actor_id", sa.BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("action", sa.Text, nullable=False),
    Column("detail", sa.Text, nullable=False, server_default=""),
    Index(None, "space_id", "id"),
    Index(None, "actor_id"),
    sqlite_autoincrement=True,
)
# The memories of `source_id` feed `place_id`; both must have had a scene.
place_links = Table(
    "place_links",
    metadata,
    Column("place_id", sa.BigInteger, ForeignKey("places.id", ondelete="CASCADE"), primary_key=True),
    Column("source_id", sa.BigInteger, ForeignKey("places.id", ondelete="CASCADE"), primary_key=True),
    Column("space_id", sa.BigInteger, nullable=False),
    Column("created_by", sa.BigInteger, nullable=False, server_default=text("0")),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "source_id"),
    Index(None, "space_id"),
)
