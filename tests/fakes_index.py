"""A search index in memory: the same promises as the real one, in plain numpy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bot.core.emotion import distances as emotion_distances
from bot.core.ports import IndexHit, IndexKey, Scope
from bot.core.vectors import Vector
from bot.errors import SearchIndexError


class FakeIndex:
    """A `MemoryIndex`. `fails` makes every call raise; `rewritten` lists the spaces that were rewritten."""

    def __init__(self, dimensions: int = 384) -> None:
        self.rows: dict[int, dict[tuple[int, int], IndexKey]] = defaultdict(dict)
        self.fails = False
        self.rewritten: list[int] = []
        self.maintained = 0
        self.searches = 0
        self._dimensions = dimensions

    is_new = False

    async def is_damaged(self) -> bool:
        return False

    async def reset(self) -> None:
        self.rows.clear()

    async def drop_stale(self) -> int:
        return 0

    async def upsert(self, space_id: int, keys: Sequence[IndexKey]) -> None:
        for key in keys:
            self._check(key.vector, self._dimensions)
            self._check(key.emotion, 8)
        self._fail()
        for key in keys:
            self.rows[space_id][key.memory_id, key.part] = key

    async def nearest(self, scope: Scope, query: Vector, limit: int) -> list[IndexHit]:
        return self._by_meaning(scope, query)[: max(limit, 0)]

    async def nearest_by_emotion(self, scope: Scope, emotion: Vector, limit: int) -> list[IndexHit]:
        self._check(emotion, 8)
        keys = [key for key in self._in(scope) if key.emotion_known]
        if not keys:
            return []
        far = emotion_distances(emotion, np.stack([key.emotion for key in keys]))
        found = sorted(zip(far, keys, strict=True), key=lambda pair: (pair[0], pair[1].memory_id))
        hits = {key.memory_id: IndexHit(key.memory_id, float("nan"), key.emotion, True) for _, key in found}
        return list(hits.values())[: max(limit, 0)]

    async def vectors(self, scope: Scope, memory_ids: Collection[int]) -> dict[int, Vector]:
        found: dict[int, list[Vector]] = defaultdict(list)
        for key in self._in(scope):
            if key.memory_id in set(memory_ids):
                found[key.memory_id].append(key.vector)
        return {memory_id: np.stack(keys) for memory_id, keys in found.items()}

    async def set_emotions(self, space_id: int, emotions: Mapping[int, Vector]) -> None:
        self._fail()
        for emotion in emotions.values():
            self._check(emotion, 8)
        rows = self.rows[space_id]
        for place, key in rows.items():
            if key.memory_id in emotions:
                rows[place] = replace(key, emotion=emotions[key.memory_id], emotion_known=True)

    async def remove(self, space_id: int, memory_ids: Collection[int]) -> None:
        self._fail()
        gone = set(memory_ids)
        kept = {place: key for place, key in self.rows[space_id].items() if key.memory_id not in gone}
        self.rows[space_id] = kept

    async def rewrite(self, space_id: int) -> None:
        self._fail()
        self.rewritten.append(space_id)

    async def drop_space(self, space_id: int) -> None:
        self._fail()
        self.rows.pop(space_id, None)

    async def count(self, space_id: int) -> int:
        self._fail()
        return len(self.rows[space_id])

    async def maintain(self) -> None:
        self._fail()
        self.maintained += 1

    # ------------------------------------------------------------ inside
    def _by_meaning(self, scope: Scope, query: Vector) -> list[IndexHit]:
        self._check(query, self._dimensions)
        self.searches += 1
        best: dict[int, IndexHit] = {}
        for key in self._in(scope):
            d_sem = float(np.linalg.norm(key.vector - query))
            hit = IndexHit(key.memory_id, d_sem, key.emotion, key.emotion_known)
            if key.memory_id not in best or d_sem < best[key.memory_id].d_sem:
                best[key.memory_id] = hit
        return sorted(best.values(), key=lambda hit: (hit.d_sem, hit.memory_id))

    def _in(self, scope: Scope) -> list[IndexKey]:
        self._fail()
        return [
            key
            for key in self.rows[scope.space_id].values()
            if key.place_id == scope.place_id
            and key.story_id == scope.story_id
            and key.audience_id in scope.audience_ids
        ]

    def _fail(self) -> None:
        if self.fails:
            raise SearchIndexError("The search index cannot be used. `python -m bot reindex` rebuilds it.")

    @staticmethod
    def _check(vector: Vector, size: int) -> None:
        if np.shape(vector) != (size,) or not np.isfinite(vector).all():
            raise ValueError(f"{size} finite numbers wanted")
