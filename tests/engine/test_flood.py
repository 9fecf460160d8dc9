"""One member floods a server: the others are answered as if hardly anybody else were there."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bot.core.chat import Completion
from bot.core.types import Persona, Place
from tests.engine.stage import FakeMessenger, RealClock, Stage, open_stage
from tests.fakes import ScriptedChatModel

FLOODER = 999
OTHERS = range(1, 21)
ROOMS = [Place(id=1000 + number, guild_id=9, name=f"room-{number}") for number in range(30)]
CALL_S = 1.5
"""How long the model takes for any answer."""


class SteadyModel(ScriptedChatModel):
    """Takes the same time for every answer, and never says the same twice."""

    def __init__(self) -> None:
        numbers = itertools.count(1)
        super().__init__({"*": lambda _: f"Answer number {next(numbers)}, unlike any other."})
        self.most_at_once = self._now = 0

    async def complete(self, *args: Any, **options: Any) -> Completion:
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            await asyncio.sleep(CALL_S)
            return await super().complete(*args, **options)
        finally:
            self._now -= 1


@dataclass
class TimedMessenger(FakeMessenger):
    """Knows when each message of a persona went out."""

    sent: dict[int, float] = field(default_factory=dict)

    async def speak(self, place: Place, persona: Persona, text: str, **options: Any) -> int:
        message_id = await super().speak(place, persona, text, **options)
        self.sent[message_id] = asyncio.get_running_loop().time()
        return message_id


@asynccontextmanager
async def rooms(folder: Path) -> AsyncIterator[tuple[Stage, TimedMessenger]]:
    """A server with a scene in each room."""
    clock = RealClock()
    messenger = TimedMessenger(clock)
    async with open_stage(
        folder, chat=SteadyModel(), background=ScriptedChatModel(), messenger=messenger, clock=clock
    ) as stage:
        persona = await stage.persona()
        for room in ROOMS:
            await stage.scene(persona, place=room)
        yield stage, messenger


async def flood(stage: Stage) -> None:
    """One member says 1,000 things over all channels: 80 in a second, more than Discord lets through."""
    for number in range(1000):
        place = ROOMS[number % len(ROOMS)]
        stage.say(f"Mira! Mira! Answer me, number {number}!", by=FLOODER, place=place)
        if number % 10 == 9:
            await asyncio.sleep(0.12)


async def talk(stage: Stage, messenger: TimedMessenger, where: list[Place]) -> list[float]:
    """Each of the others says one thing, one after another; the seconds until each was answered."""
    said = {}
    loop = asyncio.get_running_loop()
    for number, place in zip(OTHERS, where, strict=True):
        said[stage.say(f"Good evening Mira, I am guest {number}.", by=number, place=place)] = loop.time()
        await asyncio.sleep(CALL_S * 0.4)
    return [await answered(stage, messenger, message) - moment for message, moment in said.items()]


async def answered(stage: Stage, messenger: TimedMessenger, message_id: int) -> float:
    """When the answer to a message went out."""
    async with asyncio.timeout(30):
        while True:
            turn = await stage.store.turns.by_message(message_id)
            if turn is not None and turn.answered_by is not None:
                assert turn.answered_by > 0, "it got a notice instead of an answer"
                (reply,) = await stage.store.turns.by_ids([turn.answered_by])
                if reply.message_ids:
                    return messenger.sent[reply.message_ids[0]]
            await asyncio.sleep(0.02)


@pytest.mark.timeout(150)
async def test_twenty_are_answered_within_twice_their_time_while_one_floods_their_channels(
    tmp_path: Path,
) -> None:
    async with rooms(tmp_path / "calm") as (stage, messenger):
        calm = await talk(stage, messenger, ROOMS[:20])
    async with rooms(tmp_path / "flood") as (stage, messenger):
        flooding = asyncio.create_task(flood(stage))
        await asyncio.sleep(0)
        flooded = await talk(stage, messenger, ROOMS[:20])
        await flooding
    times = list(zip(calm, flooded, strict=True))
    told = [f"{quiet:.2f} s alone, {loud:.2f} s in the flood" for quiet, loud in times]
    assert all(loud <= 2 * quiet for quiet, loud in times), told
