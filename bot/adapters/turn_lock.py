"""A lock that lets the more urgent go first."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class TurnLock:
    """One holder at a time; the lowest number waiting goes next, equals in the order they came."""

    def __init__(self) -> None:
        self._held = False
        self._came = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def turn(self, urgency: int) -> AsyncIterator[None]:
        """Wait for the lock and hold it for the block; 0 is the most urgent."""
        await self._acquire(urgency)
        try:
            yield
        finally:
            self._pass_on()

    async def _acquire(self, urgency: int) -> None:
        if not self._held:
            self._held = True
            return
        called = asyncio.get_running_loop().create_future()
        self._came += 1
        heapq.heappush(self._waiting, (urgency, self._came, called))
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():
                self._pass_on()  # called in the same moment as cancelled: the turn is the next one's
            raise

    def _pass_on(self) -> None:
        while self._waiting:
            _, _, called = heapq.heappop(self._waiting)
            if not called.done():
                called.set_result(None)
                return
        self._held = False
