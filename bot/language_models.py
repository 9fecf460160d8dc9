"""Opens the language models of the settings: for replies, for background work, and those behind them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from hashlib import sha256
from urllib.parse import urlsplit

from pydantic import SecretStr

from bot.adapters.chat_call import DEFAULT_RETRIES, IMPATIENT_RETRIES, Retries
from bot.adapters.chat_model import OpenAIChatModel
from bot.adapters.chat_server import Timeouts
from bot.adapters.local_model import (
    BUNDLED_QUIRKS,
    BUNDLED_REPLY_TOKENS,
    BUNDLED_RETRIES,
    BUNDLED_SAMPLING,
    LocalModel,
)
from bot.adapters.sql_store import SqlStore
from bot.core.chat import ChatModel, Sampling
from bot.core.spending import ceilings
from bot.engine.health import HealthLine
from bot.engine.jobs import Jobs
from bot.engine.model_chain import Link, ModelChain
from bot.engine.paid_calls import Spending, Tier
from bot.fallbacks import Fallback
from bot.settings import Settings

DEFAULT_CONTEXT = 4096
MODEL_LOG = "local-model.log"


@dataclass(frozen=True, slots=True)
class LanguageModels:
    """The models for replies and for background work (often the same), and what they can take.

    `chat` is the first that is asked for replies; `replies` asks it, or those that stand behind it. `notes`
    and `background` are the same for the work behind the replies.
    """

    chat: OpenAIChatModel
    notes: OpenAIChatModel
    replies: ChatModel
    background: ChatModel
    context_tokens: int
    background_context: int
    reply_tokens: int
    sampling: Sampling
    spending: Spending

    @classmethod
    async def open(cls, settings: Settings, store: SqlStore, stack: AsyncExitStack) -> LanguageModels:
        """What the settings name, open until the stack ends; the bundled model's process is started for it.

        A server that does not answer keeps nothing from opening. `ModelMisconfigured` when the bundled model
        is not installed, `ModelUnavailable` when it does not start.
        """
        server = Server.of_settings(settings)
        sampling, reply_tokens = Sampling(temperature=settings.llm_temperature), settings.reply_tokens
        if settings.bundled_model:
            local = await stack.enter_async_context(LocalModel(log_file=settings.data_dir / MODEL_LOG))
            server = Server(local.base_url, "none", local.name, BUNDLED_QUIRKS, local.rest)
            sampling, reply_tokens = BUNDLED_SAMPLING, min(reply_tokens, BUNDLED_REPLY_TOKENS)
        chat = other = await _open_chat(server, settings, store, stack)
        if settings.own_background:
            other = await _open_chat(server.for_background(settings), settings, store, stack)
        behind = []
        for number, one in enumerate(settings.llm_fallbacks, start=1):
            last = number == len(settings.llm_fallbacks)
            behind.append(await _open_link(server.for_fallback(one), settings, store, stack, last=last))
        replies = background = _chained(chat, server, behind, stack)
        await chat.prepare()
        context = more = settings.context_tokens or await chat.context_tokens() or DEFAULT_CONTEXT
        if other is not chat:
            background = _chained(other, server.for_background(settings), behind, stack)
            more = await other.context_tokens() or DEFAULT_CONTEXT
        cheap = None
        if settings.llm_cheap_model:
            cheaper = replace(server, model=settings.llm_cheap_model)
            link = await _open_chat(cheaper, settings, store, stack)
            cheap = Tier(_chained(link, cheaper, behind, stack), settings.cheap_price)
        spending = _spending(settings, cheap)
        return cls(chat, other, replies, background, context, more, reply_tokens, sampling, spending)

    def degraded(self) -> list[str]:
        """What the servers of the first models were found not to do, in words for a moderator."""
        models = dict.fromkeys((self.chat, self.notes))
        several = len(models) > 1
        return [f"{model.name} {one}" if several else one for model in models for one in model.lacks]

    def lines(self) -> list[HealthLine]:
        """How the models of the chains are; those that stand behind both are told once."""
        chains = dict.fromkeys(one for one in (self.replies, self.background) if isinstance(one, ModelChain))
        return list(dict.fromkeys(line for chain in chains for line in chain.lines()))


def _spending(settings: Settings, cheap: Tier | None) -> Spending:
    limits = ceilings(
        daily_tokens=settings.daily_tokens,
        monthly_tokens=settings.monthly_tokens,
        daily_cost=settings.daily_cost,
        monthly_cost=settings.monthly_cost,
    )
    return Spending(limits, settings.price, settings.background_price, cheap, settings.currency)


def _chained(
    first: OpenAIChatModel, server: Server, behind: Sequence[Link], stack: AsyncExitStack
) -> ChatModel:
    """The model alone, or before those that answer while it is down."""
    if not behind:
        return first
    chain = ModelChain([Link(first, server.label), *behind])
    stack.push_async_callback(chain.aclose)
    return chain


async def _open_link(
    server: Server, settings: Settings, store: SqlStore, stack: AsyncExitStack, *, last: bool
) -> Link:
    retries = DEFAULT_RETRIES if last else IMPATIENT_RETRIES
    return Link(await _open_chat(server, settings, store, stack, retries), server.label)


@dataclass(frozen=True, slots=True)
class Server:
    """Where a model is asked, and what is known of its server beforehand."""

    address: str
    key: str = field(repr=False)
    model: str
    quirks: dict[str, object] | None = None
    rest: Callable[[float], Awaitable[None]] = asyncio.sleep
    """How to wait before a call is tried again."""

    @classmethod
    def of_settings(cls, settings: Settings) -> Server:
        """The one that answers in the personas' words."""
        return cls(settings.llm_base_url or "", _key(settings.llm_api_key), settings.llm_model or "")

    def for_background(self, settings: Settings) -> Server:
        """What is not set for the background is the same as for replies; a key stays with its server."""
        address = settings.llm_background_base_url or self.address
        return Server(address, _key(settings.background_key), settings.llm_background_model or self.model)

    def for_fallback(self, fallback: Fallback) -> Server:
        """One of those that stand behind the first."""
        return Server(fallback.address or self.address, _key(fallback.key), fallback.model)

    def retries(self, settings: Settings) -> Retries:
        """How often it is asked again when it is busy; less where others stand behind it."""
        if self.quirks is not None:
            return BUNDLED_RETRIES
        return IMPATIENT_RETRIES if settings.llm_fallbacks else DEFAULT_RETRIES

    @property
    def label(self) -> str:
        """How the log names it."""
        return f"{self.model} at {urlsplit(self.address).hostname}"


def _key(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret else "none"


async def _open_chat(
    server: Server,
    settings: Settings,
    store: SqlStore,
    stack: AsyncExitStack,
    retries: Retries | None = None,
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
        retries=retries or server.retries(settings),
        quirks=json.loads(stored) if stored else server.quirks,
        sleep=server.rest,
        on_quirks_changed=remember,
    )
    stack.push_async_callback(model.aclose)
    stack.push_async_callback(jobs.close, 1.0)
    return model
