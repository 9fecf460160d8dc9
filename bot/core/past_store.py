"""Where the pasts of personas are kept: what the engine asks of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bot.core.types import Persona


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
