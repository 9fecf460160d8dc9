"""Scenes, casts and aliases through the engine; what a restart brings back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.events import MessagePosted
from bot.core.types import Place
from bot.errors import UserFacing
from tests.engine.stage import ALICE, BOB, CELLAR, TAVERN, FakeMessenger, RealClock, open_stage


async def test_switching_back_restores_window_cast_and_aliases(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira, sol = await stage.persona(), await stage.persona("Sol")
        await stage.scene(mira, name="The feast")
        feast = await stage.troupe.scenes.current(TAVERN.id)
        assert feast is not None
        await stage.troupe.aliases.use(TAVERN, ALICE, "Captain Red")
        stage.say("The feast begins.")
        await stage.quiet()
        await stage.scene(sol, name="The voyage")
        stage.say("The sea is calm.")
        await stage.quiet()
        assert [turn.speaker for turn in await stage.window()] == ["Alice"]
        scene = await stage.troupe.scenes.switch(TAVERN, feast.scene.id)
        await stage.quiet()
        assert scene.cast == (mira.id,)
        assert [(turn.speaker, turn.text) for turn in await stage.window()] == [
            ("Captain Red", "The feast begins.")
        ]
        assert "The feast" in stage.messenger.notices[-1][1]
        stage.say("And goes on.")
        await stage.quiet()
        assert (await stage.window())[-1].speaker == "Captain Red"


async def test_a_restart_brings_back_window_and_answers_what_is_owed(tmp_path: Path) -> None:
    clock = RealClock()
    messenger = FakeMessenger(clock)
    async with open_stage(tmp_path, messenger=messenger, clock=clock) as stage:
        await stage.scene(await stage.persona())
        stage.say("A quiet evening.")
        await stage.quiet()
    async with open_stage(
        tmp_path, {"reply": ["Yes?"]}, messenger=messenger, clock=clock, start=False
    ) as stage:
        messenger.past.append(_missed(stage.messenger, "Mira, were you away?"))
        await stage.troupe.start()
        await stage.quiet()
        assert messenger.texts() == ["Yes?"]
        assert [turn.text for turn in await stage.window()] == [
            "A quiet evening.",
            "Mira, were you away?",
            "Yes?",
        ]
    async with open_stage(tmp_path, messenger=messenger, clock=clock) as stage:
        await stage.quiet()
        assert messenger.texts() == ["Yes?"]


async def test_an_end_before_the_history_was_read_loses_no_message(tmp_path: Path) -> None:
    clock = RealClock()
    messenger = FakeMessenger(clock)
    async with open_stage(tmp_path, messenger=messenger, clock=clock) as stage:
        await stage.scene(await stage.persona())
        stage.say("A quiet evening.")
        await stage.quiet()
    messenger.past.append(_missed(messenger, "Missed while away."))
    async with open_stage(tmp_path, messenger=messenger, clock=clock, start=False) as stage:
        stage.say("Heard at once.")  # messages come before the history is read
        await stage.troupe.journal.flushed()
    async with open_stage(tmp_path, messenger=messenger, clock=clock) as stage:
        await stage.quiet()
        texts = [turn.text for turn in await stage.window()]
        assert texts == ["A quiet evening.", "Missed while away.", "Heard at once."]


@pytest.mark.parametrize("caught_up", [False, True])
async def test_an_end_after_a_new_session_loses_no_message(tmp_path: Path, caught_up: bool) -> None:
    clock = RealClock()
    messenger = FakeMessenger(clock)
    async with open_stage(tmp_path, messenger=messenger, clock=clock) as stage:
        await stage.scene(await stage.persona())
        stage.say("A quiet evening.")
        await stage.quiet()
        lost_at = clock()
        missed = _missed(messenger, "Missed in between.")
        messenger.past.append(missed)
        stage.troupe.new_session()
        heard = stage.say("Heard at once.")
        if caught_up:
            await stage.troupe.catch_up(lost_at)
            heard = stage.say("And on.")
        await stage.quiet()
        seen = await stage.store.scenes.seen_until(TAVERN.id)
        assert seen >= heard if caught_up else seen < missed.message_id
    async with open_stage(tmp_path, messenger=messenger, clock=clock) as stage:
        await stage.quiet()
        assert "Missed in between." in [turn.text for turn in await stage.window()]


@dataclass
class SlowChannel(FakeMessenger):
    """A channel each reading of which ends when the test says so."""

    ends: list[asyncio.Event] = field(default_factory=list)

    async def history(self, place: Place, *, after: int) -> AsyncIterator[MessagePosted]:
        async for event in super().history(place, after=after):
            yield event
        self.ends.append(asyncio.Event())
        await self.ends[-1].wait()

    async def read(self, times: int) -> None:
        async with asyncio.timeout(5):
            while len(self.ends) < times:
                await asyncio.sleep(0)


@pytest.mark.parametrize("second_has_begun", [False, True])
async def test_a_reading_that_began_before_a_new_session_says_nothing_about_it(
    tmp_path: Path, second_has_begun: bool
) -> None:
    channel = SlowChannel(clock := RealClock())
    async with open_stage(tmp_path, messenger=channel, clock=clock) as stage:
        await stage.scene(await stage.persona())
        seen = await stage.store.scenes.seen_until(TAVERN.id)
        stage.troupe.new_session()
        readings = [asyncio.create_task(stage.troupe.catch_up())]
        await channel.read(1)
        stage.troupe.new_session()
        if second_has_begun:
            readings.append(asyncio.create_task(stage.troupe.catch_up()))
            await channel.read(2)
        channel.ends[0].set()
        await readings[0]
        stage.say("What was said before this may be missing.")
        await stage.quiet()
        assert await stage.store.scenes.seen_until(TAVERN.id) == seen
        if second_has_begun:
            channel.ends[1].set()
            await readings[1]
            stage.say("Nothing is missing.")
            await stage.quiet()
            assert await stage.store.scenes.seen_until(TAVERN.id) > seen


async def test_what_was_said_in_a_pause_is_never_read(tmp_path: Path) -> None:
    clock = RealClock()
    messenger = FakeMessenger(clock)
    async with open_stage(tmp_path, messenger=messenger, clock=clock) as stage:
        await stage.scene(await stage.persona())
        await stage.troupe.scenes.pause(TAVERN)
        messenger.past.append(_missed(messenger, "A private word."))
        await stage.troupe.scenes.resume(TAVERN, after=messenger.next_id())
        await stage.troupe.catch_up()
        await stage.quiet()
        assert await stage.window() == []


async def test_a_late_address_is_recorded_but_not_answered(tmp_path: Path) -> None:
    clock = RealClock()
    messenger = FakeMessenger(clock)
    async with open_stage(tmp_path, messenger=messenger, clock=clock) as stage:
        await stage.scene(await stage.persona())
        messenger.past.append(_missed(messenger, "Mira, long ago."))
        clock.ahead += timedelta(minutes=11)
        await stage.troupe.catch_up()
        await stage.quiet()
        assert [turn.text for turn in await stage.window()] == ["Mira, long ago."]
        assert messenger.said == []


async def test_a_persona_that_joins_later_does_not_know_what_was_said_before(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira, sol = await stage.persona(), await stage.persona("Sol")
        await stage.scene(mira)
        stage.say("The treasure lies under the oak.")
        await stage.quiet()
        await stage.troupe.scenes.cast_add(TAVERN, sol.id)
        stage.say("Sol, what do you know?")
        await stage.quiet()
        assert "under the oak" not in stage.model.of("reply")[-1].text
        stage.say("Mira, what do you know?")
        await stage.quiet()
        assert "under the oak" in stage.model.of("reply")[-1].text


async def test_a_rename_and_a_new_description_work_in_mid_scene(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona(description="An innkeeper.")
        await stage.scene(mira)
        stage.say("Mira, hello.")
        await stage.quiet()
        await stage.troupe.personas.edit(mira.id, name="Morgana", description="A witch.")
        stage.say("Morgana, hello.")
        await stage.quiet()
        prompt = stage.model.of("reply")[-1].messages[0].content
        assert "A witch." in prompt
        assert "Mira" in prompt
        assert stage.messenger.said[-1][1] == "Morgana"
        assert len(await stage.window()) == 4


@pytest.mark.parametrize("name", ["Mira", "ｍｉｒａ", "Bob", "BOB"])
async def test_an_alias_is_no_persona_and_nobody_present(tmp_path: Path, name: str) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        with pytest.raises(UserFacing):
            await stage.troupe.aliases.use(TAVERN, ALICE, name, present_names=["Bob"])


@pytest.mark.parametrize("name", ["\u200b", "\u202e \u2066", "  "])
async def test_a_name_that_nobody_sees_is_refused(tmp_path: Path, name: str) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona()
        with pytest.raises(UserFacing, match="1 to 100 characters that can be seen"):
            await stage.scene(mira, name=name)
        await stage.scene(mira)
        with pytest.raises(UserFacing, match="1 to 80 characters that can be seen"):
            await stage.troupe.aliases.use(TAVERN, ALICE, name)


async def test_an_alias_of_another_member_is_taken(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        await stage.troupe.aliases.use(TAVERN, ALICE, "Red")
        with pytest.raises(UserFacing):
            await stage.troupe.aliases.use(TAVERN, BOB, "RED")
        assert await stage.troupe.aliases.clear(TAVERN, ALICE)
        await stage.troupe.aliases.use(TAVERN, BOB, "RED")


async def test_the_channel_reads_when_it_is_remembered_again(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona(), name="The feast")
        feast = await stage.troupe.scenes.current(TAVERN.id)
        assert feast is not None

        async def told() -> list[str]:
            await stage.quiet()
            return [text for _, text, *_ in stage.messenger.notices if "remembered again" in text]

        await stage.scene(await stage.persona("Sol"), name="The voyage")
        await stage.troupe.scenes.switch(TAVERN, feast.scene.id)
        assert await told() == []  # it was remembered all the time
        await stage.troupe.scenes.pause(TAVERN)
        await stage.troupe.scenes.resume(TAVERN, after=0)
        assert len(await told()) == 1
        await stage.troupe.scenes.end(TAVERN)
        await stage.troupe.scenes.switch(TAVERN, feast.scene.id)
        assert len(await told()) == 2


async def test_commands_without_a_scene_say_what_to_do(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        with pytest.raises(UserFacing, match="/scene start"):
            await stage.troupe.scenes.pause(CELLAR)
        with pytest.raises(UserFacing, match="/scene start"):
            await stage.troupe.memories.search(CELLAR, "gold")


def _missed(messenger: FakeMessenger, text: str) -> MessagePosted:
    return MessagePosted(
        place=TAVERN,
        message_id=messenger.next_id(),
        author_id=BOB,
        author_name="Bob",
        text=text,
        created_at=messenger.clock(),
        backfilled=True,
    )


async def test_a_persona_deleted_while_it_answers_says_nothing_and_others_go_on(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, {"reply": ["Here.", "Here."]}, gate=gate) as stage:
        mira, sol = await stage.persona(), await stage.persona("Sol")
        await stage.scene(mira, sol)
        stage.say("Mira, are you there?")
        await stage.model.asked.wait()
        await stage.troupe.personas.delete(mira.id)
        gate.set()
        stage.say("Sol, and you?")
        await stage.quiet()
        assert [(name, text) for _, name, text in stage.messenger.said] == [("Sol", "Here.")]
