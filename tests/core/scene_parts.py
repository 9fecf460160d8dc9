"""Personas, scenes and turns for the tests of the pure core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from bot.core.emotion import FLAT
from bot.core.types import Memory, MemoryKind, Persona, Scene, Turn, TurnKind

START = datetime(2026, 5, 12, 20, 0, tzinfo=UTC)
ALICE, BOB = 111, 222


def persona(
    name: str = "Mira",
    persona_id: int = 1,
    *,
    former: tuple[str, ...] = (),
    card: Mapping[str, object] | None = None,
) -> Persona:
    return Persona(
        id=persona_id,
        space_id=9,
        name=name,
        card={"name": name, **(card or {})},
        temperament=FLAT,
        former_names=former,
    )


def scene(**changes: object) -> Scene:
    values: dict[str, object] = {
        "id": 5,
        "space_id": 9,
        "place_id": 7,
        "story_id": 3,
        "name": "The Lantern",
        "cast": (1,),
    }
    return Scene(**{**values, **changes})  # type: ignore[arg-type]


def turn(
    text: str,
    *,
    turn_id: int = 1,
    owner_id: int = ALICE,
    speaker: str = "Alice",
    persona_id: int | None = None,
    kind: TurnKind = TurnKind.IN_CHARACTER,
    mentions_bot: bool = False,
) -> Turn:
    return Turn(
        id=turn_id,
        space_id=9,
        place_id=7,
        scene_id=5,
        story_id=3,
        owner_id=owner_id,
        speaker=speaker,
        text=text,
        kind=kind,
        created_at=START + timedelta(minutes=turn_id),
        witnesses=(1,),
        persona_id=persona_id,
        mentions_bot=mentions_bot,
    )


def said(text: str, turn_id: int = 1, name: str = "Mira", persona_id: int = 1) -> Turn:
    """A persona's turn."""
    return turn(text, turn_id=turn_id, owner_id=0, speaker=name, persona_id=persona_id)


def words(text: str) -> int:
    """A token counter that tests can follow: one token per word."""
    return len(text.split())


def memory(number: int, emotion: Sequence[float] | None, text: str = "", speaker: str = "Alice") -> Memory:
    """A turn's memory; the emotion has eight numbers."""
    return Memory(
        kind=MemoryKind.TURN,
        space_id=1,
        place_id=1,
        story_id=1,
        scene_id=1,
        text=text or f"moment {number}",
        created_at=START,
        witnesses=(1,),
        speaker=speaker,
        id=number,
        emotion=None if emotion is None else np.array(emotion, dtype=np.float32),
    )
