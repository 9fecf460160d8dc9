"""Limits of tokens and money: reserved before a call, corrected from what the server says it cost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final

from bot.core.spending import NOTHING, Entry, Level, Limit, Payer, Spent, UsageStore, limits_of
from bot.engine.jobs import Jobs
from bot.engine.options import Options
from bot.errors import StorageError

log = logging.getLogger(__name__)

MOST_SECONDS: Final = 2.0
"""How long an end waits for what is being counted."""


class OverLimit(Exception):
    """A call would pass a limit; nothing was asked."""

    def __init__(self, limit: Limit) -> None:
        super().__init__(f"the limit of {limit.measure} for each {limit.period} of a {limit.scope}")
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Reservation:
    """What is set aside for one call; `stored` of it is counted already."""

    payer: Payer
    day: date
    stored: Spent


class Limits:
    """Counts by UTC day for the whole bot, each server, and each member and persona in it."""

    def __init__(
        self,
        *,
        store: UsageStore,
        options: Options,
        ceilings: Sequence[Limit],
        now: Callable[[], datetime],
    ) -> None:
        """`ceilings` hold for the whole bot, whatever the settings of a server are."""
        self._store = store
        self._options = options
        self._ceilings = tuple(ceilings)
        self._now = now
        self._jobs = Jobs()
        self._open: list[Entry] = []
        self._counting = False
        """Whether somebody will count what is open."""
        self._turn = asyncio.Lock()

    @property
    def today(self) -> date:
        """The day that is counted now."""
        return self._now().date()

    async def reserve(self, payer: Payer, estimate: Spent) -> Reservation:
        """Set aside what a call may cost. Without any limit nothing is written yet. Raises OverLimit."""
        limits, day = await self._of(payer), self.today
        if not limits:
            return Reservation(payer, day, NOTHING)
        verdict = await self._store.reserve(payer, day, estimate, limits)
        if verdict.refused is not None:
            raise OverLimit(verdict.refused)
        return Reservation(replace(payer, member_ids=verdict.member_ids), day, estimate)

    def settle(self, reservation: Reservation, spent: Spent) -> None:
        """Count what the call cost instead of the estimate; a failed call cost nothing. Nobody waits for it:
        it is written soon, together with others."""
        if spent == reservation.stored:
            return
        self._open.append(Entry(reservation.payer, reservation.day, spent, reservation.stored))
        if not self._counting and not self._jobs.closing:
            self._counting = True
            self._jobs.start(self._count(), name="count what was spent")

    async def _count(self) -> None:
        try:
            await self.settled()
        finally:
            self._counting = False

    async def settled(self) -> None:
        """All calls that have ended are counted."""
        async with self._turn:
            while self._open:
                some, self._open = self._open, []
                try:
                    await self._store.add(some)
                except StorageError:
                    self._open = some + self._open
                    raise

    async def close(self) -> None:
        """Count what is not counted yet."""
        await self._jobs.close(MOST_SECONDS)
        try:
            await self.settled()
        except StorageError as problem:
            log.error("What %s calls of the model cost is not counted: %s", len(self._open), problem)

    async def levels(self, payer: Payer) -> list[Level]:
        """How much of each limit that holds for a payer is used."""
        limits = await self._of(payer)
        return await self._store.levels(payer, self.today, limits) if limits else []

    async def _of(self, payer: Payer) -> tuple[Limit, ...]:
        await self._options.load(payer.space_id)
        own = limits_of(self._options.known(payer.space_id, payer.place_id))
        return (*self._ceilings, *(limit for limit in own if _concerns(limit, payer)))


def _concerns(limit: Limit, payer: Payer) -> bool:
    """Work behind the replies counts to no member and to no persona."""
    if limit.scope == "member":
        return bool(payer.member_ids)
    return limit.scope != "persona" or bool(payer.persona_id)
