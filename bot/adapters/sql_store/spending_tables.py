"""Tables of what the language model was used for: shares by member and persona, and notices given."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Column, Index, Table

from bot.adapters.sql_store.tables import metadata


def _part(name: str) -> Column[int]:
    return Column(name, sa.BigInteger, primary_key=True, autoincrement=False)


def _count(name: str) -> Column[int]:
    return Column(name, sa.BigInteger, nullable=False)


# Member 0: work behind the replies, members who opted out, and those who were forgotten.
usage_shares = Table(
    "usage_shares",
    metadata,
    _part("space_id"),
    Column("day", sa.Text, primary_key=True),
    _part("member_id"),
    _part("persona_id"),
    _count("calls"),
    _count("input_tokens"),
    _count("output_tokens"),
    _count("cost"),
    Index(None, "member_id", "day"),
    Index(None, "persona_id", "day"),
)
usage_notices = Table(
    "usage_notices",
    metadata,
    _part("space_id"),
    _part("place_id"),
    _part("member_id"),
    Column("about", sa.Text, primary_key=True),
    Column("period", sa.Text, primary_key=True),
    Index(None, "member_id"),
)
