"""Older notes brought back: nothing of what came after is lost."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bot.core.types import Memory, MemoryKind
from bot.errors import UserFacing
from tests.engine.gates import Held
from tests.engine.stage import TAVERN, open_stage
from tests.engine.test_pages import fill


def notes(text: str, **more: object) -> str:
    return json.dumps({"keep": [], "lines": [{"section": "events", "text": text, "turns": [1], **more}]})


async def test_older_notes_come_back_and_what_came_after_stays_findable(tmp_path: Path) -> None:
    script = {"memory": [notes("The key is lost."), notes("The king is a frog.", **{"from": [1]}), "{}"]}
    async with open_stage(tmp_path, script) as stage:  # type: ignore[arg-type]
        await stage.scene(await stage.persona())
        await fill(stage)
        await fill(stage)
        wrong, right = await stage.troupe.keeping.history(TAVERN)
        assert [line.text for line in wrong.lines] == ["The king is a frog."]
        after = await stage.troupe.keeping.restore(TAVERN, right.revision_id)
        assert [line.text for line in after.lines] == ["The key is lost."]
        assert (await stage.troupe.memories.scratchpad(TAVERN.id)).number == 3
        kept = [one for one in await stage.store.memories.of_story(1) if one.kind is MemoryKind.SNAPSHOT]
        assert "The king is a frog." in [one.text for one in kept]
        assert await stage.store.turns.count_uncovered(1) == 10


async def test_notes_that_are_not_there_cannot_be_restored(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        with pytest.raises(UserFacing):
            await stage.troupe.keeping.restore(TAVERN, 99)


async def test_what_is_deleted_while_it_is_being_pinned_stays_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        message = stage.say("The safe opens with 1234.")
        await stage.quiet()
        looking = Held(monkeypatch, stage.store.knowledge, "always")
        pinning = asyncio.create_task(stage.troupe.keeping.pin(TAVERN, 1))
        await looking.reached()
        stage.delete(message)
        await stage.troupe.journal.flushed()
        looking.go.set()
        with pytest.raises(UserFacing, match="changed just now"):
            await pinning
        assert not (await stage.troupe.keeping.always(TAVERN)).pins


async def test_a_memory_that_two_pin_at_once_is_pinned_once(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("The king is a frog.")
        await stage.quiet()
        pinning = [stage.troupe.keeping.pin(TAVERN, 1) for _ in range(2)]
        done = await asyncio.gather(*pinning, return_exceptions=True)
        assert [type(one) for one in done] == [Memory, UserFacing]
        assert len((await stage.troupe.keeping.always(TAVERN)).pins) == 1
