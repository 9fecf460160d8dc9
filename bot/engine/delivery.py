"""Sends what the outbox holds, once each, in order, and settles what a crash left open."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta
from enum import Enum

from bot.core.ports import Messenger
from bot.core.stores import PersonaStore, TurnStore
from bot.core.types import OutboxRow, Persona, Place, Turn
from bot.engine.jobs import Jobs
from bot.errors import DeliveryError, StorageError

log = logging.getLogger(__name__)

ATTEMPTS = 3
STALE = timedelta(minutes=10)
SETTLE_AFTER = (10.0, 30.0, 60.0, 120.0, 240.0)
"""Seconds between looks for a message of which nobody can tell whether it arrived."""
NOTE_SECONDS = 5.0
"""What could not be stored is tried again after so long."""


class _Sent(Enum):
    YES = "yes"
    NO = "no"
    UNTAKEN = "untaken"
    """Not now, but perhaps soon: members are told."""
    UNKNOWN = "unknown"


Dropped = Callable[[Place, Sequence[OutboxRow], Sequence[Turn]], Awaitable[None]]


async def _forget_nothing(place: Place, rows: Sequence[OutboxRow], answers: Sequence[Turn]) -> None:
    """Where nobody keeps what was to be said."""


class _Hushed(Exception):
    """Nobody may speak there now."""


class Delivery:
    """The only one that speaks for personas. What belongs to the story is committed as rows of the outbox
    before it comes here."""

    def __init__(
        self,
        *,
        messenger: Messenger,
        turns: TurnStore,
        personas: PersonaStore,
        now: Callable[[], datetime],
        pause: float = 1.0,
        silent: Callable[[Place], Awaitable[bool]] | None = None,
        dropped: Dropped = _forget_nothing,
        untaken: Callable[[Place, int], None] = lambda place, reply_to: None,
    ) -> None:
        """`silent` tells where nobody may speak now; `dropped` hears of rows that will not be sent and of the
        turns that they answer, `untaken` of an answer that Discord did not take just now, and to which
        message."""
        self._messenger = messenger
        self._turns = turns
        self._personas = personas
        self._now = now
        self._pause = pause
        self._silent = silent
        self._dropped = dropped
        self._untaken = untaken
        self._left: frozenset[int] = frozenset()
        """Rows that a process before this one left open."""
        self._speaking: dict[asyncio.Task[int], Place] = {}
        self._locks: dict[int, asyncio.Lock] = {}
        self._jobs = Jobs()
        self._settling = Jobs()

    def later(self, place: Place, persona: Persona, rows: Sequence[OutboxRow]) -> None:
        """Send in the background, behind what the place is being sent already."""
        self._jobs.start(self.send(place, persona, rows), name=f"sending to {place.id}")

    @property
    def busy(self) -> bool:
        """Whether something is still on its way."""
        return self._jobs.busy

    async def quiet(self, place_ids: Collection[int], within: float) -> None:
        """Wait until what is being sent to these places has been sent, for at most `within` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                for place_id in place_ids:
                    async with self._locks.setdefault(place_id, asyncio.Lock()):
                        pass

    async def close(self, grace: float) -> None:
        """Let sending end; what is cut short is settled at the next start."""
        await self._settling.close()
        await self._jobs.close(grace)

    async def send(
        self, place: Place, persona: Persona, rows: Sequence[OutboxRow], *, answers: Sequence[Turn] = ()
    ) -> None:
        """Send all rows, which answer these turns, in order. When the place does not take them, the rest is
        abandoned.

        Where nobody can tell whether a row arrived, it and the rest stay open and are settled later, at the
        latest with the next start: rather late than twice.
        """
        async with self._locks.setdefault(place.id, asyncio.Lock()):
            await self._send_rows(place, persona, rows, answers)

    async def aside(self, place: Place, persona: Persona, text: str, *, reply_to: int | None = None) -> None:
        """Have the persona say, once and behind what the place is being sent, what is no part of the story:
        it is not stored, nor said again when it does not arrive. Silent where nobody may speak now.

        DeliveryError when the place does not take it, or nobody can tell.
        """
        async with self._locks.setdefault(place.id, asyncio.Lock()):
            with contextlib.suppress(_Hushed):
                await self._speak(place, persona, text, secrets.token_urlsafe(12), reply_to)

    async def _send_rows(
        self, place: Place, persona: Persona, rows: Sequence[OutboxRow], answers: Sequence[Turn]
    ) -> None:
        reply_to = answers[-1].last_message if answers else None
        for position, row in enumerate(rows):
            sent = await self._send_one(place, persona, row, None if row.part else reply_to)
            if sent is _Sent.UNKNOWN:
                later = self._settle_later(place, persona, row, answers)
                self._settling.start(later, name=f"settle {row.id}")
                return
            if sent is not _Sent.YES:
                for left in rows[position:]:
                    await self._turns.abandon(left.id)
                await self._dropped(place, rows, answers)
                if sent is _Sent.UNTAKEN and reply_to is not None:
                    self._untaken(place, reply_to)
                return

    async def _settle_later(
        self, place: Place, persona: Persona, unknown: OutboxRow, answers: Sequence[Turn]
    ) -> None:
        """Look now and then whether the row arrived after all; then send what is left of its turn."""
        for wait in SETTLE_AFTER:
            await asyncio.sleep(wait * self._pause)
            async with self._locks.setdefault(place.id, asyncio.Lock()):
                rows = [row for row in await self._turns.open_outbox() if row.turn_id == unknown.turn_id]
                if not rows or rows[0].id != unknown.id:
                    return  # deleted meanwhile
                found = await self._look(unknown, place, attempts=1)
                if found is _Sent.UNKNOWN:
                    continue
                if isinstance(found, int):
                    await self._note_sent(unknown.id, found)
                    rows = rows[1:]
                await self._send_rows(place, persona, rows, answers)
                return

    async def _send_one(
        self, place: Place, persona: Persona, row: OutboxRow, reply_to: int | None = None
    ) -> _Sent:
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(self._pause * attempt)
            try:
                message_id = await self._speak(place, persona, row.text, row.nonce, reply_to)
            except _Hushed:
                await asyncio.sleep(self._pause)  # what was cut off may still arrive
                found = await self._look(row, place, attempts=1)
                if not isinstance(found, int):
                    return _Sent.NO
                message_id = found
            except DeliveryError as problem:
                if not problem.uncertain:
                    log.warning("Place %s does not take the message: %s", place.id, problem)
                    return _Sent.NO if problem.refused else _Sent.UNTAKEN
                found = await self._look(row, place)
                if isinstance(found, _Sent):
                    return found
                if found is None:
                    continue
                message_id = found
            await self._note_sent(row.id, message_id)
            return _Sent.YES
        log.warning("Place %s: a message could not be sent in %s attempts", place.id, ATTEMPTS)
        return _Sent.UNTAKEN

    async def _note_sent(self, row_id: int, message_id: int) -> None:
        """The message stands in the channel: where the database takes nothing now, it is told later."""
        try:
            await self._turns.sent(row_id, message_id)
        except StorageError as problem:
            log.warning("It is not stored yet that a message was sent: %s", problem)
            if not self._jobs.closing:
                self._jobs.start(self._note_later(row_id, message_id), name=f"note that {row_id} was sent")

    async def _note_later(self, row_id: int, message_id: int) -> None:
        while True:
            await asyncio.sleep(NOTE_SECONDS)
            with contextlib.suppress(StorageError):
                await self._turns.sent(row_id, message_id)
                return

    def hush(self, covers: Callable[[Place], bool]) -> int:
        """Stop speaking in these places in the middle of a send; how many sends that were."""
        stopped = [task for task, place in self._speaking.items() if covers(place)]
        for task in stopped:
            task.cancel()
        return len(stopped)

    async def _speak(
        self, place: Place, persona: Persona, text: str, nonce: str, reply_to: int | None
    ) -> int:
        """The id of the message. Raises _Hushed instead of speaking, or when it is cut off in the middle."""
        if self._silent is not None and await self._silent(place):
            raise _Hushed
        speak = self._messenger.speak(place, persona, text, nonce=nonce, reply_to=reply_to)
        task = asyncio.create_task(_awaited(speak), name=f"speaking in {place.id}")
        self._speaking[task] = place
        try:
            return await task
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if own is not None and own.cancelling():
                raise
            raise _Hushed from None
        finally:
            del self._speaking[task]

    async def _look(self, row: OutboxRow, place: Place, attempts: int = ATTEMPTS) -> int | _Sent | None:
        """The id of the message the row became, None when it is not there, UNKNOWN when nobody can tell."""
        for attempt in range(attempts):
            await asyncio.sleep(self._pause * attempt)
            try:
                return await self._messenger.find_spoken(row, place)
            except DeliveryError as problem:
                log.warning("Place %s cannot be read: %s", place.id, problem)
        return _Sent.UNKNOWN

    async def prepare(self) -> None:
        """Before anything is said: what is open now is what `settle` is about."""
        self._left = frozenset(row.id for row in await self._turns.open_outbox())

    async def settle(self, place_of: Callable[[int], Place | None]) -> set[int]:
        """Once messages can be sent: each row that was left open is looked up in its channel, sent when
        fresh, abandoned when stale. The ids of the places where an answer is owed again."""
        again: set[int] = set()
        for left in await self._turns.open_outbox():
            if left.id in self._left:
                async with self._locks.setdefault(left.place_id, asyncio.Lock()):
                    row = await self._still_open(left.id)
                    if row is not None and not await self._is_settled(row, place_of(row.place_id)):
                        again.add(row.place_id)
        return again

    async def _still_open(self, row_id: int) -> OutboxRow | None:
        """The row as it is now: while others were looked for it may have been deleted or forgotten."""
        return next((row for row in await self._turns.open_outbox() if row.id == row_id), None)

    async def _is_settled(self, row: OutboxRow, place: Place | None) -> bool:
        """False when it was abandoned."""
        persona = await self._personas.get(row.persona_id) if row.persona_id else None
        fresh = self._now() - row.created_at < STALE
        found = await self._look(row, place) if place else None
        if isinstance(found, int):
            await self._turns.sent(row.id, found)
            return True
        if found is _Sent.UNKNOWN and fresh:
            return True
        if place and persona and fresh and await self._taken(place, persona, row):
            return True
        await self._turns.abandon(row.id)
        return False

    async def _taken(self, place: Place, persona: Persona, row: OutboxRow) -> bool:
        return await self._send_one(place, persona, row) in {_Sent.YES, _Sent.UNKNOWN}


async def _awaited(speak: Awaitable[int]) -> int:
    return await speak
