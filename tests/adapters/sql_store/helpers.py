"""Small builders for tests that need rows: a clock, a persona, a scene with a cast, drafts of turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from bot.adapters.sql_store import SqlStore
from bot.core.stores import Changed, PostEntry, Recorded
from bot.core.types import Memory, MemoryDraft, MemoryKind, Persona, Place, Scene, Turn, TurnDraft, TurnKind
from bot.core.vectors import Vector

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TAVERN = Place(id=500, guild_id=9, name="tavern")


@dataclass
class Clock:
    """A clock that only moves when told."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now

    def pass_time(self, **amount: float) -> datetime:
        self.now += timedelta(**amount)
        return self.now


def emotion(value: float = 3.0) -> Vector:
    """Eight equal numbers."""
    return np.full(8, value, dtype=np.float32)


def persona(name: str = "Mira", *, space_id: int = 9, **fields: Any) -> Persona:
    """A persona not yet stored."""
    values = {"card": {"description": "An innkeeper.", "tags": None}, "temperament": emotion(), **fields}
    return Persona(id=0, space_id=space_id, name=name, **values)


@dataclass
class Stage:
    """A scene with a persona in it, and drafts of turns said there."""

    store: SqlStore
    scene: Scene
    persona: Persona
    drafted: int = field(default=0)

    def draft(self, text: str = "Good evening.", *message_ids: int, **changes: Any) -> TurnDraft:
        """A member's turn, a second after the one drafted before."""
        self.drafted += 1
        values: dict[str, Any] = {
            "space_id": self.scene.space_id,
            "place_id": self.scene.place_id,
            "scene_id": self.scene.id,
            "story_id": self.scene.story_id,
            "owner_id": 77,
            "speaker": "Ana",
            "text": text,
            "kind": TurnKind.IN_CHARACTER,
            "created_at": NOON + timedelta(seconds=self.drafted),
            "witnesses": (self.persona.id,),
            "message_ids": message_ids,
        }
        return TurnDraft(**{**values, **changes})

    def post(self, text: str = "Good evening.", *message_ids: int, **changes: Any) -> PostEntry:
        """The same as an entry of the journal."""
        return PostEntry(self.draft(text, *message_ids, **changes))

    async def say(self, text: str = "Good evening.", *message_ids: int, **changes: Any) -> Turn:
        """Stores a turn."""
        (outcome,) = await self.store.turns.commit([self.post(text, *message_ids, **changes)])
        assert isinstance(outcome, Recorded)
        return outcome.turn

    def spoken(self, text: str) -> TurnDraft:
        """The persona's own turn."""
        return self.draft(text, owner_id=0, persona_id=self.persona.id, speaker=self.persona.name)

    def note(
        self, text: str, *sources: int, kind: MemoryKind = MemoryKind.FACT, **changes: Any
    ) -> MemoryDraft:
        """A memory made from turns."""
        values: dict[str, Any] = {
            "kind": kind,
            "space_id": self.scene.space_id,
            "place_id": self.scene.place_id,
            "story_id": self.scene.story_id,
            "scene_id": self.scene.id,
            "text": text,
            "created_at": NOON,
            "witnesses": (self.persona.id,),
            "sources": sources,
        }
        return MemoryDraft(**{**values, **changes})

    async def memory_of(self, turn: Turn) -> Memory:
        """The memory made with the turn."""
        ids = await self.store.memories.of_turns([turn.id])
        (memory,) = await self.store.memories.by_ids([ids[turn.id]])
        return memory


async def set_stage(
    store: SqlStore, place: Place = TAVERN, *, name: str = "Arrival", who: Sequence[Persona] | None = None
) -> Stage:
    """A started scene with one persona (or these) in its cast."""
    cast = who or [await store.personas.create(persona(space_id=place.space_id))]
    scene = await store.scenes.start(place, name=name, location="", situation="", story=None, after=0)
    for member in cast:
        scene = await store.scenes.join(scene.id, member.id)
    return Stage(store, scene, cast[0])


def bytes_of(path: Path) -> bytes:
    """What the file holds."""
    return path.read_bytes()


def put_bytes(path: Path, content: bytes | bytearray) -> None:
    """Replaces what the file holds."""
    path.write_bytes(content)


def changed(outcome: object) -> Changed:
    """The outcome of an edit or deletion that changed something."""
    assert isinstance(outcome, Changed)
    return outcome
