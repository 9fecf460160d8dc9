"""The last turns that moved a mood: taken back when they change, and asked what the mood comes from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from bot.core.emotion import LOWEST
from bot.core.mood import (
    FAST_HALF_LIFE,
    SLOW_ADDS,
    SLOW_HALF_LIFE,
    TURN_ADDS,
    TURN_KEEPS,
    Mood,
    Step,
    current,
    decay,
    update,
)

MOST_STEPS: Final = 24
"""Older turns have left next to nothing in the fast part, and can no longer be taken back."""
_STANDS_OUT: Final = 0.75
"""So far above the temperament a feeling must be to have a cause."""
_LEAST: Final = 0.6
"""What a turn must still add to the feelings that stand out, to be their cause."""


def moved(mood: Mood, step: Step, *, temperament: npt.ArrayLike) -> Mood:
    """Return the mood after a turn. A turn that moved it before (and was reworded since) counts once."""
    if any(known.turn_id == step.turn_id for known in mood.steps):
        mood = without(mood, {step.turn_id}, temperament=temperament)
    start = mood.start or replace(mood, steps=(), start=None)
    after = _after(mood, step, temperament)
    steps = (*mood.steps, step)
    while len(steps) > MOST_STEPS:
        start, steps = _after(start, steps[0], temperament), steps[1:]
    return replace(after, steps=steps, start=start)


def without(mood: Mood, turn_ids: Collection[int], *, temperament: npt.ArrayLike) -> Mood:
    """Return the mood as if these turns had never been heard; the same object when none of them is known."""
    kept = tuple(step for step in mood.steps if step.turn_id not in turn_ids)
    if mood.start is None or len(kept) == len(mood.steps):
        return mood
    again = mood.start
    for step in kept:
        again = _after(again, step, temperament)
    again = decay(again, temperament, max(again.updated_at, mood.updated_at))
    return replace(again, steps=kept, start=mood.start)


def cause(mood: Mood, steps: Sequence[Step], *, temperament: npt.ArrayLike, now: datetime) -> Step | None:
    """Return the one of these steps (oldest first, the newest perhaps not in the mood yet) that adds most to
    the feelings which stand out from the temperament; None when none does, or no step adds much to them."""
    above = np.asarray(current(mood), dtype=np.float64) - np.asarray(temperament, dtype=np.float64)
    loud = above >= _STANDS_OUT
    if not steps or not loud.any():
        return None
    added = []
    for later, step in enumerate(reversed(steps)):
        seconds = max(0.0, (now - step.at).total_seconds())
        fast = TURN_ADDS * TURN_KEEPS**later * 0.5 ** (seconds / FAST_HALF_LIFE.total_seconds())
        slow = SLOW_ADDS * 0.5 ** (seconds / SLOW_HALF_LIFE.total_seconds())
        felt = np.asarray(step.emotion, dtype=np.float64) - LOWEST
        added.append((fast + slow) * float((felt * above)[loud].sum() / above[loud].sum()))
    most = int(np.argmax(added))
    return steps[len(steps) - 1 - most] if added[most] >= _LEAST else None


def _after(mood: Mood, step: Step, temperament: npt.ArrayLike) -> Mood:
    return update(mood, temperament=temperament, heard=step.emotion, now=step.at)
