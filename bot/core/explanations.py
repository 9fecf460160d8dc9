"""Why a reply came out as it did: ids and numbers only, so that what is forgotten stays forgotten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from bot.core.candidates import Recalled

KEPT: Final = 300
"""So many of a place's newest replies can be explained."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What went into one reply. `body` holds plain values for JSON, and no word that anybody said."""

    turn_id: int
    place_id: int
    scene_id: int
    created_at: datetime
    body: Mapping[str, Any]
    aside_id: int | None = None
    """The memory that came to mind by itself."""


@dataclass(frozen=True, slots=True)
class Asides:
    """What came to mind by itself in a scene: how many turns ago last, and what must rest."""

    turns_since: int | None = None
    """None when nothing has yet (or not within memory)."""
    resting: frozenset[int] = frozenset()
    turns: int = 0
    """How many turns the scene has, counted up to a thousand."""


class ExplanationStore(Protocol):
    """The newest explanations of each place. They go with their turns."""

    async def keep(self, explanation: Explanation) -> None:
        """Stores one; the place's oldest give way. Nothing happens when the turn is gone."""

    async def of_turn(self, turn_id: int) -> Explanation | None: ...

    async def latest(self, scene_id: int, *, persona_id: int) -> Explanation | None:
        """Of the persona's newest reply in a scene that has one."""

    async def asides(self, scene_id: int, *, cooldown: int) -> Asides:
        """`resting` came up by themselves within the last `cooldown` turns of the scene."""


def numbers(item: Recalled) -> dict[str, Any]:
    """Return a recalled memory's numbers for a body."""
    return {
        "id": item.memory_id,
        "rank": item.rank,
        "score": _rounded(item.score),
        "finding": _rounded(item.finding),
        "words": _rounded(item.words),
        "meaning": _rounded(item.meaning),
        "d_sem": _rounded(item.d_sem),
        "d_emo": _rounded(item.d_emo),
        "weight": _rounded(item.weight),
    }


def memory_ids(body: Mapping[str, Any]) -> list[int]:
    """Return the ids of all memories that a body names."""
    listed: Sequence[Mapping[str, Any]] = [*body.get("recalled", ()), *body.get("left_out", ())]
    return [int(entry["id"]) for entry in listed]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
