"""One table of the search index: searching, writing, and writing it anew in good order.

Imports lancedb (two seconds): `lance_index` imports this module in a thread when the index is opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import lancedb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from lancedb.index import BTree

from bot.adapters.index_query import integers, scope_filter
from bot.adapters.lance_rows import HIT_COLUMNS, schema_of, to_arrow, to_hits, to_vectors, with_emotions
from bot.core.ports import IndexHit, IndexKey, Scope
from bot.core.vectors import Vector

INDEX_CACHE = 64 << 20
METADATA_CACHE = 32 << 20
BATCH = 512
"""Ids per filter list."""
BULK = 4096
"""Rows per write; each write is one version of the table."""
GROUP = 8192
"""Rows held at once while a table is written anew."""
RUNS = 500
"""A story in more pieces than this is worth putting together: every piece costs a search about 15 µs."""
EVERY_ROW = 2**31
_INDEXED = ("story_id", "memory_id")
_HORIZON = timedelta(minutes=2)
_AT_ONCE = timedelta(milliseconds=1)
"""Older than this means every version but the newest (0 would mean the same and warn)."""


async def connect(path: str) -> tuple[Any, Any]:
    """A connection and the session that bounds its caches; keep both."""
    session = lancedb.Session(index_cache_size_bytes=INDEX_CACHE, metadata_cache_size_bytes=METADATA_CACHE)
    return await lancedb.connect_async(path, session=session), session


class LanceTable:
    """A table of keys. Raises the library's own errors; `lance_index` turns them into ours."""

    def __init__(self, table: Any, schema: pa.Schema) -> None:
        self._table = table
        self._schema = schema

    @classmethod
    async def create(cls, connection: Any, name: str, dimensions: int) -> LanceTable:
        """A new, empty table. Its scalar indexes come with its first tidying: they find nothing in what is
        written behind them. No vector index: it loses recall and wins little."""
        table = await connection.create_table(name, schema=schema_of(dimensions), exist_ok=True)
        return cls(table, await table.schema())

    @classmethod
    async def open(cls, connection: Any, name: str) -> LanceTable:
        table = await connection.open_table(name)
        return cls(table, await table.schema())

    @property
    def dimensions(self) -> int:
        return int(self._schema.field("vector").type.list_size)

    async def refresh(self) -> None:
        """Turns to the newest version, after another process changed the table."""
        await self._table.checkout_latest()

    # ------------------------------------------------------------ reading
    async def nearest(self, scope: Scope, query: Vector, limit: int) -> list[IndexHit]:
        """By meaning: exact distances over everything that the filter leaves."""
        search = self._table.vector_search(query).column("vector").distance_type("l2")
        rows = search.where(scope_filter(scope)).select(HIT_COLUMNS)
        return await self._collapsed(rows, limit, meaning=True)

    async def nearest_by_emotion(self, scope: Scope, emotion: Vector, limit: int) -> list[IndexHit]:
        """By feeling, exact too; only what is known to feel like something."""
        search = self._table.vector_search(emotion).column("emotion").distance_type("cosine")
        rows = search.where(scope_filter(scope) + " AND emotion_known = true").select(HIT_COLUMNS)
        return await self._collapsed(rows, limit, meaning=False)

    async def vectors(self, scope: Scope, memory_ids: Collection[int]) -> dict[int, Vector]:
        rows = self._table.query().where(scope_filter(scope, memory_ids)).select(["memory_id", "vector"])
        return to_vectors(await rows.limit(EVERY_ROW).to_arrow())

    @staticmethod
    async def _collapsed(search: Any, limit: int, *, meaning: bool) -> list[IndexHit]:
        """Asks for more rows until they hold `limit` different memories or there are no more."""
        rows_wanted = limit + limit // 2
        while True:
            rows = await search.limit(rows_wanted).to_arrow()
            hits = to_hits(rows, meaning=meaning)
            if len(hits) >= limit or rows.num_rows < rows_wanted:
                return hits[:limit]
            rows_wanted *= 4

    async def count(self) -> int:
        """Keys, of which a memory may have several."""
        return int(await self._table.count_rows())

    async def versions(self) -> int:
        """How many are kept: about as many writes as were not merged yet."""
        return len(await self._table.list_versions())

    async def in_small_files(self, rows: int) -> set[int]:
        """The memories whose keys lie in files of fewer rows."""
        found = await self._table.query().select(["memory_id"]).with_row_id().limit(EVERY_ROW).to_arrow()
        return await asyncio.to_thread(_in_small_files, found, rows)

    async def probe(self) -> None:
        """Reads something of every file, so that a missing one is noticed."""
        await self._table.query().select(["memory_id", "emotion"]).limit(EVERY_ROW).to_arrow()

    # ------------------------------------------------------------ writing
    async def upsert(self, keys: Sequence[IndexKey]) -> None:
        """Replaces or adds, in one step; measured beside "delete, then add" it costs about the same."""
        rows = await asyncio.to_thread(to_arrow, keys, self._schema)
        for start in range(0, rows.num_rows, BULK):
            await self._merge(rows.slice(start, BULK))

    async def _merge(self, rows: pa.Table) -> None:
        merge = self._table.merge_insert(["memory_id", "part"])
        await merge.when_matched_update_all().when_not_matched_insert_all().execute(rows)

    async def set_emotions(self, emotions: Mapping[int, Vector]) -> None:
        """Reads the rows and writes them again: five times faster than writing these columns alone."""
        for ids in _batches(emotions):
            rows = await self._keys_of(ids)
            if rows.num_rows:
                await self._merge(with_emotions(rows, emotions))

    async def _keys_of(self, memory_ids: Collection[int]) -> pa.Table:
        which = f"memory_id IN ({integers(memory_ids)})"
        return await self._table.query().where(which).limit(EVERY_ROW).to_arrow()

    async def remove(self, memory_ids: Collection[int]) -> None:
        for ids in _batches(memory_ids):
            await self._table.delete(f"memory_id IN ({integers(ids)})")

    # ------------------------------------------------------------ keeping it in order
    async def fold(self, memory_ids: Collection[int]) -> None:
        """Writes the keys of these memories again, into one file: the small ones they lay in are left empty
        and go. Takes 20 ms for some hundred, while `tidy` writes every row of the table again."""
        rows = [await self._keys_of(ids) for ids in _batches(memory_ids)]
        if any(some.num_rows for some in rows):
            await self._merge(pa.concat_tables(rows))

    async def tidy(self) -> None:
        """Merges small files, puts scattered stories together, drops versions older than two minutes."""
        if await self._scattered():
            await self.write_anew()
        await self._ensure_indexes()
        await self._table.optimize(cleanup_older_than=_HORIZON)

    async def write_anew(self) -> None:
        """Writes every living row into new files, story by story. Old files stay until `drop_old`.

        A search reads its story as one piece then: 6 ms instead of 66 among 100,000 rows of 20 stories.
        """
        loop = asyncio.get_running_loop()
        batches = self._by_story()

        def pull() -> Iterator[pa.RecordBatch]:
            while (batch := asyncio.run_coroutine_threadsafe(_next(batches), loop).result()) is not None:
                yield batch

        reader = pa.RecordBatchReader.from_batches(self._schema, pull())
        await self._table.add(reader, mode="overwrite")
        await self._ensure_indexes()

    async def drop_old(self) -> None:
        """Deletes every file that the newest version does not need, also what a crash left behind.

        Nobody may read or write meanwhile.
        """
        await self._table.optimize(cleanup_older_than=_AT_ONCE, delete_unverified=True)

    async def _ensure_indexes(self) -> None:
        present = {column for index in await self._table.list_indices() for column in index.columns}
        for column in _INDEXED:
            if column not in present:
                await self._table.create_index(column, config=BTree())

    async def _stories(self) -> npt.NDArray[np.int64]:
        rows = await self._table.query().select(["story_id"]).limit(EVERY_ROW).to_arrow()
        return np.asarray(rows["story_id"].to_numpy(), dtype=np.int64)

    async def _scattered(self) -> bool:
        return await asyncio.to_thread(_most_runs, await self._stories()) > RUNS

    async def _by_story(self) -> AsyncIterator[pa.RecordBatch]:
        found = await self._stories()
        stories, counts = await asyncio.to_thread(np.unique, found, return_counts=True)
        for group in _groups(stories.tolist(), counts.tolist()):
            rows = self._table.query().where(f"story_id IN ({integers(group)})").limit(EVERY_ROW)
            if len(group) == 1:
                async for batch in await rows.to_batches(max_batch_length=GROUP):
                    yield batch
            else:
                table = await asyncio.to_thread((await rows.to_arrow()).sort_by, "story_id")
                for batch in table.to_batches():
                    yield batch


