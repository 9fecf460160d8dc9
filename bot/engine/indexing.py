"""The one background indexer: gives new memories their vectors and feelings, takes forgotten ones out."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from bot.core.emotion import FLAT
from bot.core.ports import EmotionScorer, Encoder, IndexKey, MemoryIndex
from bot.core.stores import MemoryStore
from bot.core.types import Memory, MemoryKind
from bot.core.vectors import Vector
from bot.engine.calm import Calm
from bot.engine.index_probe import IndexProbe
from bot.engine.recent_vectors import RecentVectors
from bot.errors import SearchIndexError, SettingsError, StorageError

log = logging.getLogger(__name__)

BATCH = 128
AT_ONCE = 3
"""Texts encoded between two looks whether a reply is being prepared."""
GATHER_SECONDS = 2.0
"""New memories wait this long for company: words find them meanwhile, and small writes cost many files."""
PATIENCE_SECONDS = 30.0
"""A failing index is tried again after so long."""
REWRITE_SECONDS = 600.0
ERASE_ATTEMPTS = 10
"""How often, a second apart, a database that others read is asked to write itself anew."""
ERASE_WITHIN = timedelta(hours=6)
"""Bytes of removed rows leave by a full rewrite of the table, gathered over this time."""


@dataclass(frozen=True, slots=True)
class Feeling:
    """What one turn of a scene was found to feel like."""

    scene_id: int
    turn_id: int
    emotion: Vector


EraseBytes = Callable[[], Awaitable[bool]]
"""Writes the database anew, so that no byte of a deleted text is left; False when it was too busy."""
Felt = Callable[[int, list[Feeling]], None]
"""Told after a batch, for each place: its id and the new feelings in order."""


def passage(memory: Memory) -> str:
    """The text of a memory's dense key: the speaker is part of what was said."""
    return f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text


