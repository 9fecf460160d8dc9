"""Lets searches of a table run together, one writer beside them, and now and then somebody all alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class TableGate:
    """Who may use one table at the same time.

    Searches never wait for a writer, since a table's versions are immutable; they wait only while old
    versions are being deleted, which would pull files from under them.
    """

    def __init__(self) -> None:
        self._writer = asyncio.Lock()
        self._open = asyncio.Event()
        self._open.set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._readers = 0

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Beside other readers and a writer, not beside `alone`."""
        while not self._open.is_set():
            await self._open.wait()
        self._readers += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._readers -= 1
            if not self._readers:
                self._idle.set()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """One at a time, beside readers."""
        async with self._writer:
            yield

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Without readers. Only for the holder of `writing`."""
        self._open.clear()
        try:
            await self._idle.wait()
            yield
        finally:
            self._open.set()
