"""A few slots shared by many places: replies before background work, places in turn."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from enum import IntEnum
from types import TracebackType


class Priority(IntEnum):
    """Smaller goes first."""

    REPLY = 0
    BACKGROUND = 1


class GiveWay(Exception):
    """Raised out of a background hold that was interrupted because a reply waits. Try again later."""


@dataclass(slots=True, eq=False)
class _Queue:
    """Waiters of one priority; places take turns, within a place the first comes first."""

    places: OrderedDict[int, deque[asyncio.Future[None]]] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return sum(len(waiters) for waiters in self.places.values())

    def push(self, place_id: int, waiter: asyncio.Future[None]) -> None:
        self.places.setdefault(place_id, deque()).append(waiter)

    def pop(self) -> asyncio.Future[None]:
        place_id, waiters = self.places.popitem(last=False)
        waiter = waiters.popleft()
        if waiters:
            self.places[place_id] = waiters
        return waiter

    def remove(self, place_id: int, waiter: asyncio.Future[None]) -> None:
        waiters = self.places.get(place_id, deque())
        if waiter in waiters:
            waiters.remove(waiter)
            if not waiters:
                del self.places[place_id]


class FairSlots:
    """At most `count` holders at a time, for a model, an encoder or a writer.

    A free slot goes to a waiting reply first. Among waiters of one priority, places are served in
    turn, so a busy place cannot keep a quiet one waiting. Background work is not started while a
    reply waits, and a background holder is asked to give way when a reply finds no free slot.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError("there must be at least one slot")
        self._free = count
        self._queues = {priority: _Queue() for priority in Priority}
        self._yielding: list[Slot] = []  # background holders, oldest first

    @property
    def replies_waiting(self) -> int:
        """How many replies wait for a slot now."""
        return len(self._queues[Priority.REPLY])

    def hold(self, place_id: int, *, priority: Priority = Priority.REPLY, interruptible: bool = True) -> Slot:
        """Return the slot to be held by `async with`.

        A background holder that is `interruptible` is cancelled at its current await when it has to
        give way, and `GiveWay` leaves its `async with` block. One that is not (its work runs in a
        thread) should look at `Slot.wanted` between two pieces of work and leave early.
        """
        return Slot(self, place_id=place_id, priority=priority, interruptible=interruptible)

    async def _acquire(self, slot: Slot) -> None:
        if self._free:
            self._free -= 1
            return
        await self._wait(slot)
        while slot.priority is Priority.BACKGROUND and self.replies_waiting:
            self._release()  # a reply came between the grant and this step
            await self._wait(slot)

    async def _wait(self, slot: Slot) -> None:
        queue = self._queues[slot.priority]
        waiter = asyncio.get_running_loop().create_future()
        queue.push(slot.place_id, waiter)
        if slot.priority is Priority.REPLY:
            self._ask_to_give_way()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._release()  # the slot was handed over in the step of the cancellation
            else:
                queue.remove(slot.place_id, waiter)
            raise

    def _release(self) -> None:
        for queue in self._queues.values():
            while queue:
                waiter = queue.pop()
                if not waiter.done():
                    waiter.set_result(None)
                    return
        self._free += 1

    def _ask_to_give_way(self) -> None:
        """Ask one background holder per waiting reply, the youngest first: it loses the least work."""
        missing = self.replies_waiting - sum(slot.wanted for slot in self._yielding)
        for slot in reversed(self._yielding):
            if missing <= 0:
                return
            if not slot.wanted:
                slot._ask()
                missing -= 1


class Slot:
    """One place's hold on a slot, entered once. Made by `FairSlots.hold`."""

    def __init__(self, owner: FairSlots, *, place_id: int, priority: Priority, interruptible: bool) -> None:
        self.place_id = place_id
        self.priority = priority
        self._owner = owner
        self._interruptible = interruptible
        self._wanted = False
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0

    @property
    def wanted(self) -> bool:
        """True once a reply has asked this background holder to give way."""
        return self._wanted

    async def __aenter__(self) -> Slot:
        await self._owner._acquire(self)
        self._task = asyncio.current_task()
        self._cancelling = self._task.cancelling() if self._task is not None else 0
        if self.priority is Priority.BACKGROUND:
            self._owner._yielding.append(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.priority is Priority.BACKGROUND:
            self._owner._yielding.remove(self)
        self._owner._release()
        if not (self._wanted and self._interruptible and self._task is not None):
            return
        ours_alone = self._task.uncancel() <= self._cancelling
        if ours_alone and kind is asyncio.CancelledError:
            raise GiveWay from error

    def _ask(self) -> None:
        self._wanted = True
        if self._interruptible and self._task is not None:
            self._task.cancel("a reply waits for this slot")
