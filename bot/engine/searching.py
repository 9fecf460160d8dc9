"""Searches one scope: its words while the query is still being encoded, its meanings when that is done."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from bot.core.candidates import Candidate
from bot.core.lexical import LexicalHits, WordScores, no_hits
from bot.core.ports import MemoryIndex, Scope
from bot.core.stores import MemoryStore
from bot.core.types import Memory
from bot.core.vectors import Vector, nearest_distance
from bot.engine.story_words import StoryWords
from bot.errors import SearchIndexError

log = logging.getLogger(__name__)

BY_WORDS = 60
BY_MEANING = 100
BY_MOOD = 40


@dataclass(frozen=True, slots=True)
class Worded:
    """What words found in a scope, and all of it that does not wait for the query's vector."""

    scope: Scope
    hits: LexicalHits = field(default_factory=no_hits)
    scores: WordScores | None = None
    """Of every memory of the scope; None when nothing may be recalled."""
    memories: Mapping[int, Memory] = field(default_factory=dict)
    keys: Mapping[int, Vector] = field(default_factory=dict)
    """Their vectors, where the index knows them."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of a recall, each with the numbers of words and meaning."""

    candidates: list[Candidate]
    memories: Mapping[int, Memory]
    ceiling: float
    ceiling_context: float


class Searcher:
    """Without the index, words alone serve."""

    def __init__(self, *, memories: MemoryStore, index: MemoryIndex, words: StoryWords) -> None:
        self._memories = memories
        self._index = index
        self._words = words

    async def read(self, story_id: int) -> None:
        """Take in what is new in a story; `worded` can then be told so."""
        await self._words.read(story_id)

    async def worded(self, scope: Scope, text: str, *, keys: bool, is_read: bool = False) -> Worded:
        """What the words find, with their `keys` when there will be a vector to compare them with."""
        if not scope.audience_ids:
            return Worded(scope)
        hits, scores = await self._words.search(
            scope.story_id,
            text,
            place_id=scope.place_id,
            audiences=scope.audience_ids,
            limit=BY_WORDS,
            is_read=is_read,
        )
        ids = hits.ids.tolist()
        memories, vectors = await asyncio.gather(
            self.inside(scope, ids), self._vectors(scope, ids if keys else ())
        )
        return Worded(scope, hits, scores, memories, vectors)

    async def pool(self, worded: Worded, vector: Vector | None, emotion: Vector | None) -> Pool:
        """Candidates by words and by meaning; with `emotion` those that feel nearest as well."""
        scope, scores, found = worded.scope, worded.scores, [worded.hits]
        memories = dict(worded.memories)
        far: dict[int, float] = {}
        if vector is not None and scores is not None:
            far = {
                memory_id: nearest_distance(vector, keys)
                for memory_id, keys in worded.keys.items()
                if keys.shape[1] == vector.size  # else another model made them: the index is built again
            }
            far |= await self._near(scope, vector, emotion)
            new = far.keys() - set(worded.hits.ids.tolist())
            found.append(scores.of(new))
            memories |= await self.inside(scope, new)
        numbers = {
            int(memory_id): (float(own), float(around))
            for hits in found
            for memory_id, own, around in zip(hits.ids, hits.bm25, hits.bm25_context, strict=True)
        }
        candidates = [_candidate(memories[each], numbers, far) for each in sorted(memories)]
        return Pool(candidates, memories, worded.hits.ceiling, worded.hits.ceiling_context)

    async def felt(self, scope: Scope, mood: Vector) -> dict[int, Memory]:
        """The memories of the scope that feel most like a mood."""
        if not scope.audience_ids:
            return {}
        try:
            hits = await self._index.nearest_by_emotion(scope, mood, BY_MOOD)
        except SearchIndexError as problem:
            log.warning("The search index failed; no mood brings a memory back: %s", problem)
            return {}
        return await self.inside(scope, [hit.memory_id for hit in hits])

    async def inside(self, scope: Scope, memory_ids: Collection[int]) -> dict[int, Memory]:
        """Those of these memories that are there and in the scope: the store has the last word on that."""
        known = await self._memories.by_ids(memory_ids) if memory_ids else []
        return {memory.id: memory for memory in known if is_inside(memory, scope)}

    async def _near(self, scope: Scope, vector: Vector, emotion: Vector | None) -> dict[int, float]:
        """How far the nearest by meaning are, and with `emotion` the nearest by feeling too."""
        try:
            hits = await self._index.nearest(scope, vector, BY_MEANING)
            far = {hit.memory_id: hit.d_sem for hit in hits}
            if emotion is not None:
                felt = await self._index.nearest_by_emotion(scope, emotion, BY_MEANING)
                keys = await self._index.vectors(scope, {hit.memory_id for hit in felt} - far.keys())
                far |= {memory_id: nearest_distance(vector, own) for memory_id, own in keys.items()}
        except SearchIndexError as problem:
            log.warning("The search index failed; words serve: %s", problem)
            return {}
        return far

    async def _vectors(self, scope: Scope, memory_ids: Collection[int]) -> dict[int, Vector]:
        if not memory_ids:
            return {}
        try:
            return await self._index.vectors(scope, memory_ids)
        except SearchIndexError as problem:
            log.warning("The search index failed; words serve: %s", problem)
            return {}


def is_inside(memory: Memory, scope: Scope) -> bool:
    """Whether the scope allows a memory."""
    return (
        memory.story_id == scope.story_id
        and memory.place_id == scope.place_id
        and memory.audience_id in scope.audience_ids
    )


def _candidate(
    memory: Memory, numbers: Mapping[int, tuple[float, float]], far: Mapping[int, float]
) -> Candidate:
    own, around = numbers.get(memory.id, (0.0, 0.0))
    d_sem = far.get(memory.id)
    return Candidate(
        memory_id=memory.id,
        text=memory.text,
        speaker=memory.speaker,
        created_at=memory.created_at,
        kind=memory.kind.value,
        bm25=own,
        bm25_context=around,
        cosine=None if d_sem is None else 1.0 - d_sem**2 / 2.0,
        d_sem=d_sem,
        emotion=memory.emotion,
        emotion_source=memory.emotion_source,
    )
