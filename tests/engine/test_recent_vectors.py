"""Vectors of the newest turns: kept for a search's context, gone with what is forgotten."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bot.engine import indexing
from bot.engine.recent_vectors import KEPT, RecentVectors
from tests.core.test_pictures import memory
from tests.engine.stage import open_stage

ONE = np.ones(3, dtype=np.float32)


def test_the_newest_stay_and_memories_without_a_turn_are_left_out() -> None:
    kept = RecentVectors()
    for number in range(1, KEPT + 3):
        kept.keep(replace(memory(number, None), turn_id=number), ONE)
    kept.keep(memory(9999, None), ONE)
    assert kept.get(2) is None
    assert kept.get(3) is ONE
    kept.drop([3])
    assert kept.get(3) is None


async def test_a_search_costs_one_embedding_and_the_context_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.0)
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("The old mill burnt.")
        stage.say("Nobody was hurt.")
        await stage.quiet()
        async with asyncio.timeout(30):
            while await stage.store.memories.count_to_index(stage.encoder.id):
                await asyncio.sleep(0.01)
        stage.say("Mira, it still smells of it.")
        await stage.quiet()
        assert stage.encoder.queries == ["Mira, it still smells of it."]
