"""Finds the memories for a reply: words and vectors inside the persona's scope, then the core ranks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.core.candidates import Candidate, Query, Recalled, RecallSettings
from bot.core.choosing import Choice, choose
from bot.core.lexical import LexicalHits, no_hits
from bot.core.mood import Mood, current, query_emotion
from bot.core.ports import EmotionScorer, Encoder, IndexHit, MemoryIndex, Scope
from bot.core.query_context import blended, context_of
from bot.core.query_hints import is_question
from bot.core.recall import observe, rank
from bot.core.spontaneous import pick
from bot.core.stores import MemoryStore
from bot.core.strategies import SourceStats, Strategy
from bot.core.supersession import newest_in_line, with_newer
from bot.core.types import Memory, MemoryKind, Scene, Turn
from bot.core.vectors import Vector
from bot.engine.outdated import outdated
from bot.engine.pasts import Pasts
from bot.engine.recent_vectors import RecentVectors
from bot.engine.sharing import Sharing
from bot.engine.story_words import StoryWords
from bot.errors import SearchIndexError

log = logging.getLogger(__name__)

BY_WORDS = 60
BY_MEANING = 100
BY_MOOD = 40
QUERY_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one reply wants recalled."""

    scene: Scene
    persona_id: int
    answers: tuple[Turn, ...]
    shown: tuple[Turn, ...]
    """Turns that the window shows."""
    mood: Mood
    settings: RecallSettings
    cooling: frozenset[int]
    cost: Callable[[Recalled], int]
    """Tokens of a memory as the prompt writes it."""
    aside_resting: frozenset[int] | None = None
    """What may not come to mind by itself; None when nothing may."""


