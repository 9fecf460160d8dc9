"""Further stores that the engine asks for: persona revisions and lore. Adapters fulfil them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.core.ports import PersonaStore


@dataclass(frozen=True, slots=True)
class PersonaRevision:
    """A former card of a persona, and when it was replaced."""

    persona_id: int
    revision: int
    name: str
    card: Mapping[str, object]
    replaced_at: datetime


class PersonasWithHistory(PersonaStore, Protocol):
    """Personas, and what they were before."""

    async def revisions(self, persona_id: int, limit: int = 100) -> list[PersonaRevision]:
        """The former cards, newest first. A change of the picture alone keeps the former card as well."""

    async def revision(self, persona_id: int, number: int) -> PersonaRevision | None: ...
