"""What waits for the notes of a scene is known, however counting and speaking fall together."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.engine.gates import Held
from tests.engine.stage import CELLAR, TAVERN, Stage, open_stage

NOTES = json.dumps({"keep": "all", "lines": [{"section": "place", "text": "The inn.", "turns": [1]}]})


async def idle(stage: Stage) -> None:
    async with asyncio.timeout(10):
        while stage.troupe.summariser.busy:
            await asyncio.sleep(0.005)
    await stage.quiet()


async def test_what_is_said_while_nothing_is_found_to_wait_is_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        looking = Held(monkeypatch, stage.store.turns, "uncovered")
        stage.troupe.summariser.note(TAVERN, 1, 10)
        await looking.reached()
        stage.say("Mira, are you there?")
        await stage.quiet()
        looking.go.set()
        await idle(stage)
        assert stage.troupe.summariser.waiting == await stage.store.turns.count_uncovered(1) == 2


async def test_what_is_said_while_the_rest_is_counted_is_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path, {"memory": lambda _: NOTES}) as stage:
        await stage.scene(await stage.persona())
        await stage.troupe.options.set(TAVERN.space_id, 0, "reply_mode", "off")
        count = stage.store.turns.count_uncovered

        async def speaks_meanwhile(scene_id: int) -> int:
            found = await count(scene_id)
            if stage.model.of("memory") and found < 3:
                stage.say("One more line.")
                await stage.troupe.journal.flushed()
                if current().get_name() != f"place {TAVERN.id}":
                    await stage.window()  # it has come to its place
            return found

        monkeypatch.setattr(stage.store.turns, "count_uncovered", speaks_meanwhile)
        for number in range(10):
            stage.say(f"Line {number}.")
        await stage.quiet()
        async with asyncio.timeout(10):
            while not stage.model.of("memory"):
                await asyncio.sleep(0.005)
        await idle(stage)
        assert stage.troupe.summariser.waiting == await count(1)


async def test_a_place_that_begins_while_those_that_wait_are_read_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(mira := await stage.persona())
        reading = Held(monkeypatch, stage.store.scenes, "places")
        running = asyncio.create_task(stage.troupe.summariser.run())
        await reading.reached()
        await stage.scene(mira, place=CELLAR)
        stage.say("Nobody is addressed.", place=CELLAR)
        await stage.quiet(CELLAR)
        reading.go.set()
        await asyncio.wait([running], timeout=0.2)
        assert not running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def current() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None
    return task
