"""A messenger whose only channel is the terminal: what a persona says is printed, under ids of our own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime

from bot.core.events import MessagePosted, snowflake
from bot.core.types import OutboxRow, Persona, Place
from bot.terminal import Screen


class MessageIds:
    """Ids like Discord's: they grow, also over restarts."""

    def __init__(self, *, now: Callable[[], datetime]) -> None:
        self._now = now
        self._last = 0

    def next(self) -> int:
        """A new id, larger than all before."""
        self._last = max(self._last + 1, snowflake(self._now()))
        return self._last


class ConsoleMessenger:
    """Prints. A reply that was shown while it came is not printed twice."""

    def __init__(self, *, screen: Screen, ids: MessageIds) -> None:
        self._screen = screen
        self._ids = ids
        self._speaker = ""
        self._shown = ""
        self._spoken = asyncio.Event()

    def stream(self, place_id: int, persona: str, delta: str) -> None:
        """A piece of a reply that is still being made. Shown only where a person watches."""
        if not self._screen.interactive or not delta:
            return
        if not self._shown:
            self._speaker = persona
            self._screen.end_line()
            self._screen.piece(f"{persona}: ")
        self._shown += delta
        self._screen.piece(delta)

    async def speak(
        self, place: Place, persona: Persona, text: str, *, nonce: str, reply_to: int | None = None
    ) -> int:
        """Print what the persona says, or the rest of it."""
        shown = self._shown.lstrip()
        if shown and self._speaker == persona.name and shown.startswith(text):
            self._shown = shown[len(text) :]
        elif shown and self._speaker == persona.name and text.startswith(shown):
            self._screen.piece(text[len(shown) :])
            self._shown = ""
        else:
            self._screen.line(f"{persona.name}: {text}")
            self._shown = ""
        if not self._shown.strip():
            self._shown = ""
            self._screen.end_line()
        self._spoken.set()
        return self._ids.next()

    async def notice(self, place: Place, text: str, *, reply_to: int | None = None) -> int:
        """Print a line of the bot's own."""
        self._shown = ""
        self._screen.line(f"· {text}")
        self._spoken.set()
        return self._ids.next()

    async def typing(self, place: Place) -> None:
        """Nothing to do: the console shows itself that it waits."""

    async def history(self, place: Place, *, after: int) -> AsyncIterator[MessagePosted]:
        """Nothing is said here while the program is not running."""
        return
        yield

    async def find_spoken(self, row: OutboxRow, place: Place) -> int | None:
        """What was not reported as printed counts as not printed."""
        return None

    async def spoke(self, within: float) -> bool:
        """Whether something was printed since the last call, or is within so many seconds."""
        try:
            async with asyncio.timeout(within):
                await self._spoken.wait()
        except TimeoutError:
            return False
        finally:
            self._spoken.clear()
        return True
