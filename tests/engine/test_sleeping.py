"""The panic switch holds from the moment it is pressed, whatever else is being done with it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.engine.gates import Held
from tests.engine.stage import TAVERN, open_stage


async def test_a_waking_that_ends_after_the_switch_was_pressed_wakes_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        sleep, space_id = stage.troupe.trust.sleep, TAVERN.space_id
        await sleep.sleep(space_id)
        ending = Held(monkeypatch, stage.store.settings, "set_option")
        waking = asyncio.create_task(sleep.wake(space_id))
        await ending.reached()
        storing = Held(monkeypatch, stage.store.settings, "set_option", before=True)
        pressed = asyncio.create_task(sleep.sleep(space_id))
        await storing.reached()
        ending.go.set()
        assert await waking
        assert sleep.covers(TAVERN)
        storing.go.set()
        await pressed
        assert sleep.covers(TAVERN)
        assert await sleep.wake(space_id)
        assert not sleep.covers(TAVERN)
