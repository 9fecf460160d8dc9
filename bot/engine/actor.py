"""One actor per place: a mailbox, one worker, and all changes of the place's state."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from bot.core.events import MessagePosted
from bot.core.stores import Changed, JournalOutcome, Recorded
from bot.core.types import Place, Turn
from bot.engine.state import Address, PlaceState, ReplyRequest, RunningReply
from bot.errors import StorageError, new_reference

log = logging.getLogger(__name__)

T = TypeVar("T")
Change = Callable[[PlaceState], Awaitable[T]]
MAILBOX = 2000
IDLE_SECONDS = 600.0
"""A place where nothing happens for so long lets go of its state,"""
HURRIED_SECONDS = 30.0
"""or for so long while many are awake: a window of a large context takes a megabyte."""
RETRY_SECONDS = 5.0
"""A place whose state could not be read or written is read again after so long."""


@dataclass(frozen=True, slots=True)
class _Told:
    outcome: JournalOutcome
    event: MessagePosted | None


@dataclass(frozen=True, slots=True)
class _Do:
    change: Change[Any]
    result: asyncio.Future[Any] | None


@dataclass(frozen=True, slots=True)
class _Finished:
    reply: RunningReply


@dataclass(frozen=True, slots=True)
class _Nudge:
    """Look again whether a reply is due, or end when closing."""


_Message = _Told | _Do | _Finished | _Nudge


class Conduct(Protocol):
    """What the actor does with its state; one object shared by all actors. No method awaits a model,
    an embedding or a send."""

    async def load(self, state: PlaceState) -> None:
        """Fill the state from the store."""

    async def recorded(self, state: PlaceState, turn: Turn, event: MessagePosted | None) -> None:
        """A new turn: put it into the window and decide who answers."""

    async def changed(self, state: PlaceState, changed: Changed) -> None:
        """Turns were edited or deleted."""

    def freeze(self, state: PlaceState, addresses: tuple[Address, ...]) -> ReplyRequest:
        """What a reply to these addresses needs."""

    def now(self) -> datetime: ...


Answer = Callable[[RunningReply, "PlaceActor"], Awaitable[None]]
"""Makes a reply, commits it through `PlaceActor.do` and delivers it; runs as the actor's child task."""


class Stumbled(Protocol):
    """Tells the place that something failed in a way nobody foresaw."""

    def __call__(self, place: Place, number: str, *, reply_to: int | None = None) -> None: ...


def in_silence(place: Place, number: str, *, reply_to: int | None = None) -> None:
    """Tells nobody; the log holds it."""


