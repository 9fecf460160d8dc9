"""While an emotion head is being fitted the chat goes on without feelings, and then with them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from bot.core.vectors import Vector
from tests.engine.stage import TAVERN, Stage, open_stage

pytestmark = pytest.mark.usefixtures("hurried_indexer")


class Late:
    """A scorer that must not be asked before it is ready."""

    ready = False

    @property
    def source(self) -> str:
        assert self.ready
        return "head:late"

    def scores(self, vectors: Vector) -> Vector:
        assert self.ready
        return np.tile(np.array([9, 1, 1, 1, 1, 1, 1, 1], dtype=np.float32), (len(vectors), 1))


async def felt(stage: Stage, text: str) -> str | None:
    """Where the feeling of what was said comes from."""
    async with asyncio.timeout(20):
        while await stage.store.memories.count_to_index(stage.encoder.id):
            await asyncio.sleep(0.01)
    found = await stage.troupe.memories.search(TAVERN, text)
    return next(one.memory.emotion_source for one in found if one.memory.text == text)


async def test_replies_do_not_wait_for_a_head_and_what_comes_later_is_felt(tmp_path: Path) -> None:
    scorer = Late()
    async with open_stage(tmp_path, scorer=scorer) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira, the first apple.")
        await stage.quiet()
        assert len(stage.model.of("reply")) == 1
        assert await felt(stage, "Mira, the first apple.") is None
        scorer.ready = True
        stage.say("Mira, the second apple.")
        await stage.quiet()
        assert len(stage.model.of("reply")) == 2
        assert await felt(stage, "Mira, the second apple.") == "head:late"
        assert await felt(stage, "Mira, the first apple.") is None