@dataclass(frozen=True, slots=True)
class Recollection:
    """What was recalled, with the numbers behind it."""

    choice: Choice = field(default_factory=Choice)
    memories: Mapping[int, Memory] = field(default_factory=dict)
    """The chosen memories, as far as the persona knows: replaced only by what it witnessed."""
    until: Mapping[int, datetime] = field(default_factory=dict)
    """When those of them that a newer one replaced ceased to hold."""
    partly: Mapping[int, datetime] = field(default_factory=dict)
    """The same of turns only some of which was replaced."""
    heard: Vector | None = None
    """The emotion of the members' last words; None when the encoder is not there yet."""
    query: Query | None = None
    strategy: Strategy = Strategy.BALANCED
    aside: Memory | None = None
    """What came to mind by itself."""
    language: str = ""
    """The story's, as `bot.core.languages` names it."""

    @property
    def told(self) -> frozenset[int]:
        """The ids of all memories that a prompt tells."""
        return frozenset([*self.memories, self.aside.id] if self.aside else self.memories)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A search under way: where, for what, and what its words found."""

    scope: Scope
    text: str
    found: LexicalHits


@dataclass(frozen=True, slots=True)
class _Pool:
    candidates: list[Candidate]
    memories: dict[int, Memory]
    ceiling: float
    ceiling_context: float


class Recaller:
    """Searches one scope at a time. Without the encoder or the index, words alone serve."""

    def __init__(
        self,
        *,
        memories: MemoryStore,
        index: MemoryIndex,
        encoder: Encoder,
        scorer: EmotionScorer | None,
        words: StoryWords,
        recent: RecentVectors | None = None,
        pasts: Pasts | None = None,
        sharing: Sharing | None = None,
    ) -> None:
        self._pasts = pasts
        self._sharing = sharing
        self._memories = memories
        self._index = index
        self._encoder = encoder
        self._scorer = scorer
        self._words = words
        self._recent = recent or RecentVectors()
        self._stats = SourceStats()

    async def vector_of(self, answers: Sequence[Turn]) -> Vector | None:
        """What the turns to answer mean; None when the encoder is not there yet, or fails. It takes longer
        than all else before a prompt, so it is best begun first and given to `recall`."""
        return await self._vector(_asked_text(answers))

    async def recall(self, wanted: Wanted, own: Awaitable[Vector | None]) -> Recollection:
        """The memories for a reply, in order of time, within the token budget; `own` is its `vector_of`."""
        text = _asked_text(wanted.answers)
        audiences = self._memories.audiences_with(wanted.persona_id)
        context = context_of(text, wanted.shown, {turn.id for turn in wanted.answers})
        meant, asked = await asyncio.gather(own, self._ask(wanted.scene, text, audiences))
        heard = self._felt(meant)
        vector = None if meant is None else blended(meant, [self._recent.get(turn.id) for turn in context])
        emotion = query_emotion(wanted.mood, heard)
        by_feeling = emotion if wanted.settings.strategy is Strategy.EMOTION_FIRST else None
        pool = await self._pool(asked, vector, by_feeling)
        pool = _joined(pool, await self._past(wanted.persona_id, asked, vector, by_feeling))
        scopes = [asked.scope, *await self._shared(asked.scope)]
        for scope in scopes[1:]:
            pool = _joined(pool, await self._elsewhere(scope, asked.text, vector, by_feeling))
        query = Query(text, pool.ceiling, pool.ceiling_context, emotion=emotion, mood=current(wanted.mood))
        ranked = rank(pool.candidates, query, wanted.settings, self._stats)
        self._stats = observe(pool.candidates, query, self._stats)
        old = await outdated(
            self._memories, pool.memories, lambda one: any(_inside(one, at) for at in scopes)
        )
        newer = await self._newer(pool.memories, scopes) | old.replaced
        ranked = with_newer(ranked, newer)
        shown = {turn.id for turn in wanted.shown}
        choice = choose(
            ranked,
            budget=wanted.settings.tokens,
            cost=wanted.cost,
            shown=[memory.id for memory in pool.memories.values() if _visible(memory, shown)],
            shown_texts=[(turn.speaker, turn.text) for turn in wanted.shown[-60:]],
            cooling=() if is_question(text) else wanted.cooling,
            most=wanted.settings.most,
        )
        known = pool.memories | {memory.id: memory for memory in newer.values()}
        return Recollection(
            choice=choice,
            memories={item.memory_id: _as_known(known[item.memory_id], newer) for item in choice.items},
            until={past: holds.created_at for past, holds in newer.items()},
            partly=old.partly,
            heard=heard,
            query=query,
            strategy=wanted.settings.strategy,
            aside=await self._aside(wanted, asked.scope, pool, choice),
            language=self._words.language_of(wanted.scene.story_id),
        )

    def _felt(self, meant: Vector | None) -> Vector | None:
        if meant is None or self._scorer is None or not self._scorer.ready:
            return None
        felt: Vector = self._scorer.scores(meant[None])[0]
        return felt

    async def _aside(self, wanted: Wanted, scope: Scope, pool: _Pool, choice: Choice) -> Memory | None:
        """Something strong or of the same mood that nobody asked for, beside what was recalled."""
        if wanted.aside_resting is None or not scope.audience_ids:
            return None
        mood = current(wanted.mood)
        near: list[Memory] = []
        try:
            hits = await self._index.nearest_by_emotion(scope, mood, BY_MOOD)
            near = await self._memories.by_ids([hit.memory_id for hit in hits])
        except SearchIndexError as problem:
            log.warning("The search index failed; nothing comes to mind by itself: %s", problem)
        shown = {turn.id for turn in wanted.shown}
        found = pool.memories | {memory.id: memory for memory in near if _inside(memory, scope)}
        free = [memory for memory in found.values() if not _visible(memory, shown)]
        resting = wanted.aside_resting | wanted.cooling | {item.memory_id for item in choice.items}
        return pick(free, mood, resting=resting)

    async def find(
        self, scene: Scene, query: str, *, persona_id: int | None, limit: int
    ) -> list[tuple[Memory, float, datetime | None]]:
        """The story's memories for a member's search, best first, feeling left aside; with each until when it
        held, if another replaced it."""
        if persona_id is None:
            audiences = self._memories.audiences_of(scene.story_id)
        else:
            audiences = self._memories.audiences_with(persona_id)
        text = query[:QUERY_CHARACTERS]
        vector, asked = await asyncio.gather(self._vector(text), self._ask(scene, text, audiences))
        pool = await self._pool(asked, vector, None)
        ranked = rank(pool.candidates, Query(text, pool.ceiling, pool.ceiling_context))
        old = await outdated(self._memories, pool.memories, lambda one: _inside(one, asked.scope))
        newer = await self._newer(pool.memories, [asked.scope]) | old.replaced
        known = pool.memories | {memory.id: memory for memory in newer.values()}
        until = {past: holds.created_at for past, holds in newer.items()}
        return [
            (known[item.memory_id], item.score, until.get(item.memory_id))
            for item in with_newer(ranked, newer)[:limit]
        ]

    def forget(self, memory_ids: Collection[int]) -> None:
        """These changed or are gone."""
        self._words.forget(memory_ids)

    async def _vector(self, text: str) -> Vector | None:
        if not self._encoder.ready or not text.strip():
            return None
        try:
            vector: Vector = (await self._encoder.embed_query([text]))[0]
        except SearchIndexError as problem:
            log.warning("The embedding model failed; words serve: %s", problem)
            return None
        return vector

    async def _ask(self, scene: Scene, text: str, audiences: Awaitable[Sequence[int]]) -> _Asked:
        """What the words find; runs beside the encoder, which takes longer."""
        scope = Scope(scene.space_id, scene.place_id, scene.story_id, tuple(await audiences))
        found = await self._by_words(scope, text) if scope.audience_ids else no_hits()
        return _Asked(scope, text, found)

    async def _by_words(self, scope: Scope, text: str, also: Collection[int] = ()) -> LexicalHits:
        found, _ = await self._words.search(
            scope.story_id,
            text,
            place_id=scope.place_id,
            audiences=scope.audience_ids,
            limit=BY_WORDS,
            also=tuple(also),
        )
        return found

    async def _pool(self, asked: _Asked, vector: Vector | None, emotion: Vector | None) -> _Pool:
        """Candidates by meaning and by words, each with the numbers of both."""
        scope, found = asked.scope, asked.found
        hits: dict[int, IndexHit] = {}
        if vector is not None and scope.audience_ids:
            near, worded = await asyncio.gather(
                self._near(scope, vector, emotion), self._distances(scope, vector, found.ids.tolist())
            )
            hits = worded | near
        ids = {*found.ids.tolist(), *hits}
        if hits:
            reading = self._memories.by_ids(ids)
            found, known = await asyncio.gather(self._by_words(scope, asked.text, hits), reading)
        else:
            known = await self._memories.by_ids(ids)
        numbers = {
            int(memory_id): (float(own), float(around))
            for memory_id, own, around in zip(found.ids, found.bm25, found.bm25_context, strict=True)
        }
        memories = {memory.id: memory for memory in known if _inside(memory, scope)}
        candidates = [_candidate(memory, numbers, hits) for memory in memories.values()]
        return _Pool(candidates, memories, found.ceiling, found.ceiling_context)

    async def _past(
        self, persona_id: int, asked: _Asked, vector: Vector | None, emotion: Vector | None
    ) -> _Pool | None:
        """Candidates from the persona's own past, which it brings into every story."""
        scope = await self._pasts.scope(persona_id, asked.scope.audience_ids) if self._pasts else None
        if scope is None or not scope.audience_ids:
            return None
        return await self._elsewhere(scope, asked.text, vector, emotion)

    async def _shared(self, scope: Scope) -> list[Scope]:
        """Stories of other channels that a moderator linked to this one."""
        return await self._sharing.scopes(scope.place_id, scope.audience_ids) if self._sharing else []

    async def _elsewhere(
        self, scope: Scope, text: str, vector: Vector | None, emotion: Vector | None
    ) -> _Pool:
        found = await self._by_words(scope, text)
        return await self._pool(_Asked(scope, text, found), vector, emotion)

    async def _newer(self, memories: Mapping[int, Memory], scopes: Sequence[Scope]) -> dict[int, Memory]:
        """What holds now instead of memories that were replaced, as far as it may be seen: for somebody who
        never heard the newer, the older is still true."""
        known, asked = dict(memories), set[int]()
        while True:
            after = {memory.superseded_by for memory in known.values() if memory.superseded_by is not None}
            missing = after - known.keys() - asked
            if not missing:
                return newest_in_line(known)
            asked |= missing
            found = await self._memories.by_ids(missing)
            known |= {one.id: one for one in found if any(_inside(one, scope) for scope in scopes)}

    async def _near(self, scope: Scope, vector: Vector | None, emotion: Vector | None) -> dict[int, IndexHit]:
        if vector is None:
            return {}
        try:
            hits = await self._index.nearest(scope, vector, BY_MEANING)
            found = {hit.memory_id: hit for hit in hits}
            if emotion is not None:
                felt = await self._index.nearest_by_emotion(scope, emotion, BY_MEANING)
                new = [hit.memory_id for hit in felt if hit.memory_id not in found]
                found |= await self._distances(scope, vector, new)
        except SearchIndexError as problem:
            log.warning("The search index failed; words serve: %s", problem)
            return {}
        return found

    async def _distances(self, scope: Scope, vector: Vector, ids: Sequence[int]) -> dict[int, IndexHit]:
        if not ids:
            return {}
        try:
            return {hit.memory_id: hit for hit in await self._index.distances(scope, vector, ids)}
        except SearchIndexError as problem:
            log.warning("The search index failed; words serve: %s", problem)
            return {}