class PlaceActor:
    """Owns one place. `tell` and `do` may be called from anywhere on the loop; order of arrival is kept."""

    def __init__(
        self,
        place: Place,
        *,
        conduct: Conduct,
        answer: Answer,
        retire: Callable[[PlaceActor], None],
        is_crowded: Callable[[], bool] = lambda: False,
        stumbled: Stumbled = in_silence,
    ) -> None:
        """`is_crowded` tells whether many places are awake."""
        self.place = place
        self.state = PlaceState(place)
        self._conduct = conduct
        self._make_answer = answer
        self._retire = retire
        self._is_crowded = is_crowded
        self._stumbled = stumbled
        self._mailbox: asyncio.Queue[_Message] = asyncio.Queue()
        self._missed = False
        self._loaded = False
        self._closing = False
        self._timer: asyncio.TimerHandle | None = None

    # ------------------------------------------------------------ from outside
    def tell(self, outcome: JournalOutcome, event: MessagePosted | None) -> None:
        """Hand over what the journal committed. A full mailbox is read again from the store instead."""
        if self._mailbox.qsize() >= MAILBOX:
            self._missed = True
        else:
            self._mailbox.put_nowait(_Told(outcome, event))

    async def do(self, change: Change[T]) -> T:
        """Run `change` on the state in the actor's order; its result, or its exception, arrives here."""
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._mailbox.put_nowait(_Do(change, result))
        return await result

    def later(self, change: Change[None]) -> None:
        """Run `change` in the actor's order; nobody waits for it, its failure is logged."""
        self._mailbox.put_nowait(_Do(change, None))

    def nudge(self) -> None:
        """Look again whether a reply is due."""
        self._mailbox.put_nowait(_Nudge())

    def reload(self) -> None:
        """Read the state from the store again before anything else."""
        self._missed = True
        self.nudge()

    def close(self) -> None:
        """Take no new replies; end once the mailbox is empty and the running reply is over."""
        self._closing = True
        self.nudge()

    def abort_reply(self) -> None:
        """Stop a running reply that is not being posted yet; it is made again at the next start."""
        if self.state.reply is not None:
            self.state.reply.cancel()

    # ------------------------------------------------------------ the worker
    async def run(self) -> None:
        """Work until closed or idle. Leaves the registry in the same step in which it ends."""
        try:
            while True:
                message = await self._next()
                if message is None:
                    return
                await self._safely(message)
                if self._mailbox.empty():
                    self._consider()
                    if self._closing and self.state.reply is None:
                        return
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._retire(self)

    async def _next(self) -> _Message | None:
        while True:
            try:
                async with asyncio.timeout(HURRIED_SECONDS if self._is_crowded() else IDLE_SECONDS):
                    return await self._mailbox.get()
            except TimeoutError:
                if self._mailbox.empty() and self.state.reply is None and not self.state.pending:
                    return None

    async def _safely(self, message: _Message) -> None:
        try:
            if not self._loaded or self._missed:
                self._missed, self._loaded, self.state.scene = False, False, None
                await self._conduct.load(self.state)
                self._loaded = True
            await self._handle(message)
        except Exception as problem:
            # The one broad catch of the actor: a bad event must not stop its place for ever.
            if isinstance(problem, StorageError):  # what was begun may be half done
                self._missed = True
                self._nudge_after(RETRY_SECONDS)
            if isinstance(message, _Do) and message.result is not None:
                if not message.result.done():
                    message.result.set_exception(problem)
            elif isinstance(problem, StorageError):
                log.warning("Place %s is read again: %s", self.place.id, problem)
            else:
                number = new_reference()
                log.exception("Place %s could not handle an event (ref %s)", self.place.id, number)
                if isinstance(message, _Told) and message.event and not message.event.backfilled:
                    self._stumbled(self.place, number, reply_to=message.event.message_id)

    async def _handle(self, message: _Message) -> None:
        match message:
            case _Told(outcome=Recorded(turn=turn, fresh=fresh), event=event):
                if fresh:
                    await self._conduct.recorded(self.state, turn, event)
            case _Told(outcome=Changed() as changed):
                await self._conduct.changed(self.state, changed)
            case _Do(change=change, result=result):
                value = await change(self.state)
                if result is not None and not result.done():
                    result.set_result(value)
            case _Finished(reply=reply):
                if self.state.reply is reply:
                    self.state.reply = None

    # ------------------------------------------------------------ replies
    def _consider(self) -> None:
        """Start the reply of the persona whose turn it is when the waiting time of its addresses is over."""
        state = self.state
        if self._missed or not self._loaded:
            return  # it is read again first
        if not self._closing:
            state.regroup()
        if state.reply or not state.pending or self._closing:
            return
        if state.scene is None or state.scene.paused:
            state.pending.clear()
            return
        moments = [address.not_before for address in state.pending]
        due = max([*moments, state.hold_until] if state.hold_until else moments)
        wait = (due - self._conduct.now()) / timedelta(seconds=1)
        if wait > 0:
            self._nudge_after(wait)
            return
        batch = state.take_next()
        if batch[0].persona_id in state.personas:
            reply = RunningReply(self._conduct.freeze(state, batch), batch, nudge=self.nudge)
            state.reply = reply
            reply.task = asyncio.create_task(self._answer(reply), name=f"reply in {self.place.id}")
            # Not at the end of its work: one that is given up before it begins has none.
            reply.task.add_done_callback(lambda _: self._mailbox.put_nowait(_Finished(reply)))
        else:
            self.nudge()

    def _nudge_after(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.nudge)

    async def _answer(self, reply: RunningReply) -> None:
        try:
            await self._make_answer(reply, self)
        except asyncio.CancelledError:
            if reply.wanted:
                raise
        except Exception:
            # The edge of the reply's task: `answer` tells the member; this is what it could not handle.
            number = new_reference()
            log.exception("A reply in place %s failed (ref %s)", self.place.id, number)
            if not reply.committed:
                self._stumbled(self.place, number, reply_to=reply.request.answered_message)
