"""Lets the HTTP client finish its closing when a call is cancelled in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class WholeCalls:
    """Runs calls of a library that is built on anyio, each in a task of its own.

    The pool of the HTTP client shields its closing against the cancellation of anyio only. One of asyncio
    that meets it there leaves connections open that nobody knows any more. So a call is told to end in
    anyio's way.
    """

    def __init__(self) -> None:
        self._ending: set[asyncio.Task[Any]] = set()
        """Given up by their callers, and closing what they had opened."""

    async def run(self, work: Coroutine[Any, Any, T], *, name: str) -> T:
        """The result of `work`. When the caller is cancelled, `work` ends by itself soon after."""
        import anyio  # noqa: PLC0415 - comes with the library, which is loaded late

        scope = anyio.CancelScope()

        async def whole() -> list[T]:
            with scope:
                return [await work]
            return []

        task = asyncio.create_task(whole(), name=name)
        try:
            (found,) = await asyncio.shield(task)
        except asyncio.CancelledError:
            scope.cancel()
            self._ending.add(task)
            task.add_done_callback(self._ended)
            raise
        return found

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._ending.discard(task)
        if not task.cancelled():
            task.exception()  # nobody waits for it

    async def ended(self) -> None:
        """Return when what was given up has closed what it had opened."""
        await asyncio.gather(*self._ending, return_exceptions=True)