def _visible(memory: Memory, shown: Collection[int]) -> bool:
    """Whether the prompt shows it anyway: in the window, or as a pin."""
    return memory.turn_id in shown or memory.kind is MemoryKind.PINNED


def _as_known(memory: Memory, newer: Mapping[int, Memory]) -> Memory:
    holds = newer.get(memory.id)
    return replace(memory, superseded_by=holds.id if holds else None)


def _joined(pool: _Pool, past: _Pool | None) -> _Pool:
    """Both pools as one; scores of words count as shares of the ceilings of the first."""
    if past is None or not past.candidates:
        return pool
    if not pool.candidates:
        return past
    own = pool.ceiling / (past.ceiling or 1.0)
    around = pool.ceiling_context / (past.ceiling_context or 1.0)
    moved = [
        replace(one, bm25=one.bm25 * own, bm25_context=one.bm25_context * around) for one in past.candidates
    ]
    return _Pool(
        [*pool.candidates, *moved], pool.memories | past.memories, pool.ceiling, pool.ceiling_context
    )


def _asked_text(answers: Sequence[Turn]) -> str:
    return " ".join(turn.text for turn in answers)[-QUERY_CHARACTERS:]


def _inside(memory: Memory, scope: Scope) -> bool:
    """The store has the last word on what may be seen."""
    return (
        memory.story_id == scope.story_id
        and memory.place_id == scope.place_id
        and memory.audience_id in scope.audience_ids
    )


def _candidate(
    memory: Memory, numbers: dict[int, tuple[float, float]], hits: dict[int, IndexHit]
) -> Candidate:
    own, around = numbers.get(memory.id, (0.0, 0.0))
    hit = hits.get(memory.id)
    return Candidate(
        memory_id=memory.id,
        text=memory.text,
        speaker=memory.speaker,
        created_at=memory.created_at,
        kind=memory.kind.value,
        bm25=own,
        bm25_context=around,
        cosine=None if hit is None else 1.0 - hit.d_sem**2 / 2.0,
        d_sem=None if hit is None else hit.d_sem,
        emotion=memory.emotion,
        emotion_source=memory.emotion_source,
    )
