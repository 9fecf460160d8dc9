"""Memories that are gone or say something else leave all that was made from them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from bot.engine.places import Places
from bot.engine.story_words import StoryWords


class Unlearning:
    """For what changes a memory without changing a turn; a changed turn comes through the journal."""

    def __init__(self, *, words: StoryWords, places: Places, wake_indexer: Callable[[], None]) -> None:
        self._words = words
        self._places = places
        self._wake_indexer = wake_indexer

    def unlearn(self, space_id: int, memory_ids: Collection[int]) -> None:
        """Once the store knows of the change: no search finds the old words any more, a reply in the making
        that was told them is made anew, and the search index follows in the background."""
        self._words.forget(memory_ids)
        self._places.unlearn(space_id, memory_ids)
        self._wake_indexer()
