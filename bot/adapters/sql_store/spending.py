"""The store of what the language model was used for: reserved, corrected, limited, reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.spending_tables import usage_notices, usage_shares
from bot.adapters.sql_store.tables import usage
from bot.core.spending import (
    Entry,
    GroupBy,
    Level,
    Limit,
    Mark,
    Payer,
    Scope,
    Spent,
    Verdict,
    parts,
)

_EVERYWHERE = 0  # the space id under which a day's total is counted
_COUNTS = ("calls", "input_tokens", "output_tokens", "cost")


class SqlUsage:
    """Fulfils `bot.core.spending.UsageStore`."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def reserve(self, payer: Payer, day: date, estimate: Spent, limits: Sequence[Limit]) -> Verdict:
        """See the port."""

        def work(connection: Connection) -> Verdict:
            paying = payer.member_ids
            for limit in limits:
                wanted = limit.measure.of(estimate)
                if limit.scope is Scope.MEMBER:
                    used = {member: _used(connection, limit, payer, day, member) for member in paying}
                    able = [m for m in paying if used[m] + -(-wanted // len(paying)) <= limit.most]
                    if paying and not able:
                        return Verdict(limit)
                    paying = tuple(able)
                elif _used(connection, limit, payer, day) + wanted > limit.most:
                    return Verdict(limit)
            _count(connection, Entry(replace(payer, member_ids=paying), day, estimate))
            return Verdict(None, paying)

        return await self._database.write(work)

    async def add(self, entries: Sequence[Entry]) -> None:
        """See the port."""

        def work(connection: Connection) -> None:
            for entry in entries:
                _count(connection, entry)

        await self._database.write(work)

    async def levels(self, payer: Payer, day: date, limits: Sequence[Limit]) -> list[Level]:
        """See the port."""

        def work(connection: Connection) -> list[Level]:
            found = []
            for limit in limits:
                members = payer.member_ids if limit.scope is Scope.MEMBER else (0,)
                uses = [_used(connection, limit, payer, day, member) for member in members]
                found.append(Level(limit, min(uses, default=0)))
            return found

        return await self._database.read(work)

    async def used(self, space_id: int, first: date, last: date) -> Spent:
        """See the port."""
        days = usage.c.day.between(first.isoformat(), last.isoformat())
        which = sa.select(sa.func.sum(usage.c.tokens), sa.func.sum(usage.c.cost)).where(
            usage.c.space_id == space_id, days
        )

        def work(connection: Connection) -> Spent:
            tokens, cost = connection.execute(which).one()
            return Spent(input_tokens=int(tokens or 0), cost=int(cost or 0))

        return await self._database.read(work)

    async def report(
        self, space_id: int, first: date, last: date, *, by: GroupBy, member_id: int | None = None
    ) -> dict[str, Spent]:
        """See the port."""
        found = await self._grouped((by,), space_id, first, last, member_id)
        return {keys[0]: spent for keys, spent in found}

    async def daily(
        self, space_id: int, first: date, last: date, *, member_id: int | None = None
    ) -> dict[tuple[str, str], Spent]:
        """See the port."""
        by = (GroupBy.DAY, GroupBy.PERSONA)
        found = await self._grouped(by, space_id, first, last, member_id)
        return {(keys[0], keys[1]): spent for keys, spent in found}

    async def _grouped(
        self, by: Sequence[GroupBy], space_id: int, first: date, last: date, member_id: int | None
    ) -> list[tuple[tuple[str, ...], Spent]]:
        keys = [usage_shares.c[key.value] for key in by]
        which = sa.select(*keys, *(sa.func.sum(usage_shares.c[name]) for name in _COUNTS)).where(
            usage_shares.c.space_id == space_id,
            usage_shares.c.day.between(first.isoformat(), last.isoformat()),
        )
        if member_id is not None:
            which = which.where(usage_shares.c.member_id == member_id)

        def work(connection: Connection) -> list[tuple[tuple[str, ...], Spent]]:
            rows = connection.execute(which.group_by(*keys))
            many = len(keys)
            return [(tuple(map(str, row[:many])), Spent(*map(int, row[many:]))) for row in rows]

        return await self._database.read(work)

    async def oldest(self) -> dict[int, date]:
        """See the port."""
        which = (
            sa.select(usage_shares.c.space_id, sa.func.min(usage_shares.c.day))
            .where(usage_shares.c.member_id != 0)
            .group_by(usage_shares.c.space_id)
        )

        def work(connection: Connection) -> dict[int, date]:
            rows = connection.execute(which)
            return {space_id: date.fromisoformat(day) for space_id, day in rows}

        return await self._database.read(work)

    async def fold(self, space_id: int, before: date) -> None:
        """See the port."""
        old = sa.and_(usage_shares.c.space_id == space_id, usage_shares.c.day < before.isoformat())
        await self._database.write(lambda connection: fold_shares(connection, old))

    async def is_first(self, mark: Mark) -> bool:
        """See the port."""
        values = {name: getattr(mark, name) for name in ("space_id", "place_id", "member_id", "about")}
        same = [usage_notices.c[name] == value for name, value in values.items()]
        insert = upsert(usage_notices).values(**values, period=mark.period).on_conflict_do_nothing()

        def work(connection: Connection) -> bool:
            earlier = sa.delete(usage_notices).where(*same, usage_notices.c.period < mark.period)
            connection.execute(earlier)
            return connection.execute(insert).rowcount > 0

        return await self._database.write(work)


def fold_shares(connection: Connection, which: sa.ColumnElement[bool]) -> None:
    """Count these shares to nobody instead of their members."""
    keys = (usage_shares.c.space_id, usage_shares.c.day, usage_shares.c.persona_id)
    counts = [usage_shares.c[name] for name in _COUNTS]
    theirs = sa.and_(which, usage_shares.c.member_id != 0)
    summed = (
        sa.select(keys[0], keys[1], sa.literal(0), keys[2], *(sa.func.sum(count) for count in counts))
        .where(theirs)
        .group_by(*keys)
    )
    insert = upsert(usage_shares).from_select(
        ["space_id", "day", "member_id", "persona_id", *_COUNTS], summed
    )
    added = {name: usage_shares.c[name] + insert.excluded[name] for name in _COUNTS}
    names = ["space_id", "day", "member_id", "persona_id"]
    connection.execute(insert.on_conflict_do_update(index_elements=names, set_=added))
    connection.execute(sa.delete(usage_shares).where(theirs))


def forget_spending(connection: Connection, member_id: int) -> None:
    """What was spent stays counted, for the limits; that it was this member is forgotten."""
    fold_shares(connection, usage_shares.c.member_id == member_id)
    connection.execute(sa.delete(usage_notices).where(usage_notices.c.member_id == member_id))


def _used(connection: Connection, limit: Limit, payer: Payer, day: date, member_id: int = 0) -> int:
    """What of a limit is used in its period so far."""
    days = (limit.period.first(day).isoformat(), day.isoformat())
    table = usage if limit.scope in (Scope.BOT, Scope.SPACE) else usage_shares
    if table is usage:
        space_id = _EVERYWHERE if limit.scope is Scope.BOT else payer.space_id
        which, tokens = usage.c.space_id == space_id, usage.c.tokens + 0
    else:
        own = (
            usage_shares.c.member_id == member_id
            if limit.scope is Scope.MEMBER
            else usage_shares.c.persona_id == payer.persona_id
        )
        which = sa.and_(usage_shares.c.space_id == payer.space_id, own)
        tokens = usage_shares.c.input_tokens + usage_shares.c.output_tokens
    counted = tokens if limit.measure.value == "tokens" else table.c.cost
    found = sa.select(sa.func.sum(counted)).where(which, table.c.day.between(*days))
    return int(connection.execute(found).scalar() or 0)


def _count(connection: Connection, entry: Entry) -> None:
    payer, day = entry.payer, entry.day.isoformat()
    members = payer.member_ids or (0,)
    more = entry.spent - entry.reserved
    for space_id in (payer.space_id, _EVERYWHERE):
        key = {"space_id": space_id, "day": day}
        _raise(connection, usage, key, {"tokens": more.tokens, "cost": more.cost})
    shares = (parts(spent, len(members)) for spent in (entry.spent, entry.reserved))
    for member_id, own, before in zip(members, *shares, strict=True):
        key = {"space_id": payer.space_id, "day": day, "member_id": member_id}
        difference = own - before
        counts = {name: getattr(difference, name) for name in _COUNTS}
        _raise(connection, usage_shares, {**key, "persona_id": payer.persona_id}, counts)


def _raise(connection: Connection, table: sa.Table, key: dict[str, object], by: dict[str, int]) -> None:
    insert = upsert(table).values(**key, **{name: max(0, number) for name, number in by.items()})
    raised = {name: sa.func.max(0, table.c[name] + number) for name, number in by.items()}
    connection.execute(insert.on_conflict_do_update(index_elements=list(key), set_=raised))
