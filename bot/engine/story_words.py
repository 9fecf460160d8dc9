"""The lexical indexes of the stories in use, built from the store and kept up to date with it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar, TypeVarTuple, Unpack

from bot.core.languages import UNKNOWN, Votes
from bot.core.lexical import LexicalHits, LexicalIndex, WordScores, same_sitting, text_key
from bot.core.stores import MemoryStore
from bot.core.types import Memory, MemoryKind
from bot.core.word_forms import StemmerOf, no_stemmers, word_forms
from bot.engine.jobs import Jobs
from bot.errors import StorageError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
PAGE = 2000
KEEP_ROWS = 300_000
"""Stories are dropped from memory, the longest unused first, when all together hold more memories."""
LOOK_AFTER = 1000
"""After so many new ones they are counted."""


@dataclass(slots=True)
class _Story:
    index: LexicalIndex = field(default_factory=LexicalIndex)
    votes: Votes = field(default_factory=Votes)
    language: str = UNKNOWN
    """The one whose forms the index was made with."""
    heard_id: int = 0
    """The newest memory whose language was counted."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last_id: int = 0
    stale: set[int] = field(default_factory=set)
    before: dict[int, tuple[int, datetime]] = field(default_factory=dict)
    """Scene id to its newest turn's memory id and time."""


class StoryWords:
    """Searches the words of a story. Counting runs in a thread of its own, never on the event loop."""

    def __init__(self, *, memories: MemoryStore, stemmer_of: StemmerOf = no_stemmers) -> None:
        """`stemmer_of` is only used in the words' own thread."""
        self._memories = memories
        self._stemmer_of = stemmer_of
        self._stories: OrderedDict[int, _Story] = OrderedDict()
        self._taken_in = 0
        """Memories read since the stories were last counted."""
        self._jobs = Jobs()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="words")

    async def search(
        self,
        story_id: int,
        query: str,
        *,
        place_id: int,
        audiences: Collection[int],
        limit: int,
        is_read: bool = False,
    ) -> tuple[LexicalHits, WordScores]:
        """The best memories by words, and the scores of all. What is new in the story is read first, unless
        the caller has just had it read."""
        story = self._story(story_id)
        if not is_read or not len(story.index):
            await self._read(story_id, story)
        async with story.lock:
            return await self._in_thread(
                _search, story.index, query, frozenset(audiences), frozenset((place_id,)), limit
            )

    def language_of(self, story_id: int) -> str:
        """The language that the story was last found to be in; unknown before it is first searched."""
        story = self._stories.get(story_id)
        return story.language if story else UNKNOWN

    async def read(self, story_id: int) -> None:
        """Take in what is new in the story."""
        await self._read(story_id, self._story(story_id))

    def read_soon(self, story_id: int) -> None:
        """Begin to read the story, unless it is known: the first search then need not wait for all of it."""
        if story_id not in self._stories:
            self._jobs.start(self.read(story_id), name=f"read the words of story {story_id}")

    async def _read(self, story_id: int, story: _Story) -> None:
        """To its end, also when the one who asked is gone: the thread cannot be stopped in the middle, and
        whoever came next would miss what it has still to do."""
        await self._jobs.run(self._catch_up(story_id, story), name=f"take in story {story_id}")

    def forget(self, memory_ids: Collection[int]) -> None:
        """These changed or are gone: they are read again, or taken out, before the next search."""
        for story in self._stories.values():
            story.stale.update(memory_ids)

    def drop(self) -> None:
        """Let go of every story; each is read again when it is next searched."""
        self._stories.clear()

    async def close(self) -> None:
        """End the thread, and what is being read."""
        await self._jobs.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _story(self, story_id: int) -> _Story:
        story = self._stories.setdefault(story_id, _Story())
        self._stories.move_to_end(story_id)
        return story

    def _make_room(self, new: int) -> None:
        self._taken_in += new
        if self._taken_in < LOOK_AFTER:
            return
        self._taken_in = 0
        rows = sum(len(kept.index) for kept in self._stories.values())
        while len(self._stories) > 1 and rows > KEEP_ROWS:
            _, dropped = self._stories.popitem(last=False)
            rows -= len(dropped.index)

    async def _catch_up(self, story_id: int, story: _Story) -> None:
        async with story.lock:
            await self._follow(story_id, story)
            while True:
                page = await self._memories.of_story(story_id, after_id=story.last_id, limit=PAGE)
                if page and not await self._in_thread(_take_in, story, page, self._stemmer_of):
                    continue
                self._make_room(len(page))
                if len(page) < PAGE:
                    return

    async def _follow(self, story_id: int, story: _Story) -> None:
        """Give what changed its new words, and take out what is gone."""
        stale, story.stale = story.stale, set()
        mine = [memory_id for memory_id in stale if memory_id in story.index]
        if not mine:
            return
        try:
            living = [memory for memory in await self._memories.by_ids(mine) if memory.story_id == story_id]
        except StorageError:
            story.stale |= stale
            raise
        await self._in_thread(_refresh, story, mine, living)

    async def _in_thread(self, work: Callable[[Unpack[Ts]], T], *arguments: *Ts) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)


def _search(
    index: LexicalIndex, query: str, audiences: frozenset[int], places: frozenset[int], limit: int
) -> tuple[LexicalHits, WordScores]:
    scores = index.score(index.query_tokens(query), audiences=audiences, places=places)
    return scores.best(limit), scores


def _key(memory: Memory) -> str:
    return text_key(memory.speaker, memory.created_at, memory.text)


def _refresh(story: _Story, changed: list[int], living: list[Memory]) -> None:
    texts = {memory.id: _key(memory) for memory in living}
    for memory_id in changed:
        if memory_id in texts:
            story.index.replace(memory_id, texts[memory_id])
        else:
            story.index.remove(memory_id)


def _take_in(story: _Story, page: list[Memory], stemmer_of: StemmerOf) -> bool:
    """Add memories to the index; False when the story turns out to be in another language than it was
    indexed for, and is to be read again from its beginning."""
    fresh = [memory for memory in page if memory.id > story.heard_id]
    if fresh and not story.votes.settled:
        language = story.votes.hear(memory.text for memory in fresh)
        story.heard_id = fresh[-1].id
        if language != story.language:
            again = len(story.index) > 0
            story.language, story.index = language, LexicalIndex(word_forms(language, stemmer_of))
            if again:
                story.before, story.last_id = {}, 0
                return False
    _add(story, page)
    return True


def _add(story: _Story, page: list[Memory]) -> None:
    for memory in page:
        previous = None
        if memory.kind is MemoryKind.TURN:
            before = story.before.get(memory.scene_id)
            if before is not None and same_sitting(before[1], memory.created_at):
                previous = before[0]
            story.before[memory.scene_id] = (memory.id, memory.created_at)
        story.index.add(
            memory.id,
            _key(memory),
            previous_id=previous,
            place_id=memory.place_id,
            audience_id=memory.audience_id,
        )
        story.last_id = memory.id
