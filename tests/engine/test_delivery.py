"""What becomes of a persona's words that Discord does not take, or of which nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.core.types import OutboxRow, Place
from bot.engine.notices import NOT_TAKEN
from bot.errors import DeliveryError
from tests.e2e.bot_process import eventually
from tests.engine.stage import TAVERN, FakeMessenger, RealClock, Stage, open_stage


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


async def _ask(stage: Stage) -> int:
    stage.troupe.delivery._pause = 0.001
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
