"""Lets background work on this machine stand back while replies are being prepared."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_SECONDS = 0.5
"""So long at most one step of background work waits, or a busy bot would never do any."""


class Calm:
    """From a reply's beginning until the language model is asked for it, processors are scarce."""

    def __init__(self) -> None:
        self._preparing = 0
        self._calm = asyncio.Event()
        self._calm.set()

    @contextmanager
    def disturbed(self) -> Iterator[None]:
        """While a reply is prepared."""
        self._preparing += 1
        self._calm.clear()
        try:
            yield
        finally:
            self._preparing -= 1
            if not self._preparing:
                self._calm.set()

    async def wait(self) -> None:
        """Return when nothing is being prepared, or after half a second."""
        if self._calm.is_set():
            return
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                await self._calm.wait()
        except TimeoutError:
            return
