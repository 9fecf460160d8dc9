"""How long the event loop did not get on while something was done."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

TICK_S = 0.005


@contextlib.asynccontextmanager
async def gaps() -> AsyncIterator[list[float]]:
    """Yields a list that fills with the seconds from each tick to the next."""
    found = [0.0]

    async def tick() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK_S)
            found.append(time.perf_counter() - began)

    ticking = asyncio.create_task(tick())
    try:
        yield found
    finally:
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)
