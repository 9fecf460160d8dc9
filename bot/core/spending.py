"""What the language model costs: tokens and money, for whom, their limits, and how near those are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import IntEnum, StrEnum
from typing import Final, Protocol

MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls, tokens, and money in millionths of the currency's unit."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0

    @property
    def tokens(self) -> int:
        """Both directions together: what token limits count."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
        )

    def __sub__(self, other: Spent) -> Spent:
        return Spent(
            self.calls - other.calls,
            self.input_tokens - other.input_tokens,
            self.output_tokens - other.output_tokens,
            self.cost - other.cost,
        )


NOTHING: Final = Spent()


def parts(spent: Spent, number: int) -> tuple[Spent, ...]:
    """Split evenly among so many payers; what cannot be split goes to the first."""
    each = Spent(
        spent.calls // number,
        spent.input_tokens // number,
        spent.output_tokens // number,
        spent.cost // number,
    )
    rest = spent
    for _ in range(number):
        rest = rest - each
    return (each + rest, *(each for _ in range(number - 1)))


@dataclass(frozen=True, slots=True)
class Price:
    """Money per million tokens; 0 where it is not known or nothing is charged."""

    input: float = 0.0
    output: float = 0.0

    def of(self, input_tokens: int, output_tokens: int) -> int:
        """The cost in millionths, rounded up."""
        return math.ceil(input_tokens * self.input + output_tokens * self.output)

    def spent(self, input_tokens: int, output_tokens: int, *, calls: int = 1) -> Spent:
        """Tokens with what they cost."""
        return Spent(calls, input_tokens, output_tokens, self.of(input_tokens, output_tokens))


NO_PRICE: Final = Price()


@dataclass(frozen=True, slots=True)
class Payer:
    """To whom a call of the model counts. Work behind the replies has no member and no persona."""

    space_id: int
    place_id: int
    member_ids: tuple[int, ...] = ()
    """Who is answered; they share the call evenly."""
    persona_id: int = 0


# ---------------------------------------------------------------- limits
class Scope(StrEnum):
    """Whose tokens or money a limit counts."""

    BOT = "bot"
    SPACE = "server"
    MEMBER = "member"
    PERSONA = "persona"


class Period(StrEnum):
    """Days and months are those of UTC."""

    DAY = "day"
    MONTH = "month"

    def first(self, day: date) -> date:
        """The first day of the period that a day is in."""
        return day if self is Period.DAY else day.replace(day=1)

    def next(self, day: date) -> date:
        """The first day after the period that a day is in."""
        if self is Period.DAY:
            return day + timedelta(days=1)
        return (day.replace(day=1) + timedelta(days=32)).replace(day=1)

    def name_of(self, day: date) -> str:
        """A text that differs from one period to the next, and sorts by time."""
        return day.isoformat()[: 10 if self is Period.DAY else 7]


class Measure(StrEnum):
    """What a limit counts."""

    TOKENS = "tokens"
    COST = "cost"

    def of(self, spent: Spent) -> int:
        """That of the two which it counts."""
        return spent.tokens if self is Measure.TOKENS else spent.cost


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so many tokens, or millionths of money, in a period."""

    scope: Scope
    period: Period
    measure: Measure
    most: int


_PERIODS: Final = {"daily": Period.DAY, "monthly": Period.MONTH}
_SCOPES: Final = {"": Scope.SPACE, "member_": Scope.MEMBER, "persona_": Scope.PERSONA}
KEYS: Final[Mapping[str, tuple[Scope, Period, Measure]]] = {
    f"{prefix}{often}_{measure.value}": (scope, period, measure)
    for prefix, scope in _SCOPES.items()
    for measure in Measure
    for often, period in _PERIODS.items()
}
"""The settings that are limits: `daily_tokens`, `member_monthly_cost`, …"""


def limits_of(values: Mapping[str, object]) -> tuple[Limit, ...]:
    """Return the limits that these settings set; 0 sets none. Money is in the currency's unit there."""
    found = []
    for key, (scope, period, measure) in KEYS.items():
        number = float(str(values.get(key, 0)))
        most = round(number * MILLION) if measure is Measure.COST else round(number)
        if most > 0:
            found.append(Limit(scope, period, measure, most))
    return tuple(found)


