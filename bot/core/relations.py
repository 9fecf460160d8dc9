"""What a persona feels towards a member, from how the member spoke to it: warmth, trust and tension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bot.core.emotion import EMOTIONS, LOWEST
from bot.core.vectors import Vector

HALF_LIFE: Final = 20
"""A turn counts half as much as one that came so many turns later."""
PRIOR: Final = 6.0
"""So many indifferent turns stand before the first: a single one moves little."""
FEWEST: Final = 3
"""With less evidence nothing is said."""
MOST_TURNS: Final = 80
_SPAN: Final = 9.0
_AT: Final = {name: index for index, name in enumerate(EMOTIONS)}
_WARM: Final = (
    (-0.3, "hostile to"),
    (-0.12, "cool towards"),
    (0.12, ""),
    (0.3, "warm towards"),
    (2.0, "fond of"),
)
_TRUST: Final = 0.2
_TENSION: Final = 0.12


@dataclass(frozen=True, slots=True)
class Relation:
    """Warmth and trust from -1 to 1, tension from 0 to 1, and over how many turns."""

    warmth: float = 0.0
    trust: float = 0.0
    tension: float = 0.0
    evidence: int = 0


def relation(feelings: Sequence[Vector]) -> Relation:
    """Return the relation that a member's turns made, given as emotion vectors (1 to 10), oldest first."""
    if not feelings:
        return Relation()
    felt = (np.stack(list(feelings)).astype(np.float64) - LOWEST) / _SPAN
    joy, acceptance, fear, disgust, anger = (
        felt[:, _AT[name]] for name in ("joy", "acceptance", "fear", "disgust", "anger")
    )
    shades = np.stack(
        [
            (joy + acceptance - disgust - anger) / 2,
            acceptance - (fear + disgust) / 2,
            (2 * anger + fear) / 3,
        ]
    )
    weights = 0.5 ** (np.arange(len(felt))[::-1] / HALF_LIFE)
    warmth, trust, tension = (shades @ weights) / (weights.sum() + PRIOR)
    return Relation(float(warmth), float(trust), float(tension), len(felt))


def describe(one: Relation, name: str) -> str:
    """Return a relation in words, as what follows "is": "fond of Alice (trusting)"; empty when nothing is
    worth saying."""
    if one.evidence < FEWEST:
        return ""
    warm = next(words for bound, words in _WARM if one.warmth < bound)
    shades = []
    if abs(one.trust) >= _TRUST:
        shades.append("trusting" if one.trust > 0 else "distrustful")
    if one.tension >= _TENSION:
        shades.append("tense")
    if warm:
        return f"{warm} {name}" + (f" ({', '.join(shades)})" if shades else "")
    return f"{' and '.join(shades)} towards {name}" if shades else ""


def in_words(relations: Mapping[str, Relation]) -> str:
    """Return what a persona feels towards those of these names, in one line."""
    told = (describe(one, name) for name, one in relations.items())
    return "; ".join(words for words in told if words)