class Indexer:
    """Work is what no mark in SQL covers, so a crash repeats a batch and loses none."""

    def __init__(
        self,
        *,
        memories: MemoryStore,
        index: MemoryIndex,
        encoder: Encoder,
        probe: IndexProbe,
        scorer: EmotionScorer | None,
        felt: Felt,
        erase_bytes: EraseBytes,
        now: Callable[[], datetime],
        recent: RecentVectors | None = None,
    ) -> None:
        self.calm = Calm()
        self._memories = memories
        self._recent = recent or RecentVectors()
        self._index = index
        self._encoder = encoder
        self._probe = probe
        self._scorer = scorer
        self._felt = felt
        self._erase_bytes = erase_bytes
        self._now = now
        self._wake = asyncio.Event()
        self._working = asyncio.Lock()  # what reads, encodes and writes keys: one at a time

    def wake(self) -> None:
        """There is something new."""
        self._wake.set()

    async def run(self) -> None:
        """Index for ever; the owner cancels it. While the index fails, words serve."""
        await self._check()
        told = ""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(GATHER_SECONDS)
            try:
                await self.catch_up()
                await self._index.drop_stale()
                told = ""
            except (SearchIndexError, SettingsError, StorageError) as problem:
                if told != str(problem):  # a full disk may stay so for hours
                    log.warning("Indexing waits, words serve: %s", problem)
                told = str(problem)
                await asyncio.sleep(PATIENCE_SECONDS)
                if not isinstance(problem, StorageError):
                    await self._check()
                self.wake()

    async def _check(self) -> None:
        """A damaged, deleted or foreign index is built again in the background."""
        async with self._working:
            if await self._index.is_damaged():
                log.warning("The search index is damaged and is built again from the database; words serve")
                await self._index.reset()
            elif not self._index.is_new:
                return
            if await self._begin_anew():
                words = "The search index is built for the embedding model %s; words serve"
                log.info(words, self._encoder.id)
        self.wake()

    async def _begin_anew(self) -> int:
        """Every memory waits to be indexed again; how many that are."""
        await self._probe.begin()
        return await self._memories.restart_index()

    async def catch_up(self, progress: Callable[[int], None] | None = None) -> int:
        """Do all that waits now; the number of memories indexed."""
        done = 0
        async with self._working:
            await self._probe.look()
            while await self._erase():
                pass
        while count := await self._locked_step():
            done += count
            if progress is not None:
                progress(done)
            await self.calm.wait()
            await self._index.maintain()
        return done

    async def is_by_another_model(self) -> bool:
        """Whether the encoder's name stands for another model than the one that made the index; False as long
        as the encoder is not ready. SearchIndexError or SettingsError when it gives no vector."""
        async with self._working:
            await self._probe.look()
        return bool(self._probe.problem)

    async def rebuild(self, progress: Callable[[int, int], None]) -> int:
        """Throw the index away and make it again from the database, while words serve; how many memories it
        then holds. Told as it goes on: how many of how many. Cut short, `run` goes on with it."""
        async with self._working:
            await self._index.reset()
            total = await self._begin_anew()
        await self.catch_up(lambda done: progress(done, total))
        return total

    async def _locked_step(self) -> int:
        async with self._working:
            return await self._step()

    async def _step(self) -> int:
        memories = await self._memories.to_index(self._encoder.id, BATCH)
        if not memories:
            return 0
        further = await self._memories.triggers([memory.id for memory in memories])
        texts = [(memory, 0, passage(memory)) for memory in memories]
        texts += [
            (memory, part, text)
            for memory in memories
            for part, text in enumerate(further.get(memory.id, ()), 1)
        ]
        vectors = await self._encoded([text for _, _, text in texts])
        scorer = self._scorer if self._scorer and self._scorer.ready else None
        scored = scorer.scores(vectors[: len(memories)]) if scorer else None
        emotions: dict[int, tuple[Vector, str]] = {}
        spaces: dict[int, list[IndexKey]] = defaultdict(list)
        for position, memory in enumerate(memories):
            if memory.emotion is None and scored is not None and scorer is not None:
                emotions[memory.id] = (scored[position], scorer.source)
        for memory, vector in zip(memories, vectors, strict=False):
            self._recent.keep(memory, vector)
        for (memory, part, _), vector in zip(texts, vectors, strict=True):
            spaces[memory.space_id].append(_key(memory, part, vector, emotions.get(memory.id)))
        for space_id, keys in spaces.items():
            await self.calm.wait()
            await self._index.upsert(space_id, keys)
        ids = [memory.id for memory in memories]
        await self._memories.indexed(self._encoder.id, emotions, ids, further)
        await self._erase()  # a memory forgotten between the read and the write has its key queued again
        self._tell(memories, emotions)
        return len(memories)

    async def _encoded(self, texts: Sequence[str]) -> Vector:
        """A few at a time, so that a reply need not share the processors with many."""
        rows = []
        for start in range(0, len(texts), AT_ONCE):
            await self.calm.wait()
            rows.append(await self._encoder.embed_passages(texts[start : start + AT_ONCE]))
        return np.concatenate(rows)

    def _tell(self, memories: Sequence[Memory], emotions: Mapping[int, tuple[Vector, str]]) -> None:
        felt: dict[int, list[Feeling]] = defaultdict(list)
        for memory in memories:
            if memory.kind is MemoryKind.TURN and memory.turn_id and memory.id in emotions:
                feeling = Feeling(memory.scene_id, memory.turn_id, emotions[memory.id][0])
                felt[memory.place_id].append(feeling)
        for place_id, feelings in felt.items():
            self._felt(place_id, feelings)

    async def _erase(self) -> int:
        pairs = await self._memories.to_erase(500)
        spaces: dict[int, list[int]] = defaultdict(list)
        for space_id, memory_id in pairs:
            spaces[space_id].append(memory_id)
        self._recent.drop([memory_id for _, memory_id in pairs])
        for space_id, memory_ids in spaces.items():
            await self._index.remove(space_id, memory_ids)
        if pairs:
            await self._memories.erased([memory_id for _, memory_id in pairs])
        return len(pairs)

    async def erase_now(self, space_ids: Collection[int], dropped: Collection[int] = ()) -> None:
        """On return no key that waits to leave, and no byte of one or of a deleted text, is left.

        `dropped` spaces lose their whole index. StorageError when the database stays busy.
        """
        async with self._working:
            self._recent.clear()
            self._encoder.forget()
            await self._rewrite_database()
            try:
                while await self._erase():
                    pass
                for space_id in dropped:
                    await self._index.drop_space(space_id)
                now = self._now()
                waiting = {space_id for space_id, _ in await self._memories.to_rewrite()}
                for space_id in sorted(waiting.union(space_ids)):
                    await self._index.rewrite(space_id)
                    await self._memories.rewritten(space_id, now)
            except SearchIndexError as problem:
                log.warning("The search index is thrown away and built again: %s", problem)
                await self._index.reset()
                await self._begin_anew()
        self.wake()

    async def _rewrite_database(self) -> None:
        for _ in range(ERASE_ATTEMPTS):
            if await self._erase_bytes():
                return
            await asyncio.sleep(1.0)
        raise StorageError("The database is too busy to be written anew; it is tried again later.")

    async def rewrite_due(self, *, at_once: bool = False) -> float:
        """Write anew what has held removed bytes for long enough; seconds until the next look."""
        self.wake()  # what was forgotten while nobody spoke is yet to leave the index
        now = self._now()
        waiting = await self._memories.to_rewrite()
        due = [space_id for space_id, since in waiting if at_once or now - since >= ERASE_WITHIN]
        if due and await self._erase_bytes():
            for space_id in due:
                await self._index.rewrite(space_id)
                await self._memories.rewritten(space_id, now)
        return REWRITE_SECONDS


def _key(memory: Memory, part: int, vector: Vector, scored: tuple[Vector, str] | None) -> IndexKey:
    emotion = memory.emotion if memory.emotion is not None else scored[0] if scored else None
    return IndexKey(
        memory_id=memory.id,
        part=part,
        kind=memory.kind.value,
        place_id=memory.place_id,
        story_id=memory.story_id,
        scene_id=memory.scene_id,
        audience_id=memory.audience_id,
        vector=vector,
        emotion=emotion if emotion is not None else FLAT,
        emotion_known=emotion is not None,
    )