def _in_small_files(found: pa.Table, rows: int) -> set[int]:
    """The library numbers rows by file (the upper half of the number) and place in it."""
    files = np.asarray(found["_rowid"].to_numpy(), dtype=np.uint64) >> np.uint64(32)
    _, which, counts = np.unique(files, return_inverse=True, return_counts=True)
    return set(found["memory_id"].to_numpy()[counts[which] < rows].tolist())


def _most_runs(stories: npt.NDArray[np.int64]) -> int:
    """Into how many runs of neighbouring rows the most scattered story is split."""
    if not len(stories):
        return 0
    starts = stories[np.r_[True, stories[1:] != stories[:-1]]]
    return int(np.unique(starts, return_counts=True)[1].max())


async def _next(batches: AsyncIterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    return await anext(batches, None)


def _batches(ids: Collection[int]) -> Iterator[list[int]]:
    every = sorted(ids)
    for start in range(0, len(every), BATCH):
        yield every[start : start + BATCH]


def _groups(stories: Sequence[int], counts: Sequence[int]) -> Iterator[list[int]]:
    """Neighbouring stories that together have at most `GROUP` rows; a longer one stands alone."""
    group: list[int] = []
    rows = 0
    for story, count in zip(stories, counts, strict=True):
        if group and rows + count > GROUP:
            yield group
            group, rows = [], 0
        group.append(story)
        rows += count
    if group:
        yield group
