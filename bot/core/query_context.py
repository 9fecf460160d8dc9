"""What a remark hints at: its own meaning, tinted by the turns just before it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from bot.core.query_hints import is_question
from bot.core.tokens import tokens
from bot.core.types import Turn, TurnKind
from bot.core.vectors import Vector

WEIGHTS: Final = (0.2, 0.1)
"""How much the turn before the remark counts beside it, and the one before that."""
SAYS_ENOUGH: Final = 4
"""A remark of so many words of some weight needs no context: chatter before it would only lead away."""
_WEIGHTY: Final = 4


def context_of(text: str, turns: Sequence[Turn], asked: Collection[int]) -> list[Turn]:
    """Return the turns that tint a query, the nearest first: none for what says itself what it is about.

    `turns` are those shown, oldest first; those with ids in `asked` are the query itself.
    """
    if is_question(text) or sum(len(word) >= _WEIGHTY for word in set(tokens(text))) >= SAYS_ENOUGH:
        return []
    before = [turn for turn in turns if turn.id not in asked and turn.kind is not TurnKind.OUT_OF_CHARACTER]
    return before[: -len(WEIGHTS) - 1 : -1]


def blended(own: Vector, context: Sequence[Vector | None]) -> Vector:
    """Return the unit vector of a query with its context, nearest first; None is a turn not embedded yet."""
    mixed = own.astype(np.float32)
    for weight, vector in zip(WEIGHTS, context, strict=False):
        if vector is not None:
            mixed = mixed + np.float32(weight) * vector
    length = float(np.linalg.norm(mixed))
    return np.asarray(mixed / length if length else own, dtype=np.float32)
