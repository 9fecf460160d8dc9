"""What the search index on LanceDB promises beyond the contract: erasure, repair, upkeep, encoders."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import Sequence
from pathlib import Path

import lancedb
import numpy as np
import pytest

from bot.adapters import lance_index, lance_table
from bot.adapters.index_manifest import FILE_NAME, table_name
from bot.adapters.lance_index import LanceIndex
from bot.core.ports import IndexKey
from bot.core.vectors import Vector
from bot.errors import SearchIndexError
from tests.adapters.index_parts import SIZE, SPACE, feeling, key, scope, unit
from tests.engine.gates import Held

ENCODER = "test/model name:16"
TABLE = table_name(SPACE, ENCODER)


def open_index(folder: Path, encoder_id: str = ENCODER, dimensions: int = SIZE):
    return LanceIndex.open(folder, encoder_id=encoder_id, dimensions=dimensions)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def holds(folder: Path, vector: Vector) -> bool:
    needle = vector.astype("<f4").tobytes()
    return any(needle in path.read_bytes() for path in files(folder))


async def ids_in_every_version(folder: Path) -> list[set[int]]:
    table = await (await lancedb.connect_async(str(folder))).open_table(TABLE)
    found = []
    for version in await table.list_versions():
        await table.checkout(version["version"])
        rows = await table.query().select(["memory_id"]).limit(100_000).to_arrow()
        found.append(set(rows["memory_id"].to_pylist()))
    return found


async def runs_of_stories(folder: Path) -> int:
    table = await (await lancedb.connect_async(str(folder))).open_table(TABLE)
    stories = (await table.query().select(["story_id"]).limit(1_000_000).to_arrow())["story_id"].to_numpy()
    return 1 + int(np.count_nonzero(np.diff(stories)))


def scattered(rows: int, stories: int) -> list[IndexKey]:
    return [key(number, story=number % stories) for number in range(1, rows + 1)]


# ---------------------------------------------------------------- erasure
@pytest.mark.parametrize(
    "gone", [[2500], list(range(1, 401)), list(range(1, 5001))], ids=["one", "8 %", "all"]
)
async def test_bytes_of_removed_rows_are_gone_after_rewrite(tmp_path: Path, gone: Sequence[int]) -> None:
    keys = scattered(5000, 3)
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, keys)
        await index.remove(SPACE, gone)
        assert holds(tmp_path, keys[gone[0] - 1].vector)
        await index.rewrite(SPACE)
        assert await index.count(SPACE) == 5000 - len(gone)
    assert not any(holds(tmp_path, keys[number - 1].vector) for number in gone[:20])
    kept = set(range(1, 5001)) - set(gone)
    assert await ids_in_every_version(tmp_path) == [kept]
    assert all(holds(tmp_path, keys[number - 1].vector) for number in list(kept)[:3])


async def test_replaced_vector_is_gone_after_rewrite(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, scattered(100, 2))
        await index.upsert(SPACE, [key(5, vector=unit(77))])
        await index.rewrite(SPACE)
    assert not holds(tmp_path, key(5).vector)
    assert holds(tmp_path, unit(77))


async def test_rewrite_deletes_what_a_crash_left_behind(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, scattered(10, 2))
        (written,) = (tmp_path / f"{TABLE}.lance" / "data").iterdir()
        orphan = written.with_name("0" * len(written.stem) + ".lance")
        shutil.copy(written, orphan)
        await index.rewrite(SPACE)
    assert not orphan.exists()


async def test_erasure_reaches_the_table_of_a_former_encoder(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, scattered(100, 2))
    async with open_index(tmp_path, "another:16") as index:
        await index.upsert(SPACE, [key(1, vector=unit(1))])
        await index.remove(SPACE, [7])
        await index.rewrite(SPACE)
    assert not holds(tmp_path, key(7).vector)
    assert await ids_in_every_version(tmp_path) == [set(range(1, 101)) - {7}]


async def test_dropped_space_leaves_no_file(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, [key(1)])
        await index.drop_space(SPACE)
        assert [path.name for path in files(tmp_path)] == [FILE_NAME]


# ---------------------------------------------------------------- many at once
async def test_searches_go_on_during_writes_upkeep_and_rewrites(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, scattered(400, 4))
        done = asyncio.Event()
        answers: list[int] = []

        async def search() -> None:
            while not done.is_set():
                answers.append(len(await index.nearest(scope(story=1), unit(3), 20)))

        searching = [asyncio.create_task(search()) for _ in range(4)]
        for turn in range(4):
            await asyncio.gather(
                index.upsert(SPACE, scattered(40, 4)), index.rewrite(SPACE), index.remove(SPACE, [401 + turn])
            )
        done.set()
        await asyncio.gather(*searching)
        assert set(answers) == {20}
        assert await index.count(SPACE) == 400


async def test_first_keys_of_a_space_may_come_from_two_tasks(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await asyncio.gather(*(index.upsert(SPACE, [key(number)]) for number in range(1, 9)))
        assert await index.count(SPACE) == 8


async def test_more_spaces_than_tables_are_kept_open(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        for space in range(1, 40):
            await index.upsert(space, [key(space)])
        for space in range(1, 40):
            (hit,) = await index.nearest(scope(space=space), unit(1), 5)
            assert hit.memory_id == space


async def test_version_cleaned_away_by_another_process_heals(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, scattered(300, 2))
        await index.nearest(scope(), unit(1), 1)
        async with open_index(tmp_path) as other:
            await other.remove(SPACE, [299])
            await other.rewrite(SPACE)
        hits = await index.nearest(scope(), unit(1), 500)
        assert len(hits) == 149


async def test_cancelled_rewrite_loses_nothing(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, scattered(4000, 4))
        for steps in range(1, 40, 4):
            rewriting = asyncio.create_task(index.rewrite(SPACE))
            for _ in range(steps):
                await asyncio.sleep(0.001)
            rewriting.cancel()
            await asyncio.gather(rewriting, return_exceptions=True)
            assert len(await index.nearest(scope(story=1), unit(3), 2000)) == 1000
        await index.rewrite(SPACE)
        assert await index.count(SPACE) == 4000


# ---------------------------------------------------------------- upkeep
async def files_of(tmp_path: Path) -> int:
    table = await (await lancedb.connect_async(str(tmp_path))).open_table(TABLE)
    return int((await table.stats())["fragment_stats"]["num_fragments"])


async def test_many_small_writes_become_few_files(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        for number in range(1, lance_index.MERGE_AFTER + 1):
            await index.upsert(SPACE, [key(number)])
        assert await files_of(tmp_path) > 100
        await index.maintain()
        assert await files_of(tmp_path) == 1
        assert await index.count(SPACE) == lance_index.MERGE_AFTER


async def test_the_newest_keys_are_folded_into_one_file_and_the_rest_is_left_alone(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, scattered(1000, 2))
        await index.rewrite(SPACE)
        (old,) = (tmp_path / f"{TABLE}.lance" / "data").iterdir()
        written = old.stat().st_mtime_ns
        for number in range(2000, 2000 + 3 * lance_index.FOLD_AFTER):
            await index.upsert(SPACE, [key(number, vector=unit(number))])
            await index.maintain()
        assert await files_of(tmp_path) == 2
        assert old.stat().st_mtime_ns == written
        hits = await index.nearest(scope(), unit(2003), 1)
        assert [(hit.memory_id, round(hit.d_sem, 4)) for hit in hits] == [(2003, 0.0)]
        assert await index.count(SPACE) == 1000 + 3 * lance_index.FOLD_AFTER


async def test_what_was_removed_does_not_come_back_by_folding(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        for number in range(1, lance_index.FOLD_AFTER + 1):
            await index.upsert(SPACE, [key(number)])
        await index.remove(SPACE, [2, 3])
        await index.maintain()
        assert await files_of(tmp_path) == 1
        assert await index.count(SPACE) == lance_index.FOLD_AFTER - 2


async def test_small_files_of_an_earlier_run_are_folded_with_the_first_write(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, scattered(1000, 2))
        for number in range(2000, 2005):
            await index.upsert(SPACE, [key(number)])
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, [key(2005)])
        await index.maintain()
        assert await files_of(tmp_path) == 2
        assert await index.count(SPACE) == 1006


async def test_writes_of_an_earlier_run_count_too(tmp_path: Path) -> None:
    for start in (0, 100):
        async with open_index(tmp_path) as index:
            for number in range(start + 1, start + 81):
                await index.upsert(SPACE, [key(number)])
            await index.maintain()
    table = await (await lancedb.connect_async(str(tmp_path))).open_table(TABLE)
    assert (await table.stats())["fragment_stats"]["num_fragments"] == 1


async def test_upkeep_puts_scattered_stories_together(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, scattered(4000, 4))
        for number in range(5000, 5000 + lance_index.MERGE_AFTER):
            await index.upsert(SPACE, [key(number)])
        await index.maintain()
        assert await index.count(SPACE) == 4000 + lance_index.MERGE_AFTER
    assert await runs_of_stories(tmp_path) == 4
    table = await (await lancedb.connect_async(str(tmp_path))).open_table(TABLE)
    assert {column for one in await table.list_indices() for column in one.columns} == {
        "story_id",
        "memory_id",
    }


async def test_few_large_writes_are_put_in_order_too(tmp_path: Path) -> None:
    rows = 4096
    async with open_index(tmp_path) as index:
        for turn in range(lance_index.MERGE_AFTER * lance_index.LARGE // rows + 1):
            await index.upsert(
                SPACE, [key(rows * turn + one, vector=unit(one), story=one % 4) for one in range(rows)]
            )
        await index.maintain()
    assert await runs_of_stories(tmp_path) == 4


async def test_memory_that_many_searches_left_is_given_back_by_upkeep_and_not_by_a_search(
    tmp_path: Path,
) -> None:
    given_back: list[bool] = []
    async with LanceIndex.open(
        tmp_path, encoder_id=ENCODER, dimensions=SIZE, tidy=lambda: given_back.append(True)
    ) as index:
        for _ in range(lance_index.TIDY_EVERY - 1):
            await index.nearest(scope(), unit(1), 1)
        await index.maintain()
        assert given_back == []
        for _ in range(lance_index.TIDY_EVERY):
            await index.nearest(scope(), unit(1), 1)
        assert given_back == []
        await index.maintain()
        await index.maintain()
        assert given_back == [True]


async def test_a_reader_that_opened_a_table_before_a_write_does_not_have_it_shown_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, [key(1)])
    written, calls = asyncio.Event(), itertools.count()
    opened = lance_table.LanceTable.open

    async def slow_at_first(connection: object, name: str) -> lance_table.LanceTable:
        first = next(calls) == 0
        table = await opened(connection, name)
        if first:
            await written.wait()
        return table

    async with open_index(tmp_path) as index:
        monkeypatch.setattr(lance_table.LanceTable, "open", slow_at_first)
        reading = asyncio.create_task(index.count(SPACE))
        await asyncio.sleep(0)
        await index.upsert(SPACE, [key(2)])
        written.set()
        await reading
        assert await index.count(SPACE) == 2


# ---------------------------------------------------------------- repair
async def test_index_survives_reopening(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        assert index.is_new
        await index.upsert(SPACE, [key(1)])
    async with open_index(tmp_path) as index:
        assert not index.is_new
        assert not await index.is_damaged()
        assert [hit.memory_id for hit in await index.nearest(scope(), unit(1), 5)] == [1]


async def test_dimensions_may_be_learned_from_the_first_key(tmp_path: Path) -> None:
    async with open_index(tmp_path, dimensions=0) as index:
        await index.upsert(SPACE, [key(1)])
        with pytest.raises(ValueError):
            await index.upsert(SPACE, [key(2, vector=unit(1, 5))])


async def test_another_length_than_in_the_run_before_is_damage_that_a_reset_ends(tmp_path: Path) -> None:
    async with open_index(tmp_path, dimensions=0) as index:
        await index.upsert(SPACE, [key(1)])
    async with open_index(tmp_path, dimensions=0) as index:
        with pytest.raises(SearchIndexError, match="16 dimensions before, and 5 now"):
            await index.nearest(scope(), unit(1, 5), 3)
        assert await index.is_damaged()
        await index.reset()
        await index.upsert(SPACE, [key(2, vector=unit(1, 5))])
        assert [hit.memory_id for hit in await index.nearest(scope(), unit(1, 5), 3)] == [2]


async def test_deleted_folder_is_a_new_index(tmp_path: Path) -> None:
    async with open_index(tmp_path / "index") as index:
        await index.upsert(SPACE, [key(1)])
    shutil.rmtree(tmp_path / "index")
    async with open_index(tmp_path / "index") as index:
        assert index.is_new
        assert await index.count(SPACE) == 0


async def lose_table(folder: Path) -> None:
    await asyncio.to_thread(shutil.rmtree, folder / f"{TABLE}.lance")


async def lose_rows(folder: Path) -> None:
    await asyncio.to_thread(shutil.rmtree, folder / f"{TABLE}.lance" / "data")


async def lose_versions(folder: Path) -> None:
    await asyncio.to_thread(shutil.rmtree, folder / f"{TABLE}.lance" / "_versions")


async def garble_manifest(folder: Path) -> None:
    (folder / FILE_NAME).write_text("{no")


async def another_format(folder: Path) -> None:
    (folder / FILE_NAME).write_text('{"format": 99}')


@pytest.mark.parametrize("harm", [lose_table, lose_rows, lose_versions, garble_manifest, another_format])
async def test_damage_is_named_and_can_be_repaired(tmp_path: Path, harm) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, [key(1)])
    await harm(tmp_path)
    async with open_index(tmp_path) as index:
        assert await index.is_damaged()
        with pytest.raises(SearchIndexError, match="python -m bot reindex"):
            await index.nearest(scope(), unit(1), 5)
        await index.reset()
        assert index.is_new
        assert not await index.is_damaged()
        await index.upsert(SPACE, [key(2)])
        assert [hit.memory_id for hit in await index.nearest(scope(), unit(1), 5)] == [2]


async def test_folder_deleted_while_open_is_damage(tmp_path: Path) -> None:
    async with open_index(tmp_path / "index") as index:
        await index.upsert(SPACE, scattered(2000, 2))
        await asyncio.to_thread(shutil.rmtree, tmp_path / "index")
        assert await index.is_damaged()
        with pytest.raises(SearchIndexError, match="python -m bot reindex"):
            await index.upsert(SPACE, [key(3000)])
        await index.reset()
        await index.upsert(SPACE, [key(1)])
        assert await index.count(SPACE) == 1


async def test_place_that_cannot_hold_an_index_is_named(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file")
    with pytest.raises(SearchIndexError):
        async with open_index(tmp_path / "index"):
            pass


async def test_other_dimensions_of_the_same_encoder_are_damage(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, [key(1)])
    async with open_index(tmp_path, dimensions=SIZE + 1) as index:
        assert await index.is_damaged()


# ---------------------------------------------------------------- change of encoder
async def test_encoders_never_mix(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, [key(1)])
    async with open_index(tmp_path, "another:4", 4) as index:
        assert index.is_new
        assert index.stale_tables() == [TABLE]
        assert await index.nearest(scope(), unit(1, 4), 5) == []
        await index.upsert(SPACE, [key(2, vector=unit(1, 4))])
        assert [hit.memory_id for hit in await index.nearest(scope(), unit(1, 4), 5)] == [2]
        assert await index.drop_stale() == 1
        assert index.stale_tables() == []
        assert await index.count(SPACE) == 1
    assert not (tmp_path / f"{TABLE}.lance").exists()
    async with open_index(tmp_path) as index:
        assert await index.count(SPACE) == 0


async def test_dropped_encoder_starts_over_when_it_comes_back(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, [key(1)])
    async with open_index(tmp_path, "another:16") as index:
        await index.drop_stale()
    async with open_index(tmp_path) as index:
        assert index.is_new


async def test_filters_hold_integers_only(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, [key(1), key(2, story=2)])
        with pytest.raises((SearchIndexError, ValueError)):
            await index.nearest(scope(story="1 OR story_id = 2"), unit(1), 5)  # type: ignore[arg-type]
        with pytest.raises((SearchIndexError, ValueError)):
            await index.remove(SPACE, ["1) OR (1=1"])  # type: ignore[list-item]
        assert await index.count(SPACE) == 2


async def test_emotions_of_many_memories_change_at_once(tmp_path: Path) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, scattered(1300, 1))
        await index.set_emotions(SPACE, {number: feeling(1, 1, 7) for number in range(1, 1201)})
        hits = await index.nearest(scope(story=0), unit(1), 1300)
    changed = [hit.memory_id for hit in hits if hit.emotion.tolist() == feeling(1, 1, 7).tolist()]
    assert sorted(changed) == list(range(1, 1201))
    assert {hit.memory_id for hit in hits} == set(range(1, 1301))


@pytest.mark.parametrize(("step", "before"), [("set_emotions", True), ("_merge", True), ("_merge", False)])
async def test_a_write_under_way_brings_nothing_back_that_was_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, before: bool
) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, [key(1), key(2)])
        held = Held(monkeypatch, lance_table.LanceTable, step, before=before)
        writing = asyncio.create_task(index.set_emotions(SPACE, {1: feeling(9)}))
        await held.reached()
        throwing = asyncio.create_task(index.reset())
        await asyncio.wait([throwing], timeout=1.0)
        held.go.set()
        (failure,) = await asyncio.gather(writing, return_exceptions=True)
        assert failure is None or isinstance(failure, SearchIndexError)
        await throwing
        assert await index.count(SPACE) == 0
        await index.upsert(SPACE, [key(3)])
        assert await index.count(SPACE) == 1
        assert not holds(tmp_path, key(1).vector)


async def test_a_table_that_was_being_opened_when_all_was_thrown_away_is_not_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_index(tmp_path) as index:
        await index.upsert(SPACE, [key(1), key(2)])
        await index.remove(SPACE, [2])
    async with open_index(tmp_path) as index:
        opening = Held(monkeypatch, lance_table.LanceTable, "open")
        searching = asyncio.create_task(index.nearest(scope(), unit(1), 5))
        await opening.reached()
        await index.reset()
        opening.go.set()
        await asyncio.gather(searching, return_exceptions=True)
        await index.upsert(SPACE, [key(3)])
        assert await index.count(SPACE) == 1
