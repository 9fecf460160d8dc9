"""What the language model was used for: reserved within limits, corrected, shared out, reported, folded."""

from __future__ import annotations

import asyncio
from datetime import date

from bot.adapters.sql_store import SqlStore
from bot.core.spending import (
    Entry,
    GroupBy,
    Level,
    Limit,
    Mark,
    Measure,
    Payer,
    Period,
    Scope,
    Spent,
    Verdict,
    ceilings,
    limits_of,
)
from tests.records import sql

DAY, NEXT = date(2026, 3, 1), date(2026, 3, 2)
ANA, BOB, MIRA, KENJI = 101, 102, 1, 2
HERE = Payer(9, 500, (ANA,), MIRA)
WHOLE_BOT = ceilings(daily_tokens=150)
GUILD = limits_of({"daily_tokens": 100})


def tokens(number: int) -> Spent:
    return Spent(input_tokens=number)


async def test_tokens_are_reserved_up_to_the_limits(store: SqlStore) -> None:
    async def granted(space_id: int, number: int, day: date = DAY) -> bool:
        limits = (*GUILD, *WHOLE_BOT) if number < 10_000 else ()
        return (await store.usage.reserve(Payer(space_id, 500), day, tokens(number), limits)).refused is None

    assert await granted(9, 60)
    assert not await granted(9, 41)
    assert await granted(9, 40)
    assert not await granted(10, 51)
    assert await granted(10, 50)
    assert await granted(10, 10_000)
    assert await granted(9, 100, NEXT)
    used = [(await store.usage.used(space, DAY, DAY)).tokens for space in (9, 10, 0, 404)]
    assert used == [100, 10_050, 10_150, 0]


async def test_a_reservation_is_corrected_and_never_falls_below_nothing(store: SqlStore) -> None:
    await store.usage.reserve(HERE, DAY, tokens(60), ())
    await store.usage.add([Entry(HERE, DAY, Spent(1, 30, 10, 5), reserved=tokens(60))])
    assert await store.usage.used(9, DAY, DAY) == Spent(0, 40, 0, 5)
    assert await store.usage.used(0, DAY, DAY) == Spent(0, 40, 0, 5)
    assert await store.usage.report(9, DAY, DAY, by=GroupBy.MEMBER) == {str(ANA): Spent(1, 30, 10, 5)}
    await store.usage.add([Entry(HERE, DAY, Spent(), reserved=tokens(500))])
    assert (await store.usage.used(9, DAY, DAY)).tokens == 0


async def test_reservations_at_once_never_pass_the_limit(store: SqlStore) -> None:
    limits = limits_of({"daily_tokens": 55})
    verdicts = await asyncio.gather(*(store.usage.reserve(HERE, DAY, tokens(10), limits) for _ in range(20)))
    assert sum(verdict.refused is None for verdict in verdicts) == 5
    assert (await store.usage.used(9, DAY, DAY)).tokens == 50


async def test_each_scope_period_and_measure_counts_its_own(store: SqlStore) -> None:
    for payer, day in (
        (HERE, DAY),
        (Payer(9, 500, (BOB,), MIRA), DAY),
        (Payer(9, 600, (ANA,), KENJI), DAY),
        (HERE, NEXT),
        (Payer(10, 700, (ANA,), 3), NEXT),
        (HERE, date(2026, 4, 1)),
    ):
        await store.usage.add([Entry(payer, day, Spent(1, 8, 2, 3))])
    limits = (
        *limits_of(
            {
                f"{whose}{often}_{what}": 1000
                for whose in ("", "member_", "persona_")
                for often in ("daily", "monthly")
                for what in ("tokens", "cost")
            }
        ),
        *ceilings(daily_tokens=1000, monthly_tokens=1000, daily_cost=1, monthly_cost=1),
    )
    found = {
        (level.limit.scope, level.limit.period): level.used
        for level in await store.usage.levels(HERE, NEXT, limits)
        if level.limit.measure is Measure.TOKENS
    }
    assert found == {
        (Scope.SPACE, Period.DAY): 10,
        (Scope.SPACE, Period.MONTH): 40,
        (Scope.MEMBER, Period.DAY): 10,
        (Scope.MEMBER, Period.MONTH): 30,
        (Scope.PERSONA, Period.DAY): 10,
        (Scope.PERSONA, Period.MONTH): 30,
        (Scope.BOT, Period.DAY): 20,
        (Scope.BOT, Period.MONTH): 50,
    }
    costs = [level for level in await store.usage.levels(HERE, NEXT, limits) if "cost" in level.limit.measure]
    assert {level.used for level in costs if level.limit.scope is Scope.SPACE} == {3, 12}


