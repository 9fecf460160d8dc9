"""`python -m bot reindex`: the search index is thrown away and built again from the database, by the running
bot where there is one."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Final

from bot.adapters.lance_index import LanceIndex
from bot.adapters.seed_head import SeededScorer
from bot.adapters.sql_store import open_store
from bot.app import DATABASE, INDEX, now
from bot.encoders import encoder_of
from bot.engine.index_probe import IndexProbe
from bot.engine.indexing import Feeling, Indexer
from bot.engine.troupe import Troupe
from bot.job_asking import by_the_bot_or_alone
from bot.job_files import Handler
from bot.settings import Settings
from bot.terminal import Screen

REINDEX: Final = "reindex"
Refit = Callable[[], Awaitable[None]]
"""Fits the head that reads feelings to another model's vectors."""
_ALL: Final = 0
"""The job is about no id."""


async def reindex(settings: Settings) -> int:
    """Have it done by the bot that is running, or do it here, with progress; 0 when the index is whole."""
    screen = Screen(out=sys.stdout, interactive=sys.stdout.isatty())
    result = await by_the_bot_or_alone(
        settings.data_dir, REINDEX, _ALL, lambda: _alone(settings, screen), screen
    )
    screen.line(result.text)
    return 0 if result.ok else 1


def rebuilder(troupe: Troupe, refit: Refit) -> Handler:
    """What a running bot does with the job that this command leaves. Words serve meanwhile."""

    async def rebuild(_: int, progress: Callable[[str], None]) -> str:
        return await _rebuilt(troupe.indexer, refit, progress)

    return rebuild


async def _rebuilt(indexer: Indexer, refit: Refit, tell: Callable[[str], None]) -> str:
    if await indexer.is_by_another_model():
        await refit()
    return f"{await indexer.rebuild(Percents(tell))} memories are indexed."


async def _alone(settings: Settings, screen: Screen) -> str:
    """With the data folder owned. Cut short, it goes on at the next start."""
    async with AsyncExitStack() as stack:
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
        indexer = Indexer(
            memories=store.memories,
            index=index,
            encoder=encoder,
            probe=IndexProbe(store=store.settings, encoder=encoder),
            scorer=scorer,
            felt=_not_told,
            erase_bytes=store.erase_bytes,
            now=now,
        )
        return await _rebuilt(indexer, scorer.refit, screen.passing)


def _not_told(place_id: int, feelings: Sequence[Feeling]) -> None:
    """No mood is awake here that old feelings could move."""


class Percents:
    """Tells how far something is, at most once for each hundredth."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._last = -1

    def __call__(self, done: int, total: int) -> None:
        """So many of all are done now."""
        percent = min(100, 100 * done // total) if total else 100
        if percent > self._last:
            self._last = percent
            self._tell(f"{done} of {total} memories ({percent}%)")
