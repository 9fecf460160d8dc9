"""Actors of places: woken on demand, retired when idle, and no message is lost between the two."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.core.types import Place
from bot.engine import actor, places
from bot.engine.state import Address, PlaceState, ReplyRequest
from bot.errors import StorageError
from tests.engine.stage import TAVERN, Stage, open_stage

IDLE_S = 0.05


@pytest.fixture(autouse=True)
def soon_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actor, "IDLE_SECONDS", IDLE_S)


async def asleep(stage: Stage) -> None:
    """The place has no actor any more."""
    await stage.quiet()
    async with asyncio.timeout(30):
        while stage.troupe.places.awake(TAVERN.id) is not None:
            await asyncio.sleep(0.005)


async def test_an_idle_place_retires_and_wakes_with_what_was_said(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": ["Good evening.", "You asked for tea."]}) as stage:
        await stage.scene(await stage.persona())
        await asleep(stage)
        stage.say("Mira, I would like some tea.")
        await asleep(stage)
        assert stage.messenger.texts() == ["Good evening."]
        stage.say("Mira, what did I ask for?")
        await asleep(stage)
        assert stage.messenger.texts() == ["Good evening.", "You asked for tea."]
        assert "I would like some tea" in stage.model.of("reply")[1].messages[1].content


async def test_messages_around_the_moment_of_retiring_are_kept_once_each_in_order(tmp_path: Path) -> None:
    pauses = random.Random(4)
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        said = [f"Line {number}." for number in range(40)]
        retired = 0
        for line in said:
            stage.say(line)
            await stage.troupe.journal.flushed()
            await asyncio.sleep(IDLE_S * pauses.uniform(0.9, 1.1))
            retired += stage.troupe.places.awake(TAVERN.id) is None
        assert retired > 0
        assert [turn.text for turn in await stage.window()] == said


async def test_a_place_whose_reply_is_being_made_stays_awake(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, {"reply": ["At last."]}, gate=gate) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira, hurry!")
        await stage.model.asked.wait()
        await asyncio.sleep(4 * IDLE_S)
        assert stage.troupe.places.awake(TAVERN.id) is not None
        gate.set()
        await stage.quiet()
        assert stage.messenger.texts() == ["At last."]


async def test_a_question_that_leaves_the_window_at_once_is_answered_once(tmp_path: Path) -> None:
    """More was said than a window holds before the place woke, as after a long stop."""
    async with open_stage(tmp_path, {"reply": ["At the mill.", "Twice."]}, context_tokens=1024) as stage:
        await stage.scene(await stage.persona())
        await asleep(stage)
        stage.say("Mira, where is the cat?")
        for number in range(100):
            stage.say(f"Line {number}.")
        await asleep(stage)
        assert stage.messenger.texts() == ["At the mill."]
        (prompt,) = stage.model.of("reply")
        assert prompt.messages[-1].content.count("where is the cat?") == 1


async def test_after_a_restore_what_was_said_before_it_is_kept_but_not_answered(tmp_path: Path) -> None:
    """A backup does not know which of it was answered since."""
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
    clock, messenger = stage.clock, stage.messenger
    restored = clock()
    opened = open_stage(tmp_path, {"reply": ["Now I do."]}, messenger=messenger, answers_after=restored)
    async with opened as stage:
        stage.say("Mira, do you hear?", created_at=restored - timedelta(minutes=1), backfilled=True)
        await stage.quiet()
        assert messenger.texts() == []
        stage.say("Mira, and now?")
        await stage.quiet()
        assert messenger.texts() == ["Now I do."]
        assert "do you hear?" in stage.model.of("reply")[0].text


async def test_what_is_said_while_a_place_wakes_is_in_the_window_and_answered_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path, {"reply": ["Yes.", "Again?"]}) as stage:
        await stage.scene(await stage.persona())
        await asleep(stage)
        scenes = stage.troupe.conduct._scenes
        record, said = scenes.record, []

        async def busy(place_id: int, **asked: Any) -> object:
            if not said:
                said.append(stage.say("Mira, are you there?"))
                await stage.troupe.journal.flushed()
            return await record(place_id, **asked)

        monkeypatch.setattr(scenes, "record", busy)
        await stage.window()
        await stage.quiet()
        assert [turn.text for turn in await stage.window()] == ["Mira, are you there?", "Yes."]
        assert stage.messenger.texts() == ["Yes."]


async def test_a_place_that_could_not_be_read_for_a_command_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actor, "RETRY_SECONDS", 0.01)
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        monkeypatch.setattr(actor, "IDLE_SECONDS", 60.0)
        awake = stage.troupe.places.awake(TAVERN.id)
        assert awake is not None
        real, left = stage.troupe.conduct.load, 2

        async def fails_twice(state: PlaceState) -> None:
            nonlocal left
            left -= 1
            if left >= 0:
                raise StorageError("The database is in use by another program.")
            await real(state)

        monkeypatch.setattr(stage.troupe.conduct, "load", fails_twice)
        looking = asyncio.create_task(stage.window())
        awake.reload()
        with pytest.raises(StorageError):
            await looking
        stage.say("Mira, are you there?")
        await stage.quiet()
        assert len(stage.messenger.texts()) == 1


async def test_a_command_that_fails_half_way_leaves_its_place_as_it_is_stored(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("The rain is loud.")
        await stage.quiet()

        async def half(state: PlaceState) -> None:
            state.window = []
            raise StorageError("The disk is full.")

        with pytest.raises(StorageError):
            await stage.troupe.places.do(TAVERN, half)
        assert [turn.text for turn in await stage.window()] == ["The rain is loud."]


async def test_a_reply_that_is_given_up_before_it_begins_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        real = stage.troupe.conduct.freeze

        def freeze(state: PlaceState, addresses: tuple[Address, ...]) -> ReplyRequest:
            monkeypatch.setattr(stage.troupe.conduct, "freeze", real)
            awake = stage.troupe.places.awake(TAVERN.id)
            assert awake is not None
            asyncio.get_running_loop().call_soon(awake.abort_reply)  # before the reply's first step
            return real(state, addresses)

        monkeypatch.setattr(stage.troupe.conduct, "freeze", freeze)
        stage.say("Mira, are you there?")
        await stage.quiet()
        assert stage.messenger.texts() == []
        stage.say("Mira, I ask again.")
        await stage.quiet()
        assert len(stage.messenger.texts()) == 1


async def test_places_fall_asleep_sooner_while_many_are_awake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actor, "IDLE_SECONDS", 60.0)
    monkeypatch.setattr(actor, "HURRIED_SECONDS", IDLE_S)
    monkeypatch.setattr(places, "MANY_AWAKE", 3)
    async with open_stage(tmp_path) as stage:
        few = [Place(700 + number, TAVERN.guild_id, f"room {number}") for number in range(3)]
        for place in few:
            await stage.troupe.places.do(place, _nothing)
        await asyncio.sleep(4 * IDLE_S)
        assert all(stage.troupe.places.awake(place.id) for place in few)
        many = Place(710, TAVERN.guild_id, "one too many")
        await stage.troupe.places.do(many, _nothing)
        async with asyncio.timeout(30):
            while stage.troupe.places.awake(many.id) is not None:
                await asyncio.sleep(0.005)
        assert all(stage.troupe.places.awake(place.id) for place in few), "they began to wait before"


async def _nothing(state: PlaceState) -> None:
    del state
