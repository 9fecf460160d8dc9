"""Lets into memory only what may be said: looks at members' messages before anything else does."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bot.core.events import Event, MessageEdited, MessagePosted, MessagesDeleted
from bot.core.types import Place
from bot.engine.guarding import Guard, Whose
from bot.engine.jobs import Jobs
from bot.engine.notices import Notices

TakeIn = Callable[[Event], object]
REFUSED: Final = (
    "That message breaks the rules of this server for scenes: no persona reads it, and it is not remembered."
)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What goes on when everything before it has; `refused` is being found out, or known."""

    go_on: Callable[[bool], None]
    refused: asyncio.Task[bool] | bool = False


class Screening:
    """In each place, what is heard goes on in the order in which it came, whatever takes long to check.

    What was refused never reaches the journal: no turn, no window, no key, no fact. An edit that is refused
    takes its message out of memory, as if it had been deleted. What waits here when the process ends was not
    written, so it is read from the channel's history again.
    """

    def __init__(self, *, guard: Guard, notices: Notices) -> None:
        self._guard = guard
        self._notices = notices
        self._waiting: dict[int, deque[_Waiting]] = {}
        self._jobs = Jobs()

    def hear(self, event: Event, place: Place, take_in: TakeIn) -> None:
        """Hand the event to `take_in`, at once or when it was checked; never when it is refused."""

        def go_on(refused: bool) -> None:
            if refused:
                self._refuse(event, place, take_in)
            else:
                take_in(event)

        text = "" if isinstance(event, MessagesDeleted) else event.text
        blocked = bool(text) and self._guard.blocks(place, text)
        if text and not blocked and self._guard.asks(place, Whose.MEMBER) and not self._jobs.closing:
            asking = self._guard.refuses(place, text, Whose.MEMBER)
            self._queue(place.id, _Waiting(go_on, asyncio.create_task(asking, name=f"check in {place.id}")))
        elif place.id in self._waiting:
            self._queue(place.id, _Waiting(go_on, blocked))
        else:
            go_on(blocked)

    @property
    def busy(self) -> bool:
        """Whether something is being checked."""
        return bool(self._waiting)

    async def flushed(self) -> None:
        """What was heard until now has gone on."""
        gone_on = []
        for queue in self._waiting.values():  # all before any is waited for: a queue that ends is thrown away
            gone_on.append(asyncio.Event())
            queue.append(_Waiting(lambda _, done=gone_on[-1]: done.set()))  # type: ignore[misc]
        for done in gone_on:
            await done.wait()

    async def close(self, grace: float) -> None:
        """Let what waits go on for so long; the rest is read from the channels at the next start."""
        await self._jobs.close(grace)

    def _queue(self, place_id: int, one: _Waiting) -> None:
        if place_id in self._waiting:
            self._waiting[place_id].append(one)
        elif not self._jobs.closing:
            self._waiting[place_id] = deque([one])
            self._jobs.start(self._in_order(place_id), name=f"messages to check in {place_id}")

    async def _in_order(self, place_id: int) -> None:
        queue = self._waiting[place_id]
        try:
            while queue:
                one = queue[0]
                refused = one.refused if isinstance(one.refused, bool) else await one.refused
                queue.popleft()
                one.go_on(refused)
        finally:
            del self._waiting[place_id]
            for left in queue:
                if isinstance(left.refused, asyncio.Task):
                    left.refused.cancel()

    def _refuse(self, event: Event, place: Place, take_in: TakeIn) -> None:
        if isinstance(event, MessageEdited):
            take_in(MessagesDeleted(event.place_id, (event.message_id,)))
            self._notices.hint(place, REFUSED, reply_to=event.message_id)
        elif isinstance(event, MessagePosted) and not event.backfilled:
            self._notices.hint(place, REFUSED, reply_to=event.message_id)
