"""What every search index promises, shown on the fake one and on LanceDB."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from bot.adapters.lance_index import LanceIndex
from bot.core import emotion as emotions
from bot.core.ports import MemoryIndex
from bot.core.vectors import nearest_distance
from tests.adapters.index_parts import PLACE, SIZE, SPACE, feeling, key, scope, unit
from tests.fakes_index import FakeIndex


@pytest.fixture(params=["fake", "lance"])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MemoryIndex]:
    if request.param == "fake":
        yield FakeIndex(SIZE)
        return
    async with LanceIndex.open(tmp_path / "index", encoder_id="test:16", dimensions=SIZE) as lance:
        yield lance


async def test_distance_is_euclidean_and_not_its_square(index: MemoryIndex) -> None:
    query = unit(1)
    await index.upsert(SPACE, [key(1, vector=query), key(2, vector=-query)])
    hits = await index.nearest(scope(), query, 5)
    assert [hit.memory_id for hit in hits] == [1, 2]
    assert hits[0].d_sem == pytest.approx(0.0, abs=1e-3)
    assert hits[1].d_sem == pytest.approx(2.0, abs=1e-4)


async def test_nearest_agrees_with_plain_arithmetic(index: MemoryIndex) -> None:
    keys = [key(number) for number in range(1, 301)]
    await index.upsert(SPACE, keys)
    query = unit(7)
    expected = sorted(keys, key=lambda one: float(np.linalg.norm(one.vector - query)))[:25]
    hits = await index.nearest(scope(), query, 25)
    assert [hit.memory_id for hit in hits] == [one.memory_id for one in expected]
    wanted = [float(np.linalg.norm(one.vector - query)) for one in expected]
    assert [hit.d_sem for hit in hits] == pytest.approx(wanted, abs=1e-4)


async def test_hit_carries_the_emotion_and_whether_it_is_known(index: MemoryIndex) -> None:
    await index.upsert(SPACE, [key(1, emotion=feeling(9, 2)), key(2, emotion=feeling(), known=False)])
    found = {hit.memory_id: hit for hit in await index.nearest(scope(), unit(3), 5)}
    assert found[1].emotion.tolist() == feeling(9, 2).tolist()
    assert (found[1].emotion_known, found[2].emotion_known) == (True, False)


async def test_scope_is_applied_before_the_cut(index: MemoryIndex) -> None:
    query = unit(5)
    others = [
        key(1, vector=query, story=2),
        key(2, vector=query, place=PLACE + 1),
        key(3, vector=query, audience=3),
    ]
    await index.upsert(SPACE, [*others, key(4, vector=-query, audience=2)])
    await index.upsert(SPACE + 1, [key(5, vector=query)])
    hits = await index.nearest(scope(1, 2), query, 1)
    assert [hit.memory_id for hit in hits] == [4]


@pytest.mark.parametrize("limit", [0, -1])
async def test_nothing_is_asked_for_nothing_comes(index: MemoryIndex, limit: int) -> None:
    await index.upsert(SPACE, [key(1)])
    assert await index.nearest(scope(), unit(1), limit) == []
    assert await index.nearest_by_emotion(scope(), feeling(5), limit) == []


async def test_persona_that_witnessed_nothing_recalls_nothing(index: MemoryIndex) -> None:
    await index.upsert(SPACE, [key(1)])
    nobody = scope()
    nobody = type(nobody)(nobody.space_id, nobody.place_id, nobody.story_id, ())
    assert await index.nearest(nobody, unit(1), 5) == []
    assert await index.nearest_by_emotion(nobody, feeling(5), 5) == []
    assert await index.vectors(nobody, [1]) == {}


async def test_unknown_space_is_empty(index: MemoryIndex) -> None:
    assert await index.nearest(scope(space=77), unit(1), 5) == []
    assert await index.vectors(scope(space=77), [1]) == {}
    assert await index.count(77) == 0
    await index.remove(77, [1])
    await index.set_emotions(77, {1: feeling(3)})
    await index.rewrite(77)
    await index.drop_space(77)


async def test_several_keys_of_a_memory_count_as_the_nearest_of_them(index: MemoryIndex) -> None:
    query = unit(2)
    triggers = [key(1, part=part, vector=query) for part in range(1, 40)]
    await index.upsert(SPACE, [key(1, vector=-query), *triggers, key(2), key(3), key(4, vector=-query)])
    hits = await index.nearest(scope(), query, 3)
    assert hits[0].memory_id == 1
    assert hits[0].d_sem == pytest.approx(0.0, abs=1e-3)
    assert {hit.memory_id for hit in hits} == {1, 2, 3}


async def test_same_memory_and_part_again_replaces_the_row(index: MemoryIndex) -> None:
    query = unit(2)
    await index.upsert(SPACE, [key(1, vector=-query), key(1, part=1, vector=-query)])
    await index.upsert(SPACE, [key(1, vector=query, story=2), key(1, vector=query)])
    assert await index.count(SPACE) == 2
    (hit,) = await index.nearest(scope(), query, 5)
    assert hit.d_sem == pytest.approx(0.0, abs=1e-3)


async def test_by_emotion_is_cosine_among_known_feelings(index: MemoryIndex) -> None:
    many = np.random.default_rng(4).uniform(1, 10, (60, 8)).astype(np.float32)
    keys = [key(number, emotion=row) for number, row in enumerate(many, start=1)]
    query = feeling(9, 1, 4)
    await index.upsert(
        SPACE, [*keys, key(99, emotion=query, known=False), key(98, emotion=query, audience=7)]
    )
    expected = np.argsort(emotions.distances(query, many), kind="stable")[:20] + 1
    hits = await index.nearest_by_emotion(scope(), query, 20)
    assert [hit.memory_id for hit in hits] == expected.tolist()
    assert all(math.isnan(hit.d_sem) for hit in hits)


async def test_vectors_of_named_memories_stay_in_scope(index: MemoryIndex) -> None:
    keys = [key(number) for number in range(1, 30)]
    await index.upsert(SPACE, [*keys, key(50, story=2), key(3, part=1, vector=unit(8)), key(51, audience=2)])
    found = await index.vectors(scope(), [3, 4, 50, 51, 1234])
    assert {memory_id: len(vectors) for memory_id, vectors in found.items()} == {3: 2, 4: 1}
    assert found[4][0].tolist() == keys[3].vector.tolist()
    assert nearest_distance(unit(8), found[3]) == pytest.approx(0.0, abs=1e-3)
    near = {hit.memory_id: hit.d_sem for hit in await index.nearest(scope(), unit(8), 50)}
    for memory_id, vectors in found.items():
        assert nearest_distance(unit(8), vectors) == pytest.approx(near[memory_id], abs=1e-4)
    assert await index.vectors(scope(), []) == {}


async def test_new_emotion_keeps_the_meaning(index: MemoryIndex) -> None:
    await index.upsert(SPACE, [key(1, known=False), key(1, part=1), key(2)])
    await index.set_emotions(SPACE, {1: feeling(1, 8), 42: feeling(2)})
    await index.set_emotions(SPACE, {})
    found = {hit.memory_id: hit for hit in await index.nearest(scope(), unit(100), 5)}
    assert found[1].emotion.tolist() == feeling(1, 8).tolist()
    assert found[1].emotion_known
    assert found[1].d_sem == pytest.approx(0.0, abs=1e-3)
    assert found[2].emotion.tolist() == key(2).emotion.tolist()
    assert await index.count(SPACE) == 3


async def test_removed_memory_is_out_of_every_result(index: MemoryIndex) -> None:
    await index.upsert(SPACE, [key(1), key(1, part=1), key(2)])
    await index.remove(SPACE, [1, 77])
    await index.remove(SPACE, [])
    assert [hit.memory_id for hit in await index.nearest(scope(), unit(100), 5)] == [2]
    assert [hit.memory_id for hit in await index.nearest_by_emotion(scope(), feeling(4), 5)] == [2]
    assert await index.vectors(scope(), [1]) == {}
    assert await index.count(SPACE) == 1


async def test_rewrite_keeps_what_lives(index: MemoryIndex) -> None:
    await index.upsert(SPACE, [key(number, story=number % 3) for number in range(1, 40)])
    await index.remove(SPACE, [3, 6])
    before = await index.nearest(scope(story=0), unit(4), 50)
    await index.rewrite(SPACE)
    after = await index.nearest(scope(story=0), unit(4), 50)
    assert [hit.memory_id for hit in after] == [hit.memory_id for hit in before]
    assert await index.count(SPACE) == 37
    await index.upsert(SPACE, [key(3, story=0)])
    assert await index.count(SPACE) == 38


async def test_rewrite_of_a_space_without_living_rows(index: MemoryIndex) -> None:
    await index.upsert(SPACE, [key(1)])
    await index.remove(SPACE, [1])
    await index.rewrite(SPACE)
    assert await index.nearest(scope(), unit(1), 5) == []
    await index.upsert(SPACE, [key(2)])
    assert [hit.memory_id for hit in await index.nearest(scope(), unit(1), 5)] == [2]


async def test_dropped_space_leaves_the_others(index: MemoryIndex) -> None:
    await index.upsert(SPACE, [key(1)])
    await index.upsert(SPACE + 1, [key(2)])
    await index.drop_space(SPACE)
    assert await index.count(SPACE) == 0
    assert await index.nearest(scope(), unit(1), 5) == []
    assert await index.count(SPACE + 1) == 1
    await index.upsert(SPACE, [key(3)])
    assert await index.count(SPACE) == 1


async def test_maintenance_changes_no_result(index: MemoryIndex) -> None:
    for number in range(1, 160):
        await index.upsert(SPACE, [key(number)])
    before = await index.nearest(scope(), unit(9), 10)
    await index.maintain()
    after = await index.nearest(scope(), unit(9), 10)
    assert [hit.memory_id for hit in after] == [hit.memory_id for hit in before]
    assert await index.count(SPACE) == 159


@pytest.mark.parametrize("wrong", [unit(1, SIZE + 1), np.full(SIZE, np.nan, dtype=np.float32)])
async def test_wrong_vectors_are_refused_before_anything_is_written(
    index: MemoryIndex, wrong: np.ndarray
) -> None:
    await index.upsert(SPACE, [key(1)])
    with pytest.raises(ValueError):
        await index.upsert(SPACE, [key(2), key(3, vector=wrong)])
    with pytest.raises(ValueError):
        await index.upsert(SPACE, [key(2), key(3, emotion=wrong)])
    with pytest.raises(ValueError):
        await index.nearest(scope(), wrong, 5)
    assert await index.count(SPACE) == 1
