"""`python -m bot reindex`: the search index is thrown away and built again from the database."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Final, TextIO

from bot.adapters.embedder import make_encoder
from bot.adapters.emotion_head import EmotionHead
from bot.adapters.lance_index import LanceIndex
from bot.adapters.sql_store import open_store
from bot.app import DATABASE, INDEX, now
from bot.data_lock import owned
from bot.engine.indexing import Feeling, Indexer
from bot.settings import Settings
from bot.terminal import Screen

_BAR: Final = 30


async def reindex(settings: Settings) -> int:
    """Do it, with progress. Cut short, it goes on at the next start. AlreadyOwned while a bot is running."""
    screen = Screen(out=sys.stdout, interactive=sys.stdout.isatty())
    async with AsyncExitStack() as stack:
        stack.enter_context(owned(settings.data_dir))
        store = await stack.enter_async_context(open_store(settings.data_dir / DATABASE))
        encoder = make_encoder(settings.embedding_model, threads=settings.encoder_threads)
        stack.callback(encoder.close)
        async with screen.waiting("Loading the embedding model"):
            index = await stack.enter_async_context(
                LanceIndex.open(
                    settings.data_dir / INDEX, encoder_id=encoder.id, dimensions=encoder.dimensions
                )
            )
            await encoder.load()
        await index.reset()
        total = await store.memories.restart_index(encoder.id)
        indexer = Indexer(
            memories=store.memories,
            index=index,
            encoder=encoder,
            scorer=EmotionHead.load(encoder.id),
            felt=_not_told,
            now=now,
        )
        progress = Progress(total=total, out=sys.stdout, interactive=sys.stdout.isatty())
        done = await indexer.catch_up(progress)
        progress.end()
    screen.line(f"{done} memories are indexed with {encoder.id}.")
    return 0


def _not_told(place_id: int, feelings: Sequence[Feeling]) -> None:
    """No mood is awake here that old feelings could move."""


class Progress:
    """How far something is: a bar on a terminal, else a line for each tenth."""

    def __init__(self, *, total: int, out: TextIO, interactive: bool) -> None:
        self._total = total
        self._out = out
        self._interactive = interactive
        self._tenth = 0

    def __call__(self, done: int) -> None:
        """So many are done now."""
        share = min(1.0, done / self._total) if self._total else 1.0
        text = f"{done} of {self._total} ({share:.0%})"
        if self._interactive:
            filled = round(share * _BAR)
            self._out.write(f"\r[{'#' * filled}{'.' * (_BAR - filled)}] {text}")
        elif int(share * 10) > self._tenth:
            self._tenth = int(share * 10)
            self._out.write(f"{text}\n")
        self._out.flush()

    def end(self) -> None:
        """Leave the bar's line."""
        if self._interactive:
            self._out.write("\n")
            self._out.flush()
