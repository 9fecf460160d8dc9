"""Sets of witnesses as single integers, so that the index can filter by presence."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.tables import audience_members, audiences


def members_key(witnesses: Collection[int]) -> str:
    """How a set of persona ids is written: ascending, with commas; empty for nobody."""
    return ",".join(map(str, sorted(set(witnesses))))


def read_key(members: str) -> tuple[int, ...]:
    """The persona ids of a key, ascending."""
    return tuple(map(int, members.split(","))) if members else ()


def audience_ids(connection: Connection, sets: Iterable[Collection[int]]) -> dict[str, int]:
    """The id of each set by its key; sets never seen before are stored."""
    wanted = {members_key(witnesses) for witnesses in sets}
    known = sa.select(audiences.c.members, audiences.c.id).where(audiences.c.members.in_(wanted))
    found = {row.members: row.id for row in connection.execute(known)}
    for key in sorted(wanted - found.keys()):
        insert = sa.insert(audiences).values(members=key).returning(audiences.c.id)
        found[key] = int(connection.execute(insert).scalar_one())
        rows = [{"audience_id": found[key], "persona_id": persona} for persona in read_key(key)]
        if rows:
            connection.execute(sa.insert(audience_members), rows)
    return found
