"""A few slots shared by many: replies before background work; servers, members and places in turn."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from enum import IntEnum
from types import TracebackType


class Priority(IntEnum):
    """Smaller goes first."""

    REPLY = 0
    FLOOD = 1
    """A reply to nobody but a member who asks far too often."""
    BACKGROUND = 2


class GiveWay(Exception):
    """Raised out of a background hold that was interrupted because a reply waits. Try again later."""


_Waiter = asyncio.Future[None]
_Places = OrderedDict[int, deque[_Waiter]]
_Members = OrderedDict[int, _Places]


@dataclass(slots=True, eq=False)
class _Queue:
    """Waiters of one priority. Servers take turns, in each its members, of each the places they wait in;
    within one place the first comes first."""

    spaces: OrderedDict[int, _Members] = field(default_factory=OrderedDict)
    _length: int = 0

    def __len__(self) -> int:
        return self._length

    def push(self, slot: Slot, waiter: _Waiter) -> None:
        members = self.spaces.setdefault(slot.space_id, OrderedDict())
        places = members.setdefault(slot.member_id, OrderedDict())
        places.setdefault(slot.place_id, deque()).append(waiter)
        self._length += 1

    def pop(self) -> _Waiter:
        space_id, members = self.spaces.popitem(last=False)
        member_id, places = members.popitem(last=False)
        place_id, waiters = places.popitem(last=False)
        waiter = waiters.popleft()
        if waiters:  # whoever still waits goes to the end of the round
            places[place_id] = waiters
        if places:
            members[member_id] = places
        if members:
            self.spaces[space_id] = members
        self._length -= 1
        return waiter

    def remove(self, slot: Slot, waiter: _Waiter) -> None:
        members: _Members = self.spaces.get(slot.space_id, OrderedDict())
        places: _Places = members.get(slot.member_id, OrderedDict())
        waiters = places.get(slot.place_id, deque())
        if waiter not in waiters:
            return
        waiters.remove(waiter)
        self._length -= 1
        if not waiters:
            del places[slot.place_id]
        if not places:
            del members[slot.member_id]
        if not members:
            del self.spaces[slot.space_id]


class FairSlots:
    """At most `count` holders at a time, for a model, an encoder or a writer.

    A free slot goes to a waiting reply first. Among waiters of one priority, servers are served in turn,
    in each its members, of each their places, so that whoever is busy keeps nobody else waiting.
    Background work is not started while a reply waits, and a background holder is asked to give way
    when a reply finds no free slot.
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

    def hold(
        self,
        place_id: int,
        *,
        space_id: int = 0,
        member_id: int = 0,
        priority: Priority = Priority.REPLY,
        interruptible: bool = True,
    ) -> Slot:
        """Return the slot to be held by `async with`.

        A background holder that is `interruptible` is cancelled at its current await when it has to
        give way, and `GiveWay` leaves its `async with` block. One that is not (its work runs in a
        thread) should look at `Slot.wanted` between two pieces of work and leave early.
        """
        return Slot(
            self,
            place_id=place_id,
            space_id=space_id,
            member_id=member_id,
            priority=priority,
            interruptible=interruptible,
        )

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
        queue.push(slot, waiter)
        if slot.priority is Priority.REPLY:
            self._ask_to_give_way()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._release()  # the slot was handed over in the step of the cancellation
            else:
                queue.remove(slot, waiter)
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

    def __init__(
        self,
        owner: FairSlots,
        *,
        place_id: int,
        space_id: int,
        member_id: int,
        priority: Priority,
        interruptible: bool,
    ) -> None:
        self.place_id = place_id
        self.space_id = space_id
        self.member_id = member_id
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
