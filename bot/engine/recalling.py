"""Finds the memories for a reply: what words and meaning find in the persona's scope, ranked by the core."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce

from bot.core.candidates import Query, Recalled, RecallSettings
from bot.core.choosing import Choice, Wordings, choose
from bot.core.mood import Mood, current, query_emotion
from bot.core.ports import EmotionScorer, Encoder, MemoryIndex, Scope
from bot.core.query_context import blended, context_of
from bot.core.query_hints import is_question
from bot.core.recall import observe, rank
from bot.core.spontaneous import pick
from bot.core.stores import MemoryStore
from bot.core.strategies import SourceStats, Strategy
from bot.core.supersession import with_newer
from bot.core.types import Memory, MemoryKind, Scene, Turn
from bot.core.vectors import Vector
from bot.engine.jobs import beside
from bot.engine.outdated import newest_of, outdated
from bot.engine.pasts import Pasts
from bot.engine.recent_vectors import RecentVectors
from bot.engine.searching import Pool, Searcher, Worded, is_inside
from bot.engine.sharing import Sharing
from bot.engine.story_words import StoryWords
from bot.errors import SearchIndexError

log = logging.getLogger(__name__)

VECTOR_SECONDS = 8.0
"""An answer waits no longer for the meaning of what was asked."""

QUERY_CHARACTERS = 1000
_AT_ONCE = 8
"""Texts looked at between two looks at the encoder."""


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
class FoundByWords:
    """In a story, in the persona's past, and in stories that feed this one."""

    here: Worded
    past: Worded
    shared: tuple[Worded, ...] = ()

    @property
    def everywhere(self) -> tuple[Worded, ...]:
        """All of them, the story's own first."""
        return (self.here, self.past, *self.shared)

    @property
    def scopes(self) -> list[Scope]:
        """Where something newer than a memory may be."""
        return [worded.scope for worded in (self.here, *self.shared)]


