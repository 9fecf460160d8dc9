"""Daily token limits: reserved before a call, corrected from what the server says it cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot.core.chat import Completion
from bot.core.stores import SettingsStore


@dataclass(frozen=True, slots=True)
class Reservation:
    """Tokens set aside for one call; `stored` of them are counted already."""

    space_id: int
    day: str
    tokens: int
    stored: int


class Limits:
    """Counts per guild and for the whole bot, by UTC day. A limit of 0 means none."""

    def __init__(self, *, store: SettingsStore, total_limit: int, now: Callable[[], datetime]) -> None:
        self._store = store
        self._total_limit = total_limit
        self._now = now

    async def reserve(self, space_id: int, tokens: int, *, space_limit: int) -> Reservation | None:
        """Set tokens aside; None when a limit would be passed. Without any limit nothing is written yet."""
        day = self._now().date().isoformat()
        if not space_limit and not self._total_limit:
            return Reservation(space_id, day, tokens, 0)
        granted = await self._store.reserve(
            space_id, day, tokens, space_limit=space_limit, total_limit=self._total_limit
        )
        return Reservation(space_id, day, tokens, tokens) if granted else None

    async def settle(self, reservation: Reservation, completion: Completion | None) -> None:
        """Replace the estimate by the real cost: nothing for a failed call; without usage it stays."""
        if completion is None:
            used = 0
        elif completion.usage is None:
            used = reservation.tokens
        else:
            used = completion.usage.prompt_tokens + completion.usage.completion_tokens
        if used != reservation.stored:
            await self._store.correct(reservation.space_id, reservation.day, used - reservation.stored)

    async def used_today(self, space_id: int) -> int:
        """Tokens of the space since midnight UTC."""
        return await self._store.used(space_id, self._now().date().isoformat())
