"""How the parts are doing, in short lines for `/settings show` and the self-check."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from bot.core.ports import Encoder
from bot.core.stores import MemoryStore
from bot.engine.index_probe import IndexProbe
from bot.engine.storage_trouble import StorageTrouble
from bot.engine.summarising import Summariser
from bot.errors import (
    ContextOverflow,
    EmptyReply,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelUnavailable,
)

_FAILURES: Final[Mapping[type[ModelError], str]] = {
    ModelUnavailable: "it does not respond (busy, down or too slow)",
    ModelMisconfigured: "its server refuses the key, the address or the model's name",
    ContextOverflow: "a prompt was longer than it takes",
    ModelRefused: "it refused a request",
    EmptyReply: "it answered without words",
}


@dataclass(frozen=True, slots=True)
class HealthLine:
    """One part of the bot and whether it works."""

    name: str
    ok: bool
    text: str


@dataclass(slots=True)
class ModelHealth:
    """What the last calls of the language model ended in; kept by those who call it."""

    name: str
    failure: str = ""

    def answered(self, name: str) -> None:
        """A call ended well; this model answered it."""
        self.name, self.failure = name or self.name, ""

    def failed(self, problem: ModelError, reference: str) -> None:
        """A call ended badly; the log holds more under this reference."""
        words = next((words for kind, words in _FAILURES.items() if isinstance(problem, kind)), "it failed")
        self.failure = f"{words}; see the log (ref {reference})"

    def line(self) -> HealthLine:
        """The model's state in one line."""
        return HealthLine("language model", not self.failure, self.failure or f"{self.name} answers")


class Health:
    """Collects the lines when asked."""

    def __init__(
        self,
        *,
        model: ModelHealth,
        encoder: Encoder,
        probe: IndexProbe,
        memories: MemoryStore,
        summariser: Summariser,
        trouble: StorageTrouble,
        degraded: Callable[[], list[str]],
        model_lines: Callable[[], list[HealthLine]],
        disk: Callable[[], Awaitable[HealthLine | None]],
    ) -> None:
        self._model = model
        self._encoder = encoder
        self._probe = probe
        self._memories = memories
        self._summariser = summariser
        self._trouble = trouble
        self._degraded = degraded
        self._model_lines = model_lines
        self._disk = disk

    async def lines(self) -> list[HealthLine]:
        """Language model, embedding model, index, notes, what the server does not support, and the disk."""
        waiting = await self._memories.count_to_index(self._encoder.id)
        encoder = f"{self._encoder.id} is ready" if self._encoder.ready else "not ready; words serve"
        turns = self._summariser.waiting
        lines = [
            HealthLine("database", not self._trouble.failure, self._trouble.failure or "takes what is said"),
            self._model.line(),
            *self._model_lines(),
            HealthLine("embedding model", self._encoder.ready, encoder),
            HealthLine(
                "search index",
                waiting < 1000 and not self._probe.problem,
                self._probe.problem or f"{waiting} memories wait to be indexed",
            ),
            HealthLine(
                "notes", not self._summariser.failure, self._summariser.failure or f"{turns} turns wait"
            ),
        ]
        lines += [HealthLine("model server", True, text) for text in self._degraded()]
        disk = await self._disk()
        return [*lines, disk] if disk else lines
