"""Spending: prices, shares, limits, periods, steps, and the words about them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.options import OPTIONS
from bot.core.spending import (
    KEYS,
    Level,
    Limit,
    Measure,
    Period,
    Price,
    Scope,
    Spent,
    Step,
    ceilings,
    limits_of,
    parts,
    step_of,
)
from bot.core.spending_words import key_of, money, tired, warned

DAY = date(2026, 12, 31)
TOKENS = Limit(Scope.SPACE, Period.DAY, Measure.TOKENS, 1000)
MONEY = Limit(Scope.PERSONA, Period.MONTH, Measure.COST, 2_500_000)
amounts = st.integers(0, 10**12)


def test_a_price_is_for_a_million_tokens_and_rounds_up() -> None:
    price = Price(0.15, 0.60)
    assert price.of(1_000_000, 1_000_000) == 750_000
    assert price.of(1, 0) == 1
    assert Price().of(10**9, 10**9) == 0
    assert price.spent(2_000, 400) == Spent(1, 2_000, 400, 540)
    assert price.spent(2_000, 400).tokens == 2_400


@given(st.builds(Spent, amounts, amounts, amounts, amounts), st.integers(1, 50))
def test_shares_sum_up_to_the_whole(spent: Spent, number: int) -> None:
    shares = parts(spent, number)
    assert len(shares) == number
    total = Spent()
    for share in shares:
        total = total + share
    assert total == spent
    assert all(share.tokens <= shares[0].tokens for share in shares)


def test_every_limit_is_a_setting_and_nothing_limits_at_first() -> None:
    assert set(KEYS) <= set(OPTIONS)
    assert len(KEYS) == 12
    assert limits_of({key: OPTIONS[key].default for key in OPTIONS}) == ()
    assert limits_of({"persona_monthly_cost": OPTIONS["persona_monthly_cost"].parse("2,50")}) == (MONEY,)
    assert limits_of({"daily_tokens": 1000}) == (TOKENS,)
    assert all(limits_of({key: 1})[0].scope is KEYS[key][0] for key in KEYS)


def test_ceilings_are_of_the_whole_bot_and_named_as_in_the_env_file() -> None:
    found = ceilings(daily_tokens=1, monthly_tokens=2, daily_cost=0.5, monthly_cost=3)
    assert [limit.most for limit in found] == [1, 2, 500_000, 3_000_000]
    assert [key_of(limit) for limit in found] == [
        "DAILY_TOKENS",
        "MONTHLY_TOKENS",
        "DAILY_COST",
        "MONTHLY_COST",
    ]
    assert ceilings() == ()


def test_periods_begin_and_end_at_midnight_utc() -> None:
    assert (Period.DAY.first(DAY), Period.MONTH.first(DAY)) == (DAY, date(2026, 12, 1))
    assert Period.DAY.next(DAY) == Period.MONTH.next(DAY) == date(2027, 1, 1)
    assert Period.MONTH.next(date(2028, 2, 1)) == date(2028, 3, 1)
    assert (Period.DAY.name_of(DAY), Period.MONTH.name_of(DAY)) == ("2026-12-31", "2026-12")


@pytest.mark.parametrize(
    ("used", "step"),
    [
        (0, Step.FREE),
        (799, Step.FREE),
        (800, Step.NOTICE),
        (849, Step.NOTICE),
        (850, Step.SHORTER),
        (899, Step.SHORTER),
        (900, Step.CHEAPER),
        (999, Step.CHEAPER),
        (1000, Step.SPENT),
        (5000, Step.SPENT),
    ],
)
def test_each_step_begins_at_its_share(used: int, step: Step) -> None:
    assert Level(TOKENS, used).step is step
    assert step_of([Level(TOKENS, 0), Level(TOKENS, used)]) is step


def test_without_limits_everything_is_free() -> None:
    assert step_of([]) is Step.FREE


def test_amounts_of_money_are_never_shown_as_nothing() -> None:
    assert [money(cost, "$") for cost in (0, 540, 100_000, 1_234_567_890)] == [
        "$0.00",
        "$0.0005",
        "$0.10",
        "$1,234.57",
    ]


def test_moderators_are_told_what_is_used_what_follows_and_what_changes_it() -> None:
    told = warned(Level(TOKENS, 812), name="Mira", currency="€", has_cheaper=True)
    for words in (
        "81%",
        "812 tokens of 1,000 tokens",
        "`/settings set daily_tokens`",
        "cheaper model",
        "85%",
    ):
        assert words in told
    told = warned(Level(MONEY, 2_000_000), name="Mira", currency="€", has_cheaper=False)
    assert "Mira's cost for this month" in told
    assert "€2.00 of €2.50" in told
    assert "cheaper" not in told


def test_the_tired_line_is_in_character_and_says_when_answers_come_again() -> None:
    told = tired(TOKENS, name="Mira", own_line="", day=DAY)
    assert told.startswith("*Mira stifles a yawn")
    assert "1 January (midnight UTC)" in told
    assert "This server's tokens for today are used up" in told
    own = tired(MONEY, name="Mira", own_line="*{{char}} blows out the candle.*", day=DAY)
    assert own.startswith("*Mira blows out the candle.*\n-# Mira's budget for this month is used up")
