"""Makes the embedding model that the settings name: on this machine, or at a server."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from bot.adapters.embedder import make_encoder
from bot.adapters.embedding_server import ServedEncoder
from bot.core.ports import Encoder
from bot.setting_kinds import SERVED
from bot.settings import Settings


class AnyEncoder(Encoder, Protocol):
    """An encoder that somebody opens and closes."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def load(self, progress: Callable[[str], None] | None = None) -> None:
        """Returns when it is ready. SettingsError when it cannot be had, SearchIndexError when not now."""


def encoder_of(settings: Settings) -> AnyEncoder:
    """The encoder, with nothing loaded and nothing asked. SettingsError when a package is missing."""
    if not settings.embedding_model.startswith(SERVED):
        return make_encoder(settings.embedding_model, threads=settings.encoder_threads)
    key = settings.embedding_key
    return ServedEncoder(
        model=settings.embedding_model.removeprefix(SERVED),
        base_url=settings.embedding_base_url or settings.llm_base_url or "",
        api_key=key.get_secret_value() if key else "none",
    )
