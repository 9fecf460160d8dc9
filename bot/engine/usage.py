"""What the language model was used for: sums of today and the month, and the last thirty days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from bot.core.pictures import Days
from bot.core.spending import NOTHING, GroupBy, Level, Payer, Period, Scope, Spent, UsageStore
from bot.core.stores import PersonaStore
from bot.core.types import Place
from bot.engine.limits import Limits
from bot.engine.paid_calls import Spending

DAYS: Final = 30
MOST_SERIES: Final = 5
BEHIND: Final = "notes and drafts"
"""What no persona said: work behind the replies."""
_GONE: Final = "personas that are gone"
_REST: Final = "others"


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table."""

    name: str
    today: Spent
    month: Spent
    id: int = 0
    """Of the persona or member; 0 for nobody."""


@dataclass(frozen=True, slots=True)
class Overview:
    """What was spent in a server, or for answers to one member."""

    total: Line
    personas: tuple[Line, ...]
    """Who used most in the month comes first."""
    members: tuple[Line, ...]
    levels: tuple[Level, ...]
    """The limits that hold, and how much of them is used."""
    currency: str
    priced: bool
    """Whether money is counted."""


class Usage:
    """Permissions are the caller's job."""

    def __init__(
        self, *, store: UsageStore, limits: Limits, personas: PersonaStore, spending: Spending
    ) -> None:
        self._store = store
        self._limits = limits
        self._personas = personas
        self._spending = spending

    async def overview(self, place: Place, *, member_id: int | None = None) -> Overview:
        """Of the whole server, or of answers to one member alone."""
        await self._limits.settled()
        names = await self._names(place.space_id)
        personas = await self._lines(place.space_id, GroupBy.PERSONA, member_id)
        members = () if member_id else await self._lines(place.space_id, GroupBy.MEMBER, None)
        return Overview(
            total=_total(personas),
            personas=tuple(_named(line, names) for line in personas),
            members=tuple(line for line in members if line.id),
            levels=tuple(await self._levels(place, member_id)),
            currency=self._spending.currency,
            priced=self._spending.priced,
        )

    async def days(self, place: Place, title: str, *, member_id: int | None = None) -> Days:
        """Tokens of the last thirty days by persona, for a picture."""
        await self._limits.settled()
        last = self._limits.today
        days = [last - timedelta(days=ago) for ago in reversed(range(DAYS))]
        found = await self._store.daily(place.space_id, days[0], last, member_id=member_id)
        names = await self._names(place.space_id)
        series: dict[str, list[int]] = {}
        for (day, persona_id), spent in found.items():
            values = series.setdefault(_name(int(persona_id), names), [0] * DAYS)
            values[(date.fromisoformat(day) - days[0]).days] += spent.tokens
        return Days(title, tuple(f"{day:%d.%m.}" for day in days), _largest(series))

    async def settled(self) -> None:
        """All calls that have ended are counted."""
        await self._limits.settled()

    async def close(self) -> None:
        """Count what is not counted yet."""
        await self._limits.close()

    async def _lines(self, space_id: int, by: GroupBy, member_id: int | None) -> list[Line]:
        today = self._limits.today
        first = Period.MONTH.first(today)
        month = await self._store.report(space_id, first, today, by=by, member_id=member_id)
        day = await self._store.report(space_id, today, today, by=by, member_id=member_id)
        lines = [Line(key, day.get(key, NOTHING), spent, int(key)) for key, spent in month.items()]
        return sorted(lines, key=lambda line: (-line.month.tokens, line.id))

    async def _levels(self, place: Place, member_id: int | None) -> list[Level]:
        if member_id is None:
            return await self._limits.levels(Payer(place.space_id, place.id))
        found = await self._limits.levels(Payer(place.space_id, place.id, (member_id,)))
        return [level for level in found if level.limit.scope is Scope.MEMBER]

    async def _names(self, space_id: int) -> dict[int, str]:
        return {persona.id: persona.name for persona in await self._personas.of_space(space_id)}


def _total(lines: list[Line]) -> Line:
    today = month = NOTHING
    for line in lines:
        today, month = today + line.today, month + line.month
    return Line("all", today, month)


def _named(line: Line, names: dict[int, str]) -> Line:
    return Line(_name(line.id, names), line.today, line.month)


def _name(persona_id: int, names: dict[int, str]) -> str:
    return names.get(persona_id, _GONE) if persona_id else BEHIND


def _largest(series: dict[str, list[int]]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The largest by name, the rest together."""
    ordered = sorted(series.items(), key=lambda item: -sum(item[1]))
    shown = [(name, tuple(values)) for name, values in ordered[:MOST_SERIES]]
    rest = [values for _, values in ordered[MOST_SERIES:]]
    if rest:
        shown.append((_REST, tuple(map(sum, zip(*rest, strict=True)))))
    return tuple(shown)
