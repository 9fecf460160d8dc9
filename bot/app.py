"""Opens every resource in order, puts the engine together, and closes in reverse."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256

from pydantic import SecretStr

from bot import prompts
from bot.adapters import aside
from bot.adapters.chat_model import OpenAIChatModel
from bot.adapters.chat_server import Timeouts
from bot.adapters.embedder import ThreadedEncoder, make_encoder
from bot.adapters.emotion_head import EmotionHead
from bot.adapters.lance_index import LanceIndex
from bot.adapters.local_model import BUNDLED_QUIRKS, BUNDLED_REPLY_TOKENS, BUNDLED_SAMPLING, LocalModel
from bot.adapters.privacy_ledger import open_ledger
from bot.adapters.sql_store import SqlStore, open_store
from bot.adapters.timed_patterns import TimedPatterns
from bot.core.chat import Sampling
from bot.core.ports import Messenger
from bot.data_lock import owned
from bot.engine.assembly import Parts, assemble
from bot.engine.conversation import OnStream
from bot.engine.jobs import Jobs
from bot.engine.troupe import Troupe
from bot.settings import Settings

log = logging.getLogger(__name__)

DEFAULT_CONTEXT = 4096
DATABASE = "troupe.sqlite3"
INDEX = "lancedb"
MODEL_LOG = "local-model.log"


@dataclass(frozen=True, slots=True)
class App:
    """The running parts that the commands of `python -m bot` look at."""

    settings: Settings
    troupe: Troupe
    store: SqlStore
    index: LanceIndex
    encoder: ThreadedEncoder
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
    console: bool = False,
    on_stream: OnStream | None = None,
) -> AsyncIterator[App]:
    """Everything open and the engine prepared to hear; `app.troupe.start()` comes when it may speak.

    `SettingsError` when another process owns the data folder or a model cannot be opened.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(owned(settings.data_dir))
        store = await stack.enter_async_context(open_store(settings.data_dir / DATABASE))
        encoder = await stack.enter_async_context(
            make_encoder(settings.embedding_model, threads=settings.encoder_threads)
        )
        index = await stack.enter_async_context(
            LanceIndex.open(settings.data_dir / INDEX, encoder_id=encoder.id, dimensions=encoder.dimensions)
        )
        ledger = await asyncio.to_thread(open_ledger, settings.data_dir)
        models = await _Models.open(settings, store, stack)
        troupe = assemble(
            Parts(
                store=store,
                index=index,
                encoder=encoder,
                scorer=EmotionHead.load(encoder.id, settings.data_dir),
                messenger=messenger(),
                ledger=ledger,
                remove_copies=lambda: asyncio.to_thread(aside.remove_all, settings.data_dir),
                prompts=prompts.load(),
                chat=models.chat,
                background=models.background,
                now=now,
                concurrency=settings.concurrency,
                context_tokens=models.context_tokens,
                background_context=models.background_context,
                reply_tokens=models.reply_tokens,
                daily_tokens=settings.daily_tokens,
                score_emotions=settings.emotion_scorer == "model",
                sampling=models.sampling,
                on_stream=on_stream,
                patterns=TimedPatterns,
                degraded=lambda: _degraded(models.chat),
            )
        )
        jobs = Jobs()
        stack.push_async_callback(jobs.close)
        stack.push_async_callback(troupe.close)
        await troupe.prepare()
        if console or troupe.live.places():  # else with the first memory: an idle bot stays small
            loading = jobs.start(_load(encoder, troupe), name="load the embedding model")
            if console:
                await loading
        yield App(settings, troupe, store, index, encoder, models.chat, models.context_tokens)


async def _load(encoder: ThreadedEncoder, troupe: Troupe) -> None:
    await encoder.load()
    log.info("The embedding model is ready")
    troupe.indexer.wake()


@dataclass(frozen=True, slots=True)
class _Models:
    """The model for replies, the one for background work (often the same), and what they can take."""

    chat: OpenAIChatModel
    background: OpenAIChatModel
    context_tokens: int
    background_context: int
    reply_tokens: int
    sampling: Sampling

    @classmethod
    async def open(cls, settings: Settings, store: SqlStore, stack: AsyncExitStack) -> _Models:
        server = _Server.of_settings(settings)
        sampling, reply_tokens = Sampling(temperature=settings.llm_temperature), settings.reply_tokens
        if settings.bundled_model:
            local = await stack.enter_async_context(LocalModel(log_file=settings.data_dir / MODEL_LOG))
            server = _Server(local.base_url, "none", local.name, BUNDLED_QUIRKS)
            sampling, reply_tokens = BUNDLED_SAMPLING, min(reply_tokens, BUNDLED_REPLY_TOKENS)
        chat = background = await _open_chat(server, settings, store, stack)
        if settings.own_background:
            background = await _open_chat(server.for_background(settings), settings, store, stack)
        context = settings.context_tokens or await chat.context_tokens() or DEFAULT_CONTEXT
        other = context if background is chat else await background.context_tokens() or DEFAULT_CONTEXT
        return cls(chat, background, context, other, reply_tokens, sampling)


@dataclass(frozen=True, slots=True)
class _Server:
    """Where a model is asked, and what is known of its server beforehand."""

    address: str
    key: str = field(repr=False)
    model: str
    quirks: dict[str, object] | None = None

    @classmethod
    def of_settings(cls, settings: Settings) -> _Server:
        return cls(settings.llm_base_url or "", _key(settings.llm_api_key), settings.llm_model or "")

    def for_background(self, settings: Settings) -> _Server:
        """What is not set for the background is the same as for replies; a key stays with its server."""
        address = settings.llm_background_base_url or self.address
        return _Server(address, _key(settings.background_key), settings.llm_background_model or self.model)


def _key(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret else "none"


async def _open_chat(
    server: _Server, settings: Settings, store: SqlStore, stack: AsyncExitStack
) -> OpenAIChatModel:
    """A model that remembers over restarts what its server does not take."""
    place = "bundled" if server.quirks else sha256(server.address.encode()).hexdigest()[:12]
    slot = f"quirks:{place}:{server.model}"  # an address may hold a password, which is not stored
    stored = await store.settings.value(slot)
    jobs = Jobs()

    def remember(quirks: dict[str, object]) -> None:
        jobs.start(store.settings.set_value(slot, json.dumps(quirks)), name="remember the model server")

    model = OpenAIChatModel(
        base_url=server.address,
        api_key=server.key,
        model=server.model,
        timeouts=Timeouts(first_text=settings.llm_timeout_s, total=2 * settings.llm_timeout_s),
        quirks=json.loads(stored) if stored else server.quirks,
        on_quirks_changed=remember,
    )
    stack.push_async_callback(model.aclose)
    stack.push_async_callback(jobs.close, 1.0)
    return model


def _degraded(model: OpenAIChatModel) -> list[str]:
    """What the model's server was found not to take, in words for a moderator."""
    return [f"works without {name.replace('_', ' ')}" for name, value in model.quirks.items() if value]
