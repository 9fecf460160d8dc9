"""Opens every resource in order, puts the engine together, and closes in reverse."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from bot import prompts
from bot.adapters.chat_model import OpenAIChatModel
from bot.adapters.chat_server import Timeouts
from bot.adapters.embedder import LocalEncoder, make_encoder
from bot.adapters.emotion_head import EmotionHead
from bot.adapters.lance_index import LanceIndex
from bot.adapters.local_model import BUNDLED_QUIRKS, LocalModel
from bot.adapters.sql_store import SqlStore, open_store
from bot.core.chat import Sampling
from bot.core.ports import Messenger
from bot.data_lock import owned
from bot.engine.aliases import Aliases
from bot.engine.conduct import Conduct
from bot.engine.conversation import Conversation, OnStream
from bot.engine.delivery import Delivery
from bot.engine.health import Health, ModelHealth
from bot.engine.indexing import Feeling, Indexer
from bot.engine.jobs import Jobs
from bot.engine.journal import Journal
from bot.engine.limits import Limits
from bot.engine.live import LiveScenes
from bot.engine.memory import Memories
from bot.engine.notices import Notices
from bot.engine.options import Options
from bot.engine.personas import Personas
from bot.engine.places import Places
from bot.engine.recalling import Recaller
from bot.engine.scenes import Scenes
from bot.engine.slots import FairSlots
from bot.engine.story_words import StoryWords
from bot.engine.summarising import Summariser
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
    encoder: LocalEncoder
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
        encoder = make_encoder(settings.embedding_model, threads=settings.encoder_threads)
        stack.callback(encoder.close)
        index = await stack.enter_async_context(
            LanceIndex.open(settings.data_dir / INDEX, encoder_id=encoder.id, dimensions=encoder.dimensions)
        )
        models = await _Models.open(settings, store, stack)
        troupe = _assemble(settings, messenger(), store, encoder, index, models, stack, on_stream)
        jobs = Jobs()
        stack.push_async_callback(jobs.close)
        loading = jobs.start(_load(encoder, troupe), name="load the embedding model")
        if console:
            await loading
        await _check_index(store, index, encoder)
        stack.push_async_callback(troupe.close)
        await troupe.prepare()
        yield App(settings, troupe, store, index, encoder, models.chat, models.context_tokens)


async def _load(encoder: LocalEncoder, troupe: Troupe) -> None:
    await encoder.load()
    troupe.indexer.wake()


async def _check_index(store: SqlStore, index: LanceIndex, encoder: LocalEncoder) -> None:
    """A damaged, deleted or foreign index is built again in the background, while words serve."""
    if await index.is_damaged():
        log.warning("The search index is damaged and is built again from the database; words serve meanwhile")
        await index.reset()
        await store.memories.restart_index(encoder.id)
    elif index.is_new and await store.memories.restart_index(encoder.id):
        log.info("The search index is built for the embedding model %s; words serve meanwhile", encoder.id)


@dataclass(frozen=True, slots=True)
class _Models:
    """The model for replies, the one for background work (often the same), and their context."""

    chat: OpenAIChatModel
    background: OpenAIChatModel
    context_tokens: int
    background_context: int

    @classmethod
    async def open(cls, settings: Settings, store: SqlStore, stack: AsyncExitStack) -> _Models:
        if settings.bundled_model:
            local = await stack.enter_async_context(LocalModel(log_file=settings.data_dir / MODEL_LOG))
            address, key, name = local.base_url, "none", local.name
        else:
            secret = settings.llm_api_key
            address = settings.llm_base_url or ""
            key = secret.get_secret_value() if secret else "none"
            name = settings.llm_model or ""
        chat = await _open_chat(settings, store, stack, address, key, name)
        background = chat
        if settings.llm_background_base_url or settings.llm_background_model:
            secret = settings.llm_background_api_key
            background = await _open_chat(
                settings,
                store,
                stack,
                settings.llm_background_base_url or address,
                secret.get_secret_value() if secret else key,
                settings.llm_background_model or name,
            )
        context = settings.context_tokens or await chat.context_tokens() or DEFAULT_CONTEXT
        other = context if background is chat else await background.context_tokens() or DEFAULT_CONTEXT
        return cls(chat, background, context, other)


async def _open_chat(
    settings: Settings, store: SqlStore, stack: AsyncExitStack, address: str, key: str, name: str
) -> OpenAIChatModel:
    """A model that remembers over restarts what its server does not take."""
    slot = f"quirks:{address}:{name}"
    stored = await store.settings.value(slot)
    known = BUNDLED_QUIRKS if settings.bundled_model else None
    jobs = Jobs()
    model = OpenAIChatModel(
        base_url=address,
        api_key=key,
        model=name,
        timeouts=Timeouts(first_text=settings.llm_timeout_s, total=2 * settings.llm_timeout_s),
        quirks=json.loads(stored) if stored else known,
        on_quirks_changed=lambda quirks: (
            jobs.start(store.settings.set_value(slot, json.dumps(quirks)), name="remember the model server")
            and None
        ),
    )
    stack.push_async_callback(model.aclose)
    stack.push_async_callback(jobs.close, 1.0)
    return model


def _assemble(
    settings: Settings,
    messenger: Messenger,
    store: SqlStore,
    encoder: LocalEncoder,
    index: LanceIndex,
    models: _Models,
    stack: AsyncExitStack,
    on_stream: OnStream | None,
) -> Troupe:
    """Give every part of the engine what it uses."""
    texts = prompts.load()
    scorer = EmotionHead.load(encoder.id)
    live = LiveScenes()
    places = Places(live=live)
    slots = FairSlots(settings.concurrency)
    background_slots = slots if models.background is models.chat else FairSlots(settings.concurrency)
    health = ModelHealth(models.chat.name)
    sampling = Sampling(temperature=settings.llm_temperature)
    options = Options(store=store.settings)
    limits = Limits(store=store.settings, total_limit=settings.daily_tokens, now=now)
    words = StoryWords(memories=store.memories)
    stack.callback(words.close)
    notices = Notices(messenger=messenger, now=now)
    delivery = Delivery(messenger=messenger, turns=store.turns, personas=store.personas, now=now)
    recaller = Recaller(memories=store.memories, index=index, encoder=encoder, scorer=scorer, words=words)

    def felt(place_id: int, feelings: list[Feeling]) -> None:
        actor = places.awake(place_id)
        if actor is not None:
            actor.later(lambda state: conduct.felt(state, feelings))

    indexer = Indexer(
        memories=store.memories,
        index=index,
        encoder=encoder,
        scorer=scorer,
        felt=felt,
        now=now,
    )
    summariser = Summariser(
        turns=store.turns,
        scenes=store.scenes,
        personas=store.personas,
        memories=store.memories,
        index=index,
        places=places,
        model=models.background,
        slots=background_slots,
        limits=limits,
        options=options,
        prompts=texts,
        context_tokens=models.background_context,
        score_emotions=settings.emotion_scorer == "model",
        take_notes=lambda state, notes: conduct.take_notes(state, notes),
        wake_indexer=indexer.wake,
        now=now,
    )
    conduct = Conduct(
        turns=store.turns,
        scenes=store.scenes,
        personas=store.personas,
        options=options,
        live=live,
        words=words,
        delivery=delivery,
        notices=notices,
        summariser=summariser,
        wake_indexer=indexer.wake,
        window_turns=max(60, min(2000, models.context_tokens // 16)),
        now=now,
    )
    conversation = Conversation(
        conduct=conduct,
        delivery=delivery,
        notices=notices,
        recaller=recaller,
        personas=store.personas,
        model=models.chat,
        slots=slots,
        limits=limits,
        messenger=messenger,
        prompts=texts,
        health=health,
        context_tokens=models.context_tokens,
        reply_tokens=settings.reply_tokens,
        sampling=sampling,
        on_stream=on_stream,
        now=now,
    )
    places.use(conduct, conversation.answer)
    journal = Journal(turns=store.turns, live=live, tell=places.tell)
    return Troupe(
        personas=Personas(store=store.personas, places=places, conduct=conduct, live=live),
        scenes=Scenes(
            places=places, store=store.scenes, turns=store.turns, personas=store.personas, conduct=conduct
        ),
        aliases=Aliases(places=places, store=store.scenes, personas=store.personas, conduct=conduct),
        memories=Memories(
            store=store.memories,
            scenes=store.scenes,
            turns=store.turns,
            recaller=recaller,
            journal=journal,
            now=now,
        ),
        options=options,
        health_report=Health(
            model=health,
            encoder=encoder,
            memories=store.memories,
            summariser=summariser,
            degraded=lambda: _degraded(models.chat),
        ),
        places=places,
        live=live,
        journal=journal,
        conduct=conduct,
        delivery=delivery,
        notices=notices,
        indexer=indexer,
        summariser=summariser,
        store=store.scenes,
        messenger=messenger,
        jobs=Jobs(),
    )


def _degraded(model: OpenAIChatModel) -> list[str]:
    """What the model's server was found not to take, in words for a moderator."""
    return [f"works without {name.replace('_', ' ')}" for name, value in model.quirks.items() if value]