@dataclass(frozen=True, slots=True)
class Asking:
    """A question under way."""

    text: str
    meant: asyncio.Task[Vector | None]
    """None when the encoder is not there yet, or fails."""
    worded: asyncio.Task[FoundByWords]


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
        self._searcher = Searcher(memories=memories, index=index, words=words)
        self._encoder = encoder
        self._scorer = scorer
        self._words = words
        self._recent = recent or RecentVectors()
        self._stats = SourceStats()

    @asynccontextmanager
    async def asking(self, scene: Scene, persona_id: int, answers: Sequence[Turn]) -> AsyncIterator[Asking]:
        """Begin to search for what turns to answer bring back. The encoder takes longer than all else before
        a prompt, so this is best begun first."""
        text = _asked_text(answers)
        async with (
            beside(self._vector(text), name="read what is asked") as meant,
            beside(self._worded(scene, persona_id, text), name="search by words") as worded,
        ):
            yield Asking(text, meant, worded)

    async def recall(self, wanted: Wanted, asking: Asking) -> Recollection:
        """The memories for a reply, in order of time, within the token budget."""
        async with beside(self._felt(wanted, asking), name="search by mood") as felt:
            wordings = await _wordings(wanted, asking)
            worded, meant = await asking.worded, await asking.meant
            heard = self._heard(meant)
            emotion = query_emotion(wanted.mood, heard)
            by_feeling = emotion if wanted.settings.strategy is Strategy.EMOTION_FIRST else None
            vector = None if meant is None else self._in_context(meant, asking.text, wanted)
            pool = await self._pool(worded.everywhere, vector, by_feeling)
            query = Query(
                asking.text, pool.ceiling, pool.ceiling_context, emotion=emotion, mood=current(wanted.mood)
            )
            newer, partly = await self._newer(pool.memories, worded.scopes)
            choice = self._choose(wanted, pool, query, newer, wordings)
            known = {**pool.memories, **{memory.id: memory for memory in newer.values()}}
            return Recollection(
                choice=choice,
                memories={item.memory_id: _as_known(known[item.memory_id], newer) for item in choice.items},
                until={past: holds.created_at for past, holds in newer.items()},
                partly=partly,
                heard=heard,
                query=query,
                strategy=wanted.settings.strategy,
                aside=_aside(wanted, {**pool.memories, **await felt}, choice),
                language=self._words.language_of(wanted.scene.story_id),
            )

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
        vector, worded = await asyncio.gather(
            self._vector(text), self._worded_in(_scope(scene, await audiences), text)
        )
        pool = await self._pool([worded], vector, None)
        ranked = rank(pool.candidates, Query(text, pool.ceiling, pool.ceiling_context))
        newer, _ = await self._newer(pool.memories, [worded.scope])
        known = {**pool.memories, **{memory.id: memory for memory in newer.values()}}
        until = {past: holds.created_at for past, holds in newer.items()}
        return [
            (known[item.memory_id], item.score, until.get(item.memory_id))
            for item in with_newer(ranked, newer)[:limit]
        ]

    # ------------------------------------------------------------ while the encoder works
    async def _vector(self, text: str) -> Vector | None:
        if not self._encoder.ready or not text.strip():
            return None
        try:
            async with asyncio.timeout(VECTOR_SECONDS):
                vector: Vector = (await self._encoder.embed_query([text]))[0]
        except TimeoutError:
            log.warning("The embedding model takes more than %g s for a query; words serve", VECTOR_SECONDS)
            return None
        except SearchIndexError as problem:
            log.warning("The embedding model failed; words serve: %s", problem)
            return None
        return vector

    async def _worded(self, scene: Scene, persona_id: int, text: str) -> FoundByWords:
        """What the words find in the story, in the persona's own past, which it brings into every story, and
        in stories of other channels that a moderator linked to this one."""
        audiences, _ = await asyncio.gather(
            self._memories.audiences_with(persona_id), self._searcher.read(scene.story_id)
        )
        own = _scope(scene, audiences)
        here, past, elsewhere = await asyncio.gather(
            self._worded_in(own, text, is_read=True),
            self._worded_before(persona_id, own, text),
            self._worded_elsewhere(own, text),
        )
        return FoundByWords(here, past, elsewhere)

    async def _worded_in(self, scope: Scope, text: str, *, is_read: bool = False) -> Worded:
        return await self._searcher.worded(scope, text, keys=self._encoder.ready, is_read=is_read)

    async def _worded_before(self, persona_id: int, own: Scope, text: str) -> Worded:
        scope = await self._pasts.scope(persona_id, own.audience_ids) if self._pasts else None
        return await self._worded_in(scope or replace(own, audience_ids=()), text)

    async def _worded_elsewhere(self, own: Scope, text: str) -> tuple[Worded, ...]:
        scopes = await self._sharing.scopes(own.place_id, own.audience_ids) if self._sharing else []
        return tuple(await asyncio.gather(*(self._worded_in(scope, text) for scope in scopes)))

    async def _felt(self, wanted: Wanted, asking: Asking) -> Mapping[int, Memory]:
        """What feels like the mood, where something may come to mind by itself."""
        if wanted.aside_resting is None:
            return {}
        worded = await asyncio.shield(asking.worded)
        return await self._searcher.felt(worded.here.scope, current(wanted.mood))

    # ------------------------------------------------------------ when it is done
    def _heard(self, meant: Vector | None) -> Vector | None:
        if meant is None or self._scorer is None or not self._scorer.ready:
            return None
        felt: Vector = self._scorer.scores(meant[None])[0]
        return felt

    def _in_context(self, meant: Vector, text: str, wanted: Wanted) -> Vector:
        context = context_of(text, wanted.shown, {turn.id for turn in wanted.answers})
        return blended(meant, [self._recent.get(turn.id) for turn in context])

    async def _pool(self, worded: Sequence[Worded], vector: Vector | None, emotion: Vector | None) -> Pool:
        pools = await asyncio.gather(*(self._searcher.pool(each, vector, emotion) for each in worded))
        return reduce(_joined, pools)

    async def _newer(
        self, memories: Mapping[int, Memory], scopes: Sequence[Scope]
    ) -> tuple[dict[int, Memory], Mapping[int, datetime]]:
        """What holds now instead of memories that were replaced, and since when turns hold only in part, as
        far as it may be seen: for somebody who never heard the newer, the older is still true."""

        def visible(memory: Memory) -> bool:
            return any(is_inside(memory, scope) for scope in scopes)

        old, newer = await asyncio.gather(
            outdated(self._memories, memories, visible), newest_of(self._memories, memories, visible)
        )
        return newer | old.replaced, old.partly

    def _choose(
        self, wanted: Wanted, pool: Pool, query: Query, newer: Mapping[int, Memory], wordings: Wordings
    ) -> Choice:
        ranked = rank(pool.candidates, query, wanted.settings, self._stats)
        self._stats = observe(pool.candidates, query, self._stats)
        shown = {turn.id for turn in wanted.shown}
        return choose(
            with_newer(ranked, newer),
            budget=wanted.settings.tokens,
            cost=wanted.cost,
            shown=[memory.id for memory in pool.memories.values() if _visible(memory, shown)],
            shown_texts=_shown_texts(wanted),
            cooling=() if is_question(query.text) else wanted.cooling,
            most=wanted.settings.most,
            wordings=wordings,
        )


