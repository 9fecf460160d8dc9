"""What becomes of a persona's words that Discord does not take, or of which nobody knows."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bot.core.types import OutboxRow, Place
from bot.engine.notices import NOT_TAKEN, Notices
from bot.errors import DeliveryError
from tests.e2e.bot_process import eventually
from tests.engine.stage import ALICE, BOB, CELLAR, TAVERN, FakeMessenger, RealClock, Stage, open_stage


class Unsure(DeliveryError):
    """Nobody knows whether the message arrived."""

    def __init__(self, *, arrives: bool) -> None:
        super().__init__("connection reset", uncertain=True)
        self.arrives = arrives


class Unreadable(FakeMessenger):
    """A channel whose history cannot be read for some time."""

    unread = 0

    async def find_spoken(self, row: OutboxRow, place: Place) -> int | None:
        if self.unread:
            self.unread -= 1
            raise DeliveryError("no history")
        return await super().find_spoken(row, place)


class Slow(FakeMessenger):
    """A channel that takes its time."""

    begun: asyncio.Event
    go: asyncio.Event

    async def speak(self, *given: Any, **more: Any) -> int:
        self.begun.set()
        await self.go.wait()
        return await super().speak(*given, **more)


class Deaf(FakeMessenger):
    """A channel that takes some notices only at a later attempt, as `deaf` tells."""

    deaf: list[DeliveryError]

    async def notice(self, place: Place, text: str, *, reply_to: int | None = None) -> int:
        if self.deaf:
            raise self.deaf.pop(0)
        return await super().notice(place, text, reply_to=reply_to)


async def _ask(stage: Stage) -> int:
    stage.troupe.delivery._pause = stage.troupe.notices._pause = 0.001
    await stage.scene(await stage.persona())
    question = stage.say("Mira?")
    await stage.quiet()
    return question


@pytest.mark.parametrize("arrives", [True, False])
async def test_what_nobody_can_tell_is_settled_while_the_bot_runs(tmp_path: Path, arrives: bool) -> None:
    clock = RealClock()
    messenger = Unreadable(clock, failures=[Unsure(arrives=arrives)])
    messenger.unread = 5
    async with open_stage(tmp_path, {"reply": ["Once."]}, messenger=messenger, clock=clock) as stage:
        await _ask(stage)
        await eventually(messenger.texts, "it is said")
        while await stage.store.turns.open_outbox():
            await stage.quiet()
        assert messenger.texts() == ["Once."]
        assert [turn.text for turn in await stage.window()] == ["Mira?", "Once."]
        assert messenger.notices == []


async def test_an_unsettled_reply_to_a_deleted_question_is_not_said_later(tmp_path: Path) -> None:
    clock = RealClock()
    messenger = Unreadable(clock, failures=[Unsure(arrives=False)])
    messenger.unread = 1_000_000
    async with open_stage(tmp_path, {"reply": ["Once."]}, messenger=messenger, clock=clock) as stage:
        await _ask(stage)
        (row,) = await stage.store.turns.open_outbox()
        await stage.store.turns.abandon(row.id)
        messenger.unread = 0
        await eventually(lambda: not stage.troupe.delivery._settling.busy, "nothing is left to settle")
        assert messenger.texts() == []


@pytest.mark.parametrize(
    ("failures", "told"),
    [
        ([DeliveryError("forbidden", refused=True)], []),  # a notice would be refused as well
        ([DeliveryError("asks for patience")], [NOT_TAKEN]),
        ([Unsure(arrives=False)] * 3, [NOT_TAKEN]),
    ],
)
async def test_members_are_told_when_discord_does_not_take_an_answer(
    tmp_path: Path, failures: list[Exception], told: list[str]
) -> None:
    clock = RealClock()
    messenger = FakeMessenger(clock, failures=list(failures))
    async with open_stage(tmp_path, {"reply": ["Never."]}, messenger=messenger, clock=clock) as stage:
        await _ask(stage)
        await stage.notices_out()
        assert messenger.notices == [(TAVERN.id, text) for text in told]
        assert [turn.text for turn in await stage.window()] == ["Mira?"]
        assert await stage.store.turns.open_outbox() == []


async def test_every_answer_that_is_not_taken_is_told_of(tmp_path: Path) -> None:
    clock = RealClock()
    failures: list[Exception] = [DeliveryError("asks for patience"), DeliveryError("asks for patience")]
    messenger = FakeMessenger(clock, failures=failures)
    async with open_stage(tmp_path, {"reply": ["Never."]}, messenger=messenger, clock=clock) as stage:
        await _ask(stage)
        stage.say("Mira, again?")
        await stage.quiet()
        await stage.notices_out()
        assert messenger.notices == [(TAVERN.id, NOT_TAKEN)] * 2


async def test_a_greeting_that_is_not_taken_asks_nobody_to_repeat_anything(tmp_path: Path) -> None:
    clock = RealClock()
    messenger = FakeMessenger(clock, failures=[DeliveryError("asks for patience")])
    async with open_stage(tmp_path, messenger=messenger, clock=clock) as stage:
        await stage.scene(await stage.persona(greeting="Welcome!"))
        await stage.quiet()
        await stage.notices_out()
        assert messenger.notices == []
        assert await stage.window() == []


async def test_an_answer_that_is_not_taken_at_last_leaves_the_story_and_is_told_of(tmp_path: Path) -> None:
    clock = RealClock()
    lost: list[Exception] = [Unsure(arrives=False), DeliveryError("asks for patience")]
    messenger = Unreadable(clock, failures=lost)
    messenger.unread = 5
    async with open_stage(tmp_path, {"reply": ["Never."]}, messenger=messenger, clock=clock) as stage:
        question = await _ask(stage)
        await eventually(lambda: messenger.notices, "it is told")
        assert messenger.notices == [(TAVERN.id, NOT_TAKEN)]
        assert [turn.text for turn in await stage.window()] == ["Mira?"]
        turn = await stage.store.turns.by_message(question)
        assert turn is not None
        assert turn.answered_by == -1, "it would be answered beside the notice at the next start"


@pytest.mark.parametrize(
    ("deaf", "told"),
    [
        ([DeliveryError("asks for patience"), DeliveryError("reset", uncertain=True)], [NOT_TAKEN]),
        ([DeliveryError("forbidden", refused=True)], []),
        ([DeliveryError("asks for patience")] * 100, []),
    ],
)
async def test_a_notice_is_sent_again_unless_it_is_refused(
    tmp_path: Path, deaf: list[DeliveryError], told: list[str]
) -> None:
    clock = RealClock()
    messenger = Deaf(clock, failures=[DeliveryError("asks for patience")])
    messenger.deaf = list(deaf)
    async with open_stage(tmp_path, {"reply": ["Never."]}, messenger=messenger, clock=clock) as stage:
        await _ask(stage)
        await stage.notices_out()
        assert [text for _, text in messenger.notices] == told


async def test_a_notice_that_waits_for_its_next_attempt_holds_up_no_end(tmp_path: Path) -> None:
    clock = RealClock()
    messenger = Deaf(clock)
    messenger.deaf = [DeliveryError("asks for patience")]
    notices = Notices(messenger=messenger, now=clock, pause=1000.0)
    notices.plain(TAVERN, "Patience.", reply_to=7)
    while messenger.deaf:
        await asyncio.sleep(0)
    await notices.close(grace=30.0)
    assert messenger.notices == [(TAVERN.id, "Patience.")]


async def test_a_start_sends_nothing_that_is_being_sent_already(tmp_path: Path) -> None:
    """Messages come, and are answered, before the start knows all servers."""
    messenger = Slow(RealClock())
    messenger.begun, messenger.go = asyncio.Event(), asyncio.Event()
    async with open_stage(tmp_path, messenger=messenger) as stage:
        await stage.scene(await stage.persona())
    opened = open_stage(tmp_path, {"reply": ["Once."]}, messenger=messenger, start=False)
    async with opened as stage:
        stage.say("Mira?")
        await messenger.begun.wait()
        (row,) = await stage.store.turns.open_outbox()
        await stage.troupe.start()
        messenger.go.set()
        await stage.quiet()
        assert messenger.texts() == [row.text] == ["Once."]


async def test_a_start_says_nothing_that_was_forgotten_while_it_looked_for_something_else(
    tmp_path: Path,
) -> None:
    clock = RealClock()
    messenger = Unreadable(clock, failures=[Unsure(arrives=False), Unsure(arrives=False)])
    messenger.unread = 1_000_000
    async with open_stage(tmp_path, messenger=messenger, clock=clock) as stage:
        mira = await stage.persona()
        for place, member in ((TAVERN, ALICE), (CELLAR, BOB)):
            await stage.scene(mira, place=place)
            stage.say("Mira, my secret word is xyzzy.", place=place, by=member)
            await stage.quiet(place)
        assert len(await stage.store.turns.open_outbox()) == 2
    slow = Slow(clock)
    slow.begun, slow.go = asyncio.Event(), asyncio.Event()
    async with open_stage(tmp_path, messenger=slow, clock=clock, start=False) as stage:
        starting = asyncio.create_task(stage.troupe.start())
        await slow.begun.wait()
        await stage.troupe.privacy.forget(BOB)
        slow.go.set()
        await starting
        assert len(slow.texts(TAVERN)) == 1
        assert slow.texts(CELLAR) == []


async def test_what_a_start_cannot_send_is_answered_anew_where_somebody_talks_already(
    tmp_path: Path,
) -> None:
    clock = RealClock()
    messenger = Unreadable(clock, failures=[Unsure(arrives=False)])
    messenger.unread = 1_000_000
    async with open_stage(tmp_path, {"reply": ["Lost."]}, messenger=messenger, clock=clock) as stage:
        await _ask(stage)
        assert len(await stage.store.turns.open_outbox()) == 1
    messenger.unread = 0
    messenger.failures = [DeliveryError("asks for patience")]
    opened = open_stage(tmp_path, {"reply": ["Here."]}, messenger=messenger, clock=clock, start=False)
    async with opened as stage:
        stage.say("A door creaks.")
        await stage.quiet()
        await stage.troupe.start()
        await eventually(messenger.texts, "it is answered")
        await stage.quiet()
        assert messenger.texts() == ["Here."]
        assert messenger.notices == []
        assert [turn.text for turn in await stage.window()] == ["Mira?", "A door creaks.", "Here."]


async def test_an_aside_is_stored_nowhere_and_kept_back_while_personas_sleep(
    tmp_path: Path,
) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona()
        await stage.scene(mira)
        delivery = stage.troupe.delivery
        await delivery.aside(TAVERN, mira, "So tired.")
        await stage.troupe.trust.sleep.sleep(TAVERN.space_id)
        await delivery.aside(TAVERN, mira, "Still tired.")
        assert stage.messenger.texts() == ["So tired."]
        assert await stage.window() == []
        assert await stage.store.turns.open_outbox() == []
