"""Opens every resource in order, puts the engine together, and closes in reverse."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot import disk, prompts
from bot.adapters import aside
from bot.adapters.chat_model import OpenAIChatModel
from bot.adapters.chat_moderation import OpenAIModeration
from bot.adapters.lance_index import LanceIndex
from bot.adapters.privacy_ledger import open_ledger
from bot.adapters.seed_head import SeededScorer
from bot.adapters.sql_store import SqlStore, open_store
from bot.adapters.stemmers import Stemmers
from bot.adapters.timed_patterns import TimedPatterns
from bot.core.ports import Messenger
from bot.core.trust import Channels, NoChannels
from bot.data_lock import owned
from bot.encoders import AnyEncoder, encoder_of
from bot.engine.assembly import assemble
from bot.engine.conversation import OnStream
from bot.engine.health import HealthLine
from bot.engine.jobs import Jobs
from bot.engine.parts import LONG_AGO, Parts
from bot.engine.troupe import Troupe
from bot.language_models import LanguageModels
from bot.settings import Settings

log = logging.getLogger(__name__)

DATABASE = "troupe.sqlite3"
RESTORED = "restored_at"
"""The stored value that tells when a backup was put in place."""
INDEX = "lancedb"


@dataclass(frozen=True, slots=True)
class App:
    """The running parts that the commands of `python -m bot` look at."""

    settings: Settings
    troupe: Troupe
    store: SqlStore
    index: LanceIndex
    encoder: AnyEncoder
    scorer: SeededScorer
    model: OpenAIChatModel
    context_tokens: int


def now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


@asynccontextmanager
async def open_app(
    settings: Settings,
    messenger: Callable[[], Messenger],
    *,
    channels: Channels | None = None,
    console: bool = False,
    on_stream: OnStream | None = None,
) -> AsyncIterator[App]:
    """Everything open and the engine prepared to hear; `app.troupe.start()` comes when it may speak.

    `SettingsError` when another process owns the data folder or a model cannot be opened.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(owned(settings.data_dir))
        store = await stack.enter_async_context(open_store(settings.data_dir / DATABASE))
        encoder = await stack.enter_async_context(encoder_of(settings))
        index = await stack.enter_async_context(
            LanceIndex.open(settings.data_dir / INDEX, encoder_id=encoder.id, dimensions=encoder.dimensions)
        )
        scorer = await asyncio.to_thread(SeededScorer, encoder=encoder, folder=settings.data_dir)
        ledger = await asyncio.to_thread(open_ledger, settings.data_dir)
        models = await LanguageModels.open(settings, store, stack)
        troupe = assemble(
            Parts(
                store=store,
                index=index,
                encoder=encoder,
                scorer=scorer,
                messenger=messenger(),
                moderation=_moderation(settings, stack),
                channels=channels or NoChannels(age_restricted=console),
                ledger=ledger,
                answers_after=await _answers_after(store),
                remove_copies=lambda: asyncio.to_thread(aside.remove_all, settings.data_dir),
                prompts=prompts.load(),
                chat=models.replies,
                background=models.background,
                now=now,
                concurrency=settings.concurrency,
                context_tokens=models.context_tokens,
                background_context=models.background_context,
                reply_tokens=models.reply_tokens,
                spending=models.spending,
                score_emotions=settings.emotion_scorer == "model",
                sampling=models.sampling,
                on_stream=on_stream,
                patterns=TimedPatterns,
                stemmer_of=Stemmers().of,
                degraded=models.degraded,
                model_lines=models.lines,
                disk=lambda: asyncio.to_thread(_disk_line, settings.data_dir),
            )
        )
        jobs = Jobs()
        stack.push_async_callback(jobs.close)
        stack.push_async_callback(troupe.close)
        await troupe.prepare()
        loading = None
        if console or troupe.live.places():  # else with the first memory: an idle bot stays small
            loading = jobs.start(_load(encoder, troupe), name="load the embedding model")
            if console:
                await loading
        if loading is not None or not scorer.ready:
            jobs.start(_prepare(scorer, loading), name="fit the emotion head")
        yield App(settings, troupe, store, index, encoder, scorer, models.chat, models.context_tokens)


def _disk_line(data_dir: Path) -> HealthLine:
    free, index = disk.free_bytes(data_dir), disk.used_bytes(data_dir / INDEX)
    took = f"{disk.used_bytes(data_dir) / 1e6:,.0f} MB used, {index / 1e6:,.0f} of them by the search index"
    return HealthLine("disk", free > disk.LITTLE, f"{took}; {free / 1e6:,.0f} MB are free")


def _moderation(settings: Settings, stack: AsyncExitStack) -> OpenAIModeration | None:
    if settings.moderation_base_url is None:
        return None
    key = settings.moderation_key
    moderation = OpenAIModeration(
        base_url=settings.moderation_base_url,
        api_key=key.get_secret_value() if key else "none",
        model=settings.moderation_model or "",
    )
    stack.push_async_callback(moderation.aclose)
    return moderation


async def _answers_after(store: SqlStore) -> datetime:
    restored = await store.settings.value(RESTORED)
    return datetime.fromisoformat(restored) if restored else LONG_AGO


async def _load(encoder: AnyEncoder, troupe: Troupe) -> None:
    await encoder.load()
    log.info("The embedding model is ready")
    troupe.indexer.wake()


async def _prepare(scorer: SeededScorer, loading: asyncio.Task[object] | None) -> None:
    """Once the embedding model is there: a server tells only then how long its vectors are, and so whether
    the head that is stored is still of use."""
    if loading is not None:
        await asyncio.wait([loading])
    await scorer.prepare()
