"""Further stores that the engine asks for: persona revisions and lore. Adapters fulfil them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from bot.core.ports import PersonaStore
from bot.core.types import Persona


@dataclass(frozen=True, slots=True)
class PersonaRevision:
    """A former card of a persona, and when it was replaced."""

    persona_id: int
    revision: int
    name: str
    card: Mapping[str, object]
    replaced_at: datetime
    picture_replaced: bool = False
    """Whether the picture was replaced as well."""


class PersonasWithHistory(PersonaStore, Protocol):
    """Personas, and what they were before."""

    async def revisions(self, persona_id: int, limit: int = 100) -> list[PersonaRevision]:
        """The former cards, newest first. A change of the picture alone keeps the former card as well."""

    async def revision(self, persona_id: int, number: int) -> PersonaRevision | None: ...

    async def picture_at(self, persona_id: int, number: int) -> bytes | None:
        """The picture that the persona had in that revision; None when it had a drawn one."""


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


@dataclass(frozen=True, slots=True)
class Past:
    """Where the memories of a persona's past are kept: a place, story and scene that no channel has."""

    persona_id: int
    space_id: int
    place_id: int
    story_id: int
    scene_id: int


class PastStore(Protocol):
    """The hidden places of pasts. They go with their persona; memories in them are of kind `canon`."""

    async def find(self, persona_id: int) -> Past | None: ...

    async def open(self, persona: Persona) -> Past:
        """Made when there is none."""
