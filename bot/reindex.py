"""`python -m bot reindex`: the search index is thrown away and built again from the database."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack

from bot.adapters.lance_index import LanceIndex
from bot.adapters.seed_head import SeededScorer
from bot.adapters.sql_store import open_store
from bot.app import DATABASE, INDEX, now
from bot.data_lock import owned
from bot.encoders import encoder_of
from bot.engine.indexing import Feeling, Indexer
from bot.settings import Settings
from bot.terminal import Screen


async def reindex(settings: Settings) -> int:
    """Do it, with progress. Cut short, it goes on at the next start. AlreadyOwned while a bot is running."""
    screen = Screen(out=sys.stdout, interactive=sys.stdout.isatty())
    async with AsyncExitStack() as stack:
        stack.enter_context(owned(settings.data_dir))
        store = await stack.enter_async_context(open_store(settings.data_dir / DATABASE))
        encoder = await stack.enter_async_context(encoder_of(settings))
        async with screen.waiting("Loading the embedding model"):
            index = await stack.enter_async_context(
                LanceIndex.open(
                    settings.data_dir / INDEX, encoder_id=encoder.id, dimensions=encoder.dimensions
                )
            )
            await encoder.load()
            scorer = SeededScorer(encoder=encoder, folder=settings.data_dir)
            await scorer.fit()
        await index.reset()
        total = await store.memories.restart_index(encoder.id)
        indexer = Indexer(
            memories=store.memories,
            index=index,
            encoder=encoder,
            scorer=scorer,
            felt=_not_told,
            erase_bytes=store.erase_bytes,
            now=now,
        )
        done = await indexer.catch_up(Percents(total=total, screen=screen))
    screen.line(f"{done} memories are indexed with {encoder.id}.")
    return 0


def _not_told(place_id: int, feelings: Sequence[Feeling]) -> None:
    """No mood is awake here that old feelings could move."""


class Percents:
    """Tells a screen how far something is, at most once for each hundredth."""

    def __init__(self, *, total: int, screen: Screen) -> None:
        self._total = total
        self._screen = screen
        self._last = -1

    def __call__(self, done: int) -> None:
        """So many are done now."""
        percent = 100 * done // self._total if self._total else 100
        if percent > self._last:
            self._last = percent
            self._screen.passing(f"{done} of {self._total} memories ({min(percent, 100)}%)")
