"""What is known of persons, places and things: the entities that facts are about, and the store of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bot.core.types import NOBODY, Memory, MemoryDraft, Scratchpad, Turn
from bot.core.vectors import Vector


class EntityKind(StrEnum):
    """Whom or what a fact is about."""

    MEMBER = "member"
    PERSONA = "persona"
    PERSON = "person"
    """Somebody of the story whom neither a member nor a persona plays."""
    PLACE = "place"
    THING = "thing"
    OATH = "oath"
    DEBT = "debt"


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody or something in one story. A member is told apart by owner id and alias, a persona by its id;
    all others by their name."""

    kind: EntityKind
    name: str
    owner_id: int = NOBODY
    persona_id: int = 0
    id: int = 0


@dataclass(frozen=True, slots=True)
class FactDraft(MemoryDraft):
    """A fact before it is stored: whom it is about, and which older facts it makes untrue."""

    entity: Entity | None = None
    replaces: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A stored fact with whom it is about."""

    memory: Memory
    entity: Entity


@dataclass(frozen=True, slots=True)
class Wish:
    """A standing instruction in the notes of a scene."""

    id: int
    scene_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Always:
    """What stands in every prompt of a story, and can be listed and removed."""

    pins: tuple[Memory, ...] = ()
    """What moderators pinned, oldest first."""
    wishes: tuple[Wish, ...] = ()
    """What members asked for, in the newest notes of the story's scenes, oldest first."""


class KnowledgeStore(Protocol):
    """Facts by whom or what they are about, inside one story; and what the story always keeps in mind."""

    async def entities(self, story_id: int) -> list[Entity]:
        """All that facts of the story are about, in the order they came up."""

    async def facts_about(
        self, entity_ids: Collection[int], *, present_only: bool, limit: int = 200
    ) -> list[KnownFact]:
        """The newest facts about each of these, oldest first; with `present_only` not those that a newer one
        replaced."""

    async def fact(self, memory_id: int) -> KnownFact | None:
        """One fact, if it is about somebody or something."""

    async def reword(self, memory_id: int, text: str) -> Memory | None:
        """Gives a memory of its own words (any kind but a turn's) other words: its key and feeling are made
        anew. None when it is gone."""

    async def always(self, story_id: int, *, persona_id: int | None = None) -> Always:
        """What is pinned and wished for in a story; only what this persona witnessed, if one is given."""

    async def feelings(
        self, story_id: int, persona_id: int, owner_ids: Collection[int], *, limit: int
    ) -> dict[int, list[Vector]]:
        """What each member's newest turns that this persona answered felt like, oldest first; members without
        any are left out."""

    async def restore_notes(
        self, before: Scratchpad, revision_id: int, snapshots: Sequence[MemoryDraft]
    ) -> Scratchpad | None:
        """The lines of an older revision as the newest; turns that only later revisions covered wait to be
        summarised again. None when `before` is no longer the newest or that revision is not there."""

    async def felt_in(self, scene_id: int, *, limit: int) -> list[Memory]:
        """The newest turns' memories of a scene whose feeling is known, oldest first."""

    async def unreflected(self, story_id: int, persona_id: int, *, limit: int) -> list[Memory]:
        """The newest turns' memories of known feeling that a persona witnessed since those that its last
        reflection rests on, oldest first."""

    async def answered_by(self, turn_id: int) -> list[Turn]:
        """The living turns that a persona's turn answers, oldest first."""

    async def around(self, turn_id: int, *, before: int, after: int) -> list[Turn]:
        """A living turn with those next to it in its scene, oldest first; empty when it is gone."""


def subject_owner(known: KnownFact | None) -> int:
    """The member whom a fact is about; NOBODY when it is about no member."""
    return known.entity.owner_id if known else NOBODY