def _shown_texts(wanted: Wanted) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in wanted.shown[-60:]]


async def _wordings(wanted: Wanted, asking: Asking) -> Wordings:
    """Of the texts that the window shows and those that words find: made while the encoder works."""
    made = Wordings()
    for speaker, text in _shown_texts(wanted):
        made.of(speaker, text)
    worded = await asking.worded
    for number, memory in enumerate(worded.here.memories.values()):
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
        if asking.meant.done():
            break
        made.of(memory.speaker, memory.text)
    return made


def _aside(wanted: Wanted, found: Mapping[int, Memory], choice: Choice) -> Memory | None:
    """Something strong or of the same mood that nobody asked for, beside what was recalled."""
    if wanted.aside_resting is None:
        return None
    shown = {turn.id for turn in wanted.shown}
    free = [memory for memory in found.values() if not _visible(memory, shown)]
    resting = wanted.aside_resting | wanted.cooling | {item.memory_id for item in choice.items}
    return pick(free, current(wanted.mood), resting=resting)


def _scope(scene: Scene, audiences: Sequence[int]) -> Scope:
    return Scope(scene.space_id, scene.place_id, scene.story_id, tuple(audiences))


def _visible(memory: Memory, shown: Collection[int]) -> bool:
    """Whether the prompt shows it anyway: in the window, or as a pin."""
    return memory.turn_id in shown or memory.kind is MemoryKind.PINNED


def _as_known(memory: Memory, newer: Mapping[int, Memory]) -> Memory:
    holds = newer.get(memory.id)
    return replace(memory, superseded_by=holds.id if holds else None)


def _joined(pool: Pool, other: Pool) -> Pool:
    """Both pools as one; scores of words count as shares of the ceilings of the first."""
    if not other.candidates:
        return pool
    if not pool.candidates:
        return other
    own = pool.ceiling / (other.ceiling or 1.0)
    around = pool.ceiling_context / (other.ceiling_context or 1.0)
    moved = [
        replace(one, bm25=one.bm25 * own, bm25_context=one.bm25_context * around) for one in other.candidates
    ]
    memories = {**pool.memories, **other.memories}
    return Pool([*pool.candidates, *moved], memories, pool.ceiling, pool.ceiling_context)


def _asked_text(answers: Sequence[Turn]) -> str:
    return " ".join(turn.text for turn in answers)[-QUERY_CHARACTERS:]
