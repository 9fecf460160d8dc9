"""One member floods a server: the others are answered as if hardly anybody else were there.

Time passes by beats: one begins when everything has happened that can happen before an answer of the model
comes. How busy the machine is changes nothing.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.core.chat import Completion
from bot.core.types import Persona, Place
from bot.engine.state import PlaceState
from tests.engine.stage import FakeMessenger, RealClock, Stage, open_stage
from tests.fakes import ScriptedChatModel

FLOODER = 999
OTHERS = range(1, 21)
ROOMS = [Place(id=1000 + number, guild_id=9, name=f"room-{number}") for number in range(30)]
BEAT = timedelta(seconds=0.3)
CALL = 5
"""How many beats the model takes for any answer."""
GUEST_EVERY = 2
"""In every second beat one of the others says something,"""
FLOOD = 25
"""and in every beat the flooder so many things: 80 in a second, more than Discord lets through."""
STILL = 3
"""Nothing happens any more when nothing has changed in so many looks."""


class Beats(RealClock):
    """The time, which stands still within a beat."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def __call__(self) -> datetime:
        return datetime(2026, 3, 1, 20, tzinfo=UTC) + self.number * BEAT


class SteadyModel(ScriptedChatModel):
    """Takes the same number of beats for every answer, and never says the same twice."""

    def __init__(self, beats: Beats) -> None:
        numbers = itertools.count(1)
        super().__init__({"*": lambda _: f"Answer number {next(numbers)}, unlike any other."})
        self._beats = beats
        self._due: dict[asyncio.Event, int] = {}

    async def complete(self, *args: Any, **options: Any) -> Completion:
        with self._writing() as written:
            await written.wait()
            return await super().complete(*args, **options)

    @contextmanager
    def _writing(self) -> Iterator[asyncio.Event]:
        written = asyncio.Event()
        self._due[written] = self._beats.number + CALL
        try:
            yield written
        finally:
            del self._due[written]

    @property
    def writing(self) -> int:
        """How many answers are being written, and will not be done in this beat."""
        return sum(due > self._beats.number for due in self._due.values())

    def beat(self) -> None:
        """The answers whose time has come are there."""
        for written, due in self._due.items():
            if due <= self._beats.number:
                written.set()


@dataclass
class TimedMessenger(FakeMessenger):
    """Knows in which beat each message of a persona went out."""

    beats: Beats = field(default_factory=Beats)
    sent: dict[int, int] = field(default_factory=dict)

    async def speak(self, place: Place, persona: Persona, text: str, **options: Any) -> int:
        message_id = await super().speak(place, persona, text, **options)
        self.sent[message_id] = self.beats.number
        return message_id


@dataclass
class Evening:
    """A server with a scene in each room."""

    stage: Stage
    beats: Beats
    model: SteadyModel
    messenger: TimedMessenger

    async def beat(self) -> None:
        """Let everything happen that can happen now; then the next beat begins."""
        await self._still()
        self.beats.number += 1
        self.model.beat()

    async def _still(self) -> None:
        looks, last = 0, None
        while looks < STILL:
            await self.stage.troupe.journal.flushed()
            now = [await self.stage.troupe.places.do(room, _reply) for room in ROOMS]
            await self.stage.store.turns.by_ids([1])  # behind everything that the database was asked before
            seen = (now, len(self.messenger.sent), len(self.model.prompts))
            preparing = sum(one == "under way" for one in now) - self.model.writing
            looks, last = (looks + 1 if seen == last and not preparing else 0), seen

    async def answered(self, message_id: int) -> int:
        """The beat in which the answer to a message went out; -1 while it has none."""
        turn = await self.stage.store.turns.by_message(message_id)
        if turn is None or turn.answered_by is None:
            return -1
        assert turn.answered_by > 0, "it got a notice instead of an answer"
        (reply,) = await self.stage.store.turns.by_ids([turn.answered_by])
        return self.messenger.sent.get(reply.message_ids[0], -1) if reply.message_ids else -1


async def _reply(state: PlaceState) -> str:
    if state.reply is None:
        return "pending" if state.pending else "none"
    return "waits for the model" if state.reply.elsewhere is not None else "under way"


@asynccontextmanager
async def evening(folder: Path) -> AsyncIterator[Evening]:
    """A server with a scene in each room."""
    beats = Beats()
    messenger, model = TimedMessenger(beats, beats=beats), SteadyModel(beats)
    async with open_stage(
        folder, chat=model, background=ScriptedChatModel(), messenger=messenger, clock=beats
    ) as stage:
        persona = await stage.persona()
        for room in ROOMS:
            await stage.scene(persona, place=room)
        try:
            yield Evening(stage, beats, model, messenger)
        finally:
            beats.number += CALL
            model.beat()


async def talk(on: Evening, *, flood: int = 0) -> list[int]:
    """Each of the others says one thing, one after another; the beats until each was answered. Meanwhile one
    member says so many things over all channels."""
    said: dict[int, int] = {}
    guests, numbers = iter(OTHERS), iter(range(flood))
    while len(said) < len(OTHERS) or any([await on.answered(message) < 0 for message in said]):
        for number in itertools.islice(numbers, FLOOD):
            place = ROOMS[number % len(ROOMS)]
            on.stage.say(f"Mira! Mira! Answer me, number {number}!", by=FLOODER, place=place)
        if on.beats.number % GUEST_EVERY == 0 and (guest := next(guests, 0)):
            text = f"Good evening Mira, I am guest {guest}."
            said[on.stage.say(text, by=guest, place=ROOMS[guest - 1])] = on.beats.number
        await on.beat()
    return [await on.answered(message) - began for message, began in said.items()]


@pytest.mark.timeout(150)
async def test_twenty_are_answered_within_twice_their_time_while_one_floods_their_channels(
    tmp_path: Path,
) -> None:
    async with evening(tmp_path / "calm") as on:
        calm = await talk(on)
    async with evening(tmp_path / "flood") as on:
        flooded = await talk(on, flood=1000)
    times = list(zip(calm, flooded, strict=True))
    told = [f"{quiet} beats alone, {loud} in the flood" for quiet, loud in times]
    assert set(calm) == {CALL}
    assert all(loud <= 2 * quiet for quiet, loud in times), told
