"""What comes to a persona's mind by itself: a memory that felt strong, or that fits its mood."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from bot.core.emotion import LOWEST, distance, is_flat
from bot.core.types import Memory, MemoryKind
from bot.core.vectors import Vector

COOLDOWN_TURNS: Final = 100
"""A memory that came up by itself does not do so again for so many turns of its scene."""
STRONG: Final = 0.4
"""How strong its strongest feeling must be (0 to 1) to come up without a mood."""
CONGRUENT: Final = 0.1
"""How far (1 - cosine) a feeling may be from a mood to count as fitting it."""
_STRONG_ENOUGH: Final = 0.2
_SHORTEST: Final = 15
_KINDS: Final = frozenset({MemoryKind.TURN, MemoryKind.SNAPSHOT, MemoryKind.REFLECTION, MemoryKind.CANON})


def strength(emotion: Vector) -> float:
    """Return how strong the strongest feeling of a vector (1 to 10) is, from 0 to 1."""
    return (float(max(emotion)) - LOWEST) / 9.0


def pick(memories: Iterable[Memory], mood: Vector | None, *, resting: Collection[int]) -> Memory | None:
    """Return the memory that comes to mind, or None when none is strong enough or fits the mood.

    `mood` are eight intensities, None when unknown; `resting` are ids of those that were told of lately.
    """
    felt = None if mood is None or is_flat(mood) else mood
    scored = [
        (score, memory)
        for memory in memories
        if memory.id not in resting and (score := _score(memory, felt)) is not None
    ]
    return max(scored, key=lambda pair: (pair[0], -pair[1].id))[1] if scored else None


def _score(memory: Memory, mood: Vector | None) -> float | None:
    if memory.kind not in _KINDS or memory.emotion is None or len(memory.text.strip()) < _SHORTEST:
        return None
    strong = strength(memory.emotion)
    far = 1.0 if mood is None else float(distance(mood, memory.emotion))
    fits = far <= CONGRUENT and strong >= _STRONG_ENOUGH
    if not fits and strong < STRONG:
        return None
    return strong + (1.0 - far if fits else 0.0)
