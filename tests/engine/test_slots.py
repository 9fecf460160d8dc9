"""Fair slots: order, fairness, giving way, and no slot lost. Time is steps of the loop, not seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.engine.slots import FairSlots, GiveWay, Priority, Slot


async def settle() -> None:
    """Let every ready task run until all of them wait."""
    for _ in range(20):
        await asyncio.sleep(0)


class Stage:
    """Starts holders by name, lets them in and out, and keeps the order in which they came in."""

    def __init__(self, slots: FairSlots) -> None:
        self.slots = slots
        self.entered: list[str] = []
        self.gave_way: list[str] = []
        self.held: dict[str, Slot] = {}
        self._exits: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, name: str, place_id: int = 1, priority: Priority = Priority.REPLY) -> None:
        await self.start_slot(name, self.slots.hold(place_id, priority=priority))

    async def start_slot(self, name: str, slot: Slot) -> None:
        self.begin(name, slot)
        await settle()

    def begin(self, name: str, slot: Slot) -> None:
        self._exits[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._run(name, slot))

    async def leave(self, name: str) -> None:
        self.release(name)
        await settle()

    def release(self, name: str) -> None:
        self._exits[name].set()

    async def cancel(self, name: str) -> None:
        self.tasks[name].cancel()
        await settle()

    async def _run(self, name: str, slot: Slot) -> None:
        try:
            async with slot:
                self.entered.append(name)
                self.held[name] = slot
                await self._exits[name].wait()
        except GiveWay:
            self.gave_way.append(name)


async def assert_no_slot_lost(slots: FairSlots, count: int) -> None:
    """All `count` slots can be held at once, without waiting."""
    holds = [slots.hold(place) for place in range(count)]
    for hold in holds:
        await asyncio.wait_for(hold.__aenter__(), 30)
    for hold in holds:
        await hold.__aexit__(None, None, None)


async def test_servers_members_and_places_take_turns() -> None:
    stage = Stage(FairSlots(1))
    await stage.start("first")
    order = [
        ("a1", 9, 1, 11),
        ("a2", 9, 1, 12),
        ("a3", 9, 1, 11),
        ("b1", 9, 2, 11),
        ("c1", 8, 3, 21),
        ("c2", 8, 3, 21),
    ]
    for name, space_id, member_id, place_id in order:
        await stage.start_slot(name, stage.slots.hold(place_id, space_id=space_id, member_id=member_id))
    for name in ("first", "a1", "c1", "b1", "c2", "a2", "a3"):
        await stage.leave(name)
    assert stage.entered == ["first", "a1", "c1", "b1", "c2", "a2", "a3"]


async def test_a_reply_to_a_flood_waits_for_the_others_and_goes_before_background_work() -> None:
    stage = Stage(FairSlots(1))
    await stage.start("first")
    await stage.start("notes", priority=Priority.BACKGROUND)
    await stage.start("flood", place_id=2, priority=Priority.FLOOD)
    await stage.start("reply", place_id=3)
    for name in ("first", "reply", "flood", "notes"):
        await stage.leave(name)
    assert stage.entered == ["first", "reply", "flood", "notes"]


async def test_no_more_holders_than_slots() -> None:
    stage = Stage(FairSlots(2))
    for name in "abc":
        await stage.start(name, place_id=ord(name))
    assert stage.entered == ["a", "b"]
    await stage.leave("a")
    assert stage.entered == ["a", "b", "c"]


async def test_places_are_served_in_turn() -> None:
    stage = Stage(FairSlots(1))
    await stage.start("first", place_id=9)
    for name, place in [("a1", 1), ("a2", 1), ("a3", 1), ("b1", 2), ("c1", 3), ("b2", 2)]:
        await stage.start(name, place_id=place)
    for _ in range(6):
        await stage.leave(stage.entered[-1])
    assert stage.entered == ["first", "a1", "b1", "c1", "a2", "b2", "a3"]


async def test_replies_go_before_background_that_waited_longer() -> None:
    stage = Stage(FairSlots(1))
    await stage.start("holder")
    await stage.start("background", priority=Priority.BACKGROUND)
    await stage.start("reply")
    await stage.leave("holder")
    assert stage.entered == ["holder", "reply"]
    await stage.leave("reply")
    assert stage.entered == ["holder", "reply", "background"]


async def test_background_gives_way_to_a_reply() -> None:
    stage = Stage(FairSlots(1))
    await stage.start("background", priority=Priority.BACKGROUND)
    await stage.start("reply", place_id=2)
    assert stage.gave_way == ["background"]
    assert stage.entered == ["background", "reply"]
    assert stage.tasks["background"].cancelling() == 0
    await stage.leave("reply")
    await assert_no_slot_lost(stage.slots, 1)


async def test_only_as_many_give_way_as_replies_wait_and_the_youngest_first() -> None:
    stage = Stage(FairSlots(3))
    for name in ("old", "middle", "young"):
        await stage.start(name, priority=Priority.BACKGROUND)
    await stage.start("reply")
    assert stage.gave_way == ["young"]
    await stage.start("another")
    assert stage.gave_way == ["young", "middle"]


async def test_nobody_gives_way_while_a_slot_is_free() -> None:
    stage = Stage(FairSlots(2))
    await stage.start("background", priority=Priority.BACKGROUND)
    await stage.start("reply")
    assert stage.gave_way == []
    assert stage.entered == ["background", "reply"]


async def test_reply_holders_are_never_interrupted() -> None:
    stage = Stage(FairSlots(1))
    await stage.start("reply")
    await stage.start("other", place_id=2)
    assert stage.entered == ["reply"]
    assert not stage.held["reply"].wanted


async def test_uninterruptible_background_is_told_and_finishes_itself() -> None:
    stage = Stage(FairSlots(1))
    slot = stage.slots.hold(1, priority=Priority.BACKGROUND, interruptible=False)
    await stage.start_slot("encoder", slot)
    assert not slot.wanted
    await stage.start("reply")
    assert slot.wanted
    assert stage.entered == ["encoder"]
    await stage.leave("encoder")
    assert stage.entered == ["encoder", "reply"]
    assert stage.gave_way == []


async def test_background_granted_in_the_step_a_reply_arrives_lets_it_pass() -> None:
    stage = Stage(FairSlots(1))
    await stage.start("holder")
    await stage.start("background", priority=Priority.BACKGROUND)
    stage.release("holder")
    await stage.start("reply")  # in the step in which the background is granted, before it runs
    assert stage.entered == ["holder", "reply"]
    await stage.leave("reply")
    assert stage.entered[-1] == "background"
    await stage.leave("background")
    await assert_no_slot_lost(stage.slots, 1)


async def test_real_cancellation_of_a_background_holder_is_no_give_way() -> None:
    stage = Stage(FairSlots(1))
    await stage.start("background", priority=Priority.BACKGROUND)
    await stage.cancel("background")
    assert stage.tasks["background"].cancelled()
    assert stage.gave_way == []
    await assert_no_slot_lost(stage.slots, 1)


async def test_cancellation_wins_over_giving_way() -> None:
    stage = Stage(FairSlots(1))
    await stage.start("background", priority=Priority.BACKGROUND)
    stage.begin("reply", stage.slots.hold(2))
    await asyncio.sleep(0)  # the reply has asked
    stage.tasks["background"].cancel()
    await settle()
    assert stage.tasks["background"].cancelled()
    assert stage.gave_way == []
    assert stage.entered[-1] == "reply"
    await stage.leave("reply")
    await assert_no_slot_lost(stage.slots, 1)


async def test_nested_holds_both_give_way_once() -> None:
    model, encoder = FairSlots(1), FairSlots(1)
    outcome: list[str] = []

    async def background() -> None:
        try:
            async with model.hold(1, priority=Priority.BACKGROUND):
                try:
                    async with encoder.hold(1, priority=Priority.BACKGROUND):
                        await asyncio.Event().wait()
                except GiveWay:
                    outcome.append("inner")
                    raise
        except GiveWay:
            outcome.append("outer")

    async def reply(slots: FairSlots) -> None:
        async with slots.hold(2):
            outcome.append("reply")

    task = asyncio.create_task(background())
    await settle()
    await asyncio.gather(reply(model), reply(encoder))
    await task
    assert sorted(outcome) == ["outer", "reply", "reply"]
    assert task.cancelling() == 0
    await asyncio.sleep(0)
    await assert_no_slot_lost(model, 1)
    await assert_no_slot_lost(encoder, 1)


async def test_cancelled_waiter_leaves_the_queue() -> None:
    stage = Stage(FairSlots(1))
    await stage.start("holder")
    await stage.start("gone", place_id=2)
    await stage.start("next", place_id=3)
    await stage.cancel("gone")
    assert stage.slots.replies_waiting == 1
    await stage.leave("holder")
    assert stage.entered == ["holder", "next"]


async def test_slot_granted_to_a_task_cancelled_in_the_same_step_is_passed_on() -> None:
    stage = Stage(FairSlots(1))
    await stage.start("holder")
    await stage.start("doomed", place_id=2)
    await stage.start("next", place_id=3)
    stage.release("holder")
    await asyncio.sleep(0)
    stage.tasks["doomed"].cancel()
    await settle()
    assert stage.entered == ["holder", "next"]
    await stage.leave("next")
    await assert_no_slot_lost(stage.slots, 1)


async def test_failing_holder_frees_its_slot() -> None:
    slots = FairSlots(1)
    with pytest.raises(KeyError):
        async with slots.hold(1):
            raise KeyError
    await assert_no_slot_lost(slots, 1)


async def test_background_that_swallows_the_request_ends_normally() -> None:
    slots = FairSlots(1)
    kept: list[str] = []

    async def background() -> None:
        async with slots.hold(1, priority=Priority.BACKGROUND):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                kept.append("partial")
        await asyncio.sleep(0)
        kept.append("after")

    task = asyncio.create_task(background())
    await settle()
    async with slots.hold(2):
        pass
    await task
    assert kept == ["partial", "after"]


def test_zero_slots_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        FairSlots(0)


Step = tuple[str, int]


@given(
    st.integers(1, 3),
    st.lists(
        st.tuples(st.sampled_from(["reply", "background", "leave", "cancel", "tick"]), st.integers(0, 9)),
        max_size=40,
    ),
)
def test_any_history_keeps_the_count_and_loses_no_slot(count: int, history: list[Step]) -> None:
    asyncio.run(_play(count, history))


async def _play(count: int, history: list[Step]) -> None:
    slots = FairSlots(count)
    inside = 0
    most = 0
    tasks: list[asyncio.Task[None]] = []
    exits: list[asyncio.Event] = []

    async def holder(slot: Slot, leave: asyncio.Event) -> None:
        nonlocal inside, most
        try:
            async with slot:
                inside += 1
                most = max(most, inside)
                try:
                    await leave.wait()
                finally:
                    inside -= 1
        except GiveWay:
            return

    async def begin(priority: Priority, number: int) -> None:
        exits.append(asyncio.Event())
        tasks.append(asyncio.create_task(holder(slots.hold(number % 3, priority=priority), exits[-1])))

    actions: dict[str, Callable[[int], Awaitable[None]]] = {
        "reply": lambda number: begin(Priority.REPLY, number),
        "background": lambda number: begin(Priority.BACKGROUND, number),
    }
    for kind, number in history:
        if kind in actions:
            await actions[kind](number)
        elif kind == "tick":
            await asyncio.sleep(0)
        elif tasks and kind == "leave":
            exits[number % len(exits)].set()
        elif tasks:
            tasks[number % len(tasks)].cancel()
    for leave in exits:
        leave.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert inside == 0
    assert most <= count
    await assert_no_slot_lost(slots, count)


async def test_a_quiet_place_waits_for_at_most_one_turn_of_each_other_place() -> None:
    stage = Stage(FairSlots(1))
    await stage.start("first", place_id=9)
    for number in range(10):
        await stage.start(f"busy{number}", place_id=1)
    await stage.start("quiet", place_id=2)
    for _ in range(11):
        await stage.leave(stage.entered[-1])
    assert stage.entered.index("quiet") <= 2
    assert all(earlier < later for earlier, later in pairwise(n for n in stage.entered if "busy" in n))