def ceilings(
    *, daily_tokens: int = 0, monthly_tokens: int = 0, daily_cost: float = 0.0, monthly_cost: float = 0.0
) -> tuple[Limit, ...]:
    """Return the limits of the whole bot; 0 sets none."""
    wanted = (
        Limit(Scope.BOT, Period.DAY, Measure.TOKENS, daily_tokens),
        Limit(Scope.BOT, Period.MONTH, Measure.TOKENS, monthly_tokens),
        Limit(Scope.BOT, Period.DAY, Measure.COST, round(daily_cost * MILLION)),
        Limit(Scope.BOT, Period.MONTH, Measure.COST, round(monthly_cost * MILLION)),
    )
    return tuple(limit for limit in wanted if limit.most > 0)


# ---------------------------------------------------------------- the ladder
NOTICE_AT: Final = 0.80
SHORTER_AT: Final = 0.85
CHEAPER_AT: Final = 0.90
SHORTER_WINDOW: Final = 0.5
"""The share of the context that a prompt may take once the window is shorter."""


class Step(IntEnum):
    """How near a limit is. Each step keeps what the steps before it do."""

    FREE = 0
    NOTICE = 1
    """Moderators are told, once."""
    SHORTER = 2
    """Prompts get a shorter window."""
    CHEAPER = 3
    """The cheaper model answers, where there is one."""
    SPENT = 4
    """Nobody answers until the period ends."""


@dataclass(frozen=True, slots=True)
class Level:
    """How much of a limit is used."""

    limit: Limit
    used: int

    @property
    def share(self) -> float:
        """1.0 and above: nothing is left."""
        return self.used / self.limit.most

    @property
    def step(self) -> Step:
        """What follows from it."""
        if self.share >= 1:
            return Step.SPENT
        steps = ((CHEAPER_AT, Step.CHEAPER), (SHORTER_AT, Step.SHORTER), (NOTICE_AT, Step.NOTICE))
        return next((step for share, step in steps if self.share >= share), Step.FREE)


def step_of(levels: Sequence[Level]) -> Step:
    """Return the highest step of these: the nearest limit decides."""
    return max((level.step for level in levels), default=Step.FREE)


# ---------------------------------------------------------------- the store
@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a call may be made: the limit that it would pass, or else who shares it."""

    refused: Limit | None = None
    member_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """What one call cost, and what had been set aside for it."""

    payer: Payer
    day: date
    spent: Spent
    reserved: Spent = NOTHING


@dataclass(frozen=True, slots=True)
class Mark:
    """A notice about spending, so that it is given once in its period."""

    space_id: int
    about: str
    period: str
    place_id: int = 0
    member_id: int = 0


class GroupBy(StrEnum):
    """How a report is broken down."""

    DAY = "day"
    PERSONA = "persona_id"
    MEMBER = "member_id"


class UsageStore(Protocol):
    """Counters by day: of the bot and its spaces, and of who in a space used what."""

    async def reserve(self, payer: Payer, day: date, estimate: Spent, limits: Sequence[Limit]) -> Verdict:
        """Adds the estimate unless a limit would be passed; reaching it exactly is allowed. Members over
        their own limit pay nothing as long as another is left who pays."""

    async def add(self, entries: Sequence[Entry]) -> None:
        """Counts what was spent instead of what was reserved, all or nothing; no counter falls below 0."""

    async def levels(self, payer: Payer, day: date, limits: Sequence[Limit]) -> list[Level]:
        """How much of these limits is used; of the payer's members the one counts who used least."""

    async def used(self, space_id: int, first: date, last: date) -> Spent:
        """Tokens (as `input_tokens`) and cost of a space from one day to another, both included; of all
        spaces together for space 0."""

    async def report(
        self, space_id: int, first: date, last: date, *, by: GroupBy, member_id: int | None = None
    ) -> dict[str, Spent]:
        """What was spent in a space in these days, of one member or of all, by day or id."""

    async def daily(
        self, space_id: int, first: date, last: date, *, member_id: int | None = None
    ) -> dict[tuple[str, str], Spent]:
        """The same by day and persona id."""

    async def oldest(self) -> dict[int, date]:
        """The first day of which it is known who used what, for each space of which that is known."""

    async def fold(self, space_id: int, before: date) -> None:
        """Forgets who used what before a day; how much it was stays known."""

    async def is_first(self, mark: Mark) -> bool:
        """True for the first who asks with this mark; it is kept until a later period's comes."""