async def test_a_member_at_the_limit_is_refused_and_nobody_else(store: SqlStore) -> None:
    limits = limits_of({"member_daily_tokens": 100})
    (limit,) = limits
    assert (await store.usage.reserve(HERE, DAY, tokens(90), limits)).refused is None
    assert await store.usage.reserve(HERE, DAY, tokens(20), limits) == Verdict(limit)
    assert (await store.usage.reserve(Payer(9, 500, (BOB,), MIRA), DAY, tokens(20), limits)).refused is None
    assert (await store.usage.reserve(Payer(10, 700, (ANA,), 3), DAY, tokens(20), limits)).refused is None


async def test_those_answered_together_share_and_who_is_over_the_limit_pays_nothing(store: SqlStore) -> None:
    limits = limits_of({"member_daily_tokens": 100})
    both = Payer(9, 500, (ANA, BOB), MIRA)
    assert (await store.usage.reserve(both, DAY, tokens(101), limits)).member_ids == (ANA, BOB)
    shares = await store.usage.report(9, DAY, DAY, by=GroupBy.MEMBER)
    assert shares == {str(ANA): tokens(51), str(BOB): tokens(50)}
    await store.usage.add([Entry(HERE, DAY, tokens(49))])
    assert (await store.usage.reserve(both, DAY, tokens(40), limits)).member_ids == (BOB,)
    assert (await store.usage.levels(both, DAY, limits))[0].used == 90


async def test_a_persona_at_the_limit_is_refused_and_no_other(store: SqlStore) -> None:
    limits = limits_of({"persona_monthly_cost": 1})
    assert limits == (Limit(Scope.PERSONA, Period.MONTH, Measure.COST, 1_000_000),)
    await store.usage.add([Entry(HERE, DAY, Spent(cost=999_999))])
    assert (await store.usage.reserve(HERE, NEXT, Spent(cost=2), limits)).refused == limits[0]
    assert (await store.usage.reserve(HERE, NEXT, Spent(cost=1), limits)).refused is None
    other = Payer(9, 500, (ANA,), KENJI)
    assert (await store.usage.reserve(other, NEXT, Spent(cost=2), limits)).refused is None
    assert await store.usage.levels(HERE, NEXT, limits) == [Level(limits[0], 1_000_000)]


async def test_a_report_tells_days_personas_and_members_apart(store: SqlStore) -> None:
    await store.usage.add([Entry(HERE, DAY, Spent(1, 8, 2, 3))])
    await store.usage.add([Entry(Payer(9, 500, (BOB,), KENJI), NEXT, Spent(1, 5, 5, 4))])
    await store.usage.add([Entry(Payer(9, 500), NEXT, Spent(1, 1, 1, 1))])
    await store.usage.add([Entry(Payer(10, 700, (ANA,), 3), NEXT, Spent(1, 1000, 0, 0))])

    async def keys(by: GroupBy, member_id: int | None = None, first: date = DAY) -> dict[str, int]:
        found = await store.usage.report(9, first, NEXT, by=by, member_id=member_id)
        return {key: spent.tokens for key, spent in found.items()}

    assert await keys(GroupBy.DAY) == {"2026-03-01": 10, "2026-03-02": 12}
    assert await keys(GroupBy.PERSONA) == {"0": 2, str(MIRA): 10, str(KENJI): 10}
    assert await keys(GroupBy.MEMBER) == {"0": 2, str(ANA): 10, str(BOB): 10}
    assert await keys(GroupBy.PERSONA, ANA) == {str(MIRA): 10}
    assert await keys(GroupBy.PERSONA, ANA, NEXT) == {}


async def test_folding_forgets_who_it_was_and_not_how_much(store: SqlStore) -> None:
    for day in (DAY, NEXT):
        for payer in (HERE, Payer(9, 500, (BOB,), MIRA), Payer(9, 500, (), MIRA)):
            await store.usage.add([Entry(payer, day, Spent(1, 8, 2, 3))])
    assert await store.usage.oldest() == {9: DAY}
    await store.usage.fold(9, NEXT)
    assert await store.usage.oldest() == {9: NEXT}
    assert await store.usage.report(9, DAY, DAY, by=GroupBy.MEMBER) == {"0": Spent(3, 24, 6, 9)}
    assert set(await store.usage.report(9, NEXT, NEXT, by=GroupBy.MEMBER)) == {"0", str(ANA), str(BOB)}
    assert (await store.usage.used(9, DAY, NEXT)).tokens == 60


async def test_a_notice_is_given_once_in_its_period_place_and_to_its_member(store: SqlStore) -> None:
    mark = Mark(9, "tired", "2026-03-01", 500, ANA)
    assert await store.usage.is_first(mark)
    assert not await store.usage.is_first(mark)
    for other in (
        Mark(9, "tired", "2026-03-01", 600, ANA),
        Mark(9, "tired", "2026-03-01", 500, BOB),
        Mark(9, "warned", "2026-03-01", 500, ANA),
        Mark(9, "tired", "2026-03-02", 500, ANA),
    ):
        assert await store.usage.is_first(other)
    assert await sql(store, "SELECT count(*) FROM usage_notices") == [(4,)]
