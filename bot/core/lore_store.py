"""Where lore is kept that stands in no card: what the engine asks of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class LoreRow:
    """A stored lore entry, as its file or command gave it (`bot.core.lore_entries.read_entry` reads it).

    It holds for one scene, for one persona wherever it plays, or without either for the whole space.
    """

    space_id: int
    entry: Mapping[str, Any]
    scene_id: int | None = None
    persona_id: int | None = None
    book: str = ""
    """The name of the lorebook it came with."""
    created_by: int = 0
    created_at: datetime | None = None
    id: int = 0


class LoreStore(Protocol):
    """Lore of guilds, scenes and personas. What a card's own book holds is not here but in the card."""

    async def add(self, rows: Sequence[LoreRow]) -> list[LoreRow]:
        """All or nothing; with their ids, in order. StorageError when a scene or persona is gone."""

    async def update(self, row: LoreRow) -> LoreRow | None:
        """Replaces entry and book. None when the space has no such row."""

    async def of_space(self, space_id: int) -> list[LoreRow]:
        """All of them, oldest first."""

    async def present(self, space_id: int, scene_id: int, persona_ids: Collection[int]) -> list[LoreRow]:
        """Those of the whole space, of this scene and of these personas, oldest first."""

    async def remove(self, space_id: int, ids: Collection[int]) -> int:
        """How many there were."""
