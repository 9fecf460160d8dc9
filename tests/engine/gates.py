"""Holds one call of a store in the middle, so that a test decides what happens meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest


class Held:
    """The next call of a method, made at once, whose answer comes only when the test lets it `go`; with
    `before` it is made only then. All later calls pass."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, thing: object, name: str, *, before: bool = False
    ) -> None:
        self.go = asyncio.Event()
        self._reached = asyncio.Event()
        original = getattr(thing, name)
        taken = False

        async def held(*arguments: Any, **named: Any) -> Any:
            nonlocal taken
            if taken:
                return await original(*arguments, **named)
            taken = True
            if before:
                self._reached.set()
                await self.go.wait()
                return await original(*arguments, **named)
            found = await original(*arguments, **named)
            self._reached.set()
            await self.go.wait()
            return found

        monkeypatch.setattr(thing, name, held)

    async def reached(self) -> None:
        """The call was made, and waits."""
        async with asyncio.timeout(30):
            await self._reached.wait()


async def steps(count: int = 20) -> None:
    """Let everything go on that waits for nothing."""
    for _ in range(count):
        await asyncio.sleep(0)
