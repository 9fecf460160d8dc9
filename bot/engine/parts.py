"""What the engine stands on: the stores, the models, the connection, and figures of the settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Protocol

from bot.core.chat import DEFAULT_SAMPLING, ChatModel, Sampling
from bot.core.explanations import ExplanationStore
from bot.core.knowledge import KnowledgeStore
from bot.core.lore_keys import Search, no_patterns
from bot.core.lore_store import LoreStore
from bot.core.moderation import Moderation
from bot.core.past_store import PastStore
from bot.core.ports import EmotionScorer, Encoder, MemoryIndex, Messenger
from bot.core.privacy import MemoryLedger, PrivacyLedger, PrivacyStore
from bot.core.spending import UsageStore
from bot.core.stores import MemoryStore, PersonaStore, SceneStore, SettingsStore, TurnStore
from bot.core.templates import Prompts
from bot.core.trust import AuditStore, Channels, LinkStore, NoChannels
from bot.core.word_forms import StemmerOf, no_stemmers
from bot.engine.conversation import OnStream
from bot.engine.eraser import RemoveCopies, no_copies
from bot.engine.health import HealthLine
from bot.engine.paid_calls import Spending

LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


class Store(Protocol):
    """The stores, on one database."""

    @property
    def turns(self) -> TurnStore: ...
    @property
    def scenes(self) -> SceneStore: ...
    @property
    def personas(self) -> PersonaStore: ...
    @property
    def memories(self) -> MemoryStore: ...
    @property
    def settings(self) -> SettingsStore: ...
    @property
    def lore(self) -> LoreStore: ...
    @property
    def pasts(self) -> PastStore: ...
    @property
    def knowledge(self) -> KnowledgeStore: ...
    @property
    def explanations(self) -> ExplanationStore: ...
    @property
    def privacy(self) -> PrivacyStore: ...
    @property
    def audit(self) -> AuditStore: ...
    @property
    def links(self) -> LinkStore: ...
    @property
    def usage(self) -> UsageStore: ...

    async def erase_bytes(self) -> bool:
        """Write the database anew, so that no byte of a deleted text is left; False when it was too busy."""


async def _no_disk() -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What the engine stands on."""

    store: Store
    index: MemoryIndex
    encoder: Encoder
    scorer: EmotionScorer | None
    messenger: Messenger
    prompts: Prompts
    chat: ChatModel
    background: ChatModel
    """The model for notes; often the same object as `chat`, and then they share its slots."""
    now: Callable[[], datetime]
    concurrency: int = 4
    context_tokens: int = 4096
    background_context: int = 4096
    reply_tokens: int = 400
    spending: Spending = field(default_factory=Spending)
    score_emotions: bool = False
    sampling: Sampling = DEFAULT_SAMPLING
    on_stream: OnStream | None = None
    ledger: PrivacyLedger = field(default_factory=MemoryLedger)
    """Who opted out and who was forgotten."""
    channels: Channels = field(default_factory=NoChannels)
    moderation: Moderation | None = None
    """A server that says whether a text may be said."""
    remove_copies: RemoveCopies = no_copies
    answers_after: datetime = LONG_AGO
    """What was said before is not answered any more: a backup does not know which of it was."""
    patterns: Callable[[], Search] = lambda: no_patterns
    """Makes a bounded search for the /patterns/ of lore keys, for one reply."""
    stemmer_of: StemmerOf = no_stemmers
    """Cuts the words of a language to what their forms share; for the thread of the words alone."""
    degraded: Callable[[], list[str]] = list
    """What the model's server was found not to take, in words."""
    model_lines: Callable[[], list[HealthLine]] = list
    """How the models are, where others stand behind the first."""
    disk: Callable[[], Awaitable[HealthLine | None]] = _no_disk
    """What the data takes, and whether there is room for more."""
