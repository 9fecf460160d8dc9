"""Keeps one member or one server from taking all: how often, how many at once, how many in the making."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from typing import Final

from bot.core.spending import Payer

MINUTE: Final = timedelta(minutes=1)
MEMBER_SHARE: Final = 4
"""One member has at most every fourth place among the replies in the making of a server."""
_KEPT: Final = 2000
_Key = tuple[int, int]


class Rates:
    """How often members address personas, over the last minute, in all channels of a server together."""

    def __init__(self, *, now: Callable[[], datetime]) -> None:
        self._now = now
        self._granted: dict[_Key, deque[datetime]] = {}
        self._refused: dict[_Key, datetime] = {}

    def allows(self, space_id: int, member_id: int, most: int) -> bool:
        """Whether the member may address a persona now; counted when it is so. 0 is no limit."""
        if not most:
            return True
        now, key = self._now(), (space_id, member_id)
        times = self._granted.setdefault(key, deque())
        while times and now - times[0] >= MINUTE:
            times.popleft()
        if len(times) >= most:
            return False
        times.append(now)
        self._prune(now)
        return True

    def is_first_refusal(self, space_id: int, member_id: int) -> bool:
        """Whether the member has not been refused in the last minute: then it is told, and only then."""
        now, key = self._now(), (space_id, member_id)
        last = self._refused.get(key)
        self._refused[key] = now
        return last is None or now - last >= MINUTE

    def floods(self, space_id: int, member_id: int) -> bool:
        """Whether the member was refused in the last minute."""
        last = self._refused.get((space_id, member_id))
        return last is not None and self._now() - last < MINUTE

    def forget(self, member_id: int) -> None:
        """Nothing of this member stays."""
        self._granted = {key: times for key, times in self._granted.items() if key[1] != member_id}
        self._refused = {key: last for key, last in self._refused.items() if key[1] != member_id}

    def _prune(self, now: datetime) -> None:
        if len(self._granted) + len(self._refused) > _KEPT:
            self._granted = {
                key: times for key, times in self._granted.items() if times and now - times[-1] < MINUTE
            }
            self._refused = {key: last for key, last in self._refused.items() if now - last < MINUTE}


class Crowded(Exception):
    """Too many replies are in the making."""


class Crowd:
    """Replies in the making, by server and member, and how many of one member ask the model at once."""

    def __init__(self, *, slots: int, rates: Rates) -> None:
        """`slots` are all calls of the model at once; one member gets at most half of them."""
        self._rates = rates
        self._most_calls = max(1, slots // 2)
        self._making: Counter[_Key] = Counter()
        """Of a server as a whole under the member 0."""
        self._lines: dict[_Key, asyncio.Semaphore] = {}
        self._in_line: Counter[_Key] = Counter()

    @contextmanager
    def entered(self, payer: Payer, most: int) -> Iterator[None]:
        """Count a reply in the making. Raises Crowded when the server has `most` already (0 is no limit), or
        everybody whom it answers has a share of their own that is full."""
        whole = (payer.space_id, 0)
        keys = [(payer.space_id, member_id) for member_id in payer.member_ids if member_id]
        theirs = min((self._making[key] for key in keys), default=0)
        if most and (self._making[whole] >= most or theirs >= max(1, most // MEMBER_SHARE)):
            raise Crowded
        self._making.update([whole, *keys])
        try:
            yield
        finally:
            _take(self._making, [whole, *keys])

    def is_flood(self, payer: Payer) -> bool:
        """Whether a reply is for nobody but members who ask far too often."""
        floods = [self._rates.floods(payer.space_id, member_id) for member_id in payer.member_ids]
        return bool(floods) and all(floods)

    def is_elsewhere(self, payer: Payer) -> bool:
        """Whether everybody whom a reply answers has others in the making as well."""
        making = [self._making[payer.space_id, member_id] for member_id in payer.member_ids]
        return bool(making) and min(making) > 1

    def member(self, payer: Payer) -> int:
        """For whom a reply stands in line: of those it answers, the one who asks for least; 0 for nobody."""
        return min(
            payer.member_ids, key=lambda member_id: self._in_line[payer.space_id, member_id], default=0
        )

    @asynccontextmanager
    async def line(self, space_id: int, member_id: int) -> AsyncIterator[None]:
        """Wait until the member has fewer calls of the model under way than one member may."""
        if not member_id:
            yield
            return
        key = (space_id, member_id)
        line = self._lines.setdefault(key, asyncio.Semaphore(self._most_calls))
        self._in_line[key] += 1
        try:
            async with line:
                yield
        finally:
            _take(self._in_line, [key])
            if not self._in_line[key]:
                self._lines.pop(key, None)


def _take(counter: Counter[_Key], keys: Sequence[_Key]) -> None:
    counter.subtract(keys)
    for key in keys:
        if counter[key] <= 0:
            del counter[key]
