"""The vectors of the last questions: remembered for a while, forgotten at once."""

from __future__ import annotations

import asyncio

import numpy as np

from bot.adapters.recent_queries import KEPT, RecentQueries
from bot.core.vectors import Vector


class SlowModel:
    """Encodes when the test lets it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.go = asyncio.Event()
        self.go.set()

    async def encode(self, texts: list[str]) -> list[Vector]:
        self.asked += texts
        await self.go.wait()
        return [np.full(2, float(len(text)), dtype=np.float32) for text in texts]


async def test_what_is_being_asked_when_all_is_forgotten_is_not_remembered() -> None:
    recent, model = RecentQueries(), SlowModel()
    model.go.clear()
    asking = asyncio.create_task(recent.rows(["where is the key?"], model.encode))
    await asyncio.sleep(0)
    recent.clear()
    model.go.set()
    (vector,) = await asking
    assert vector[0] == len("where is the key?")
    await recent.rows(["where is the key?"], model.encode)
    assert model.asked == ["where is the key?"] * 2


async def test_a_known_question_that_gives_way_meanwhile_is_answered_all_the_same() -> None:
    recent, model = RecentQueries(), SlowModel()
    await recent.rows(["known"], model.encode)
    model.go.clear()
    asking = asyncio.create_task(recent.rows(["known", "a new one"], model.encode))
    await asyncio.sleep(0)
    for number in range(KEPT):
        await recent.rows([f"other {number}"], SlowModel().encode)
    model.go.set()
    known, new = await asking
    assert (known[0], new[0]) == (5.0, 9.0)


async def test_no_words_are_kept() -> None:
    recent, model = RecentQueries(), SlowModel()
    await recent.rows(["my secret word"], model.encode)
    assert "secret" not in repr(vars(recent))
