"""A persona's mood: a slow part that returns to its temperament and a fast part of a few turns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from bot.core.emotion import EMOTIONS, FLAT, LOWEST, OPPOSITES, Vector, as_list, clamp

SLOW_HALF_LIFE: Final = timedelta(hours=6)
FAST_HALF_LIFE: Final = timedelta(minutes=30)
TURN_KEEPS: Final = 0.55
"""Share of the fast part that is left after one more turn."""
TURN_ADDS: Final = 0.7
"""Share of a turn's feeling that the fast part takes on."""
SLOW_ADDS: Final = 0.08
"""Share of a turn's feeling that stays in the slow part."""
OPPOSITE: Final = 0.5
"""How far a feeling presses down the one across the wheel."""
HEARD_SHARE: Final = 0.4

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Step:
    """What one turn felt like, eight intensities from 1 to 10, and when it moved a mood."""

    turn_id: int
    emotion: tuple[float, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class Mood:
    """One persona's mood in one scene.

    `slow` and `fast` are eight intensities from 1 to 10; a `fast` of all ones is no reaction at all.
    `updated_at` is aware: the moment that both parts describe. `steps` are the last turns that moved it,
    oldest first, and `start` what it was before them (`bot.core.mood_steps` keeps both).
    """

    slow: tuple[float, ...]
    fast: tuple[float, ...]
    updated_at: datetime
    steps: tuple[Step, ...] = ()
    start: Mood | None = None


def at_rest(temperament: npt.ArrayLike, now: datetime) -> Mood:
    """Return the mood of a persona to whom nothing has happened yet."""
    return Mood(slow=_tuple(temperament), fast=_tuple(FLAT), updated_at=now)


def decay(mood: Mood, temperament: npt.ArrayLike, now: datetime) -> Mood:
    """Return the mood as time alone has left it: slow half-way to the temperament in six hours.

    A clock that went backwards changes nothing.
    """
    seconds = max(0.0, (now - mood.updated_at).total_seconds())
    if seconds == 0.0:
        return mood
    base = _array(clamp(temperament))
    slow = base + (_array(mood.slow) - base) * _left(seconds, SLOW_HALF_LIFE)
    fast = LOWEST + (_array(mood.fast) - LOWEST) * _left(seconds, FAST_HALF_LIFE)
    return Mood(slow=_tuple(slow), fast=_tuple(fast), updated_at=now)


def update(
    mood: Mood,
    *,
    temperament: npt.ArrayLike,
    heard: npt.ArrayLike | None,
    now: datetime,
    weight: float = 1.0,
) -> Mood:
    """Return the mood after one more turn whose feeling is `heard` (None: unknown).

    `weight` (0 to 1) says how much the turn concerns the persona. What is heard can only rouse: an
    even voice does not wear a temperament away, while a feeling presses down its opposite.
    """
    calmed = decay(mood, temperament, now)
    fast = (_array(calmed.fast) - LOWEST) * TURN_KEEPS
    slow = _array(calmed.slow)
    if heard is not None:
        share = min(max(weight, 0.0), 1.0)
        felt = _array(clamp(heard)) - LOWEST
        limit = np.maximum(fast / TURN_KEEPS, felt)
        fast = np.minimum(fast + TURN_ADDS * share * felt, limit)
        rise = np.maximum(0.0, felt + LOWEST - slow)
        slow = slow + SLOW_ADDS * share * (rise - OPPOSITE * felt[list(OPPOSITES)])
    return Mood(slow=_tuple(slow), fast=_tuple(fast + LOWEST), updated_at=calmed.updated_at)


def current(mood: Mood) -> Vector:
    """Return what the persona feels now: the slow part, raised by the fast, opposites pressed down."""
    fast = _array(mood.fast) - LOWEST
    return clamp(_array(mood.slow) + fast - OPPOSITE * fast[list(OPPOSITES)])


def query_emotion(
    mood: Mood | None, heard: npt.ArrayLike | None, *, heard_share: float = HEARD_SHARE
) -> Vector | None:
    """Return the emotion to search memories with: the mood mixed with the members' last words.

    `heard` None (unknown) leaves the mood alone, and a `mood` of None the words; None when both are.
    """
    if mood is None:
        return None if heard is None else clamp(heard)
    felt = current(mood)
    if heard is None:
        return felt
    return clamp((1.0 - heard_share) * _array(felt) + heard_share * _array(clamp(heard)))


def to_json(mood: Mood) -> dict[str, Any]:
    """Return the mood as plain values for `json.dumps`."""
    stored: dict[str, Any] = {
        "slow": as_list(mood.slow),
        "fast": as_list(mood.fast),
        "updated_at": mood.updated_at.isoformat(),
    }
    if mood.start is not None:
        stored["start"] = to_json(mood.start)
        stored["steps"] = [[step.turn_id, step.at.isoformat(), as_list(step.emotion)] for step in mood.steps]
    return stored


def from_json(stored: Mapping[str, Any]) -> Mood:
    """Return the mood that `to_json` stored. Raises ValueError for anything else."""
    try:
        slow, fast = clamp(stored["slow"]), clamp(stored["fast"])
        moment = _moment(stored["updated_at"])
        before = stored.get("start")
        start = from_json(before) if before is not None else None
        steps = tuple(
            Step(int(turn_id), _tuple(emotion), _moment(at))
            for turn_id, at, emotion in (stored.get("steps", ()) if start else ())
        )
    except (AttributeError, KeyError, TypeError) as problem:
        raise ValueError(f"not a stored mood: {problem!r}") from problem
    return Mood(slow=_tuple(slow), fast=_tuple(fast), updated_at=moment, steps=steps, start=start)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a stored mood needs a time with an offset")
    return moment


_ADJECTIVES: Final[dict[str, tuple[str, str, str]]] = {
    "joy": ("a little cheerful", "happy", "overjoyed"),
    "acceptance": ("rather at ease", "trusting", "full of trust"),
    "fear": ("uneasy", "afraid", "terrified"),
    "surprise": ("a little puzzled", "surprised", "astounded"),
    "sadness": ("a little wistful", "sad", "heartbroken"),
    "disgust": ("a little put off", "disgusted", "filled with loathing"),
    "anger": ("a little annoyed", "angry", "furious"),
    "anticipation": ("a little hopeful", "expectant", "burning with impatience"),
}
_STRENGTHS: Final = (2.5, 4.5, 7.0)


def describe(mood: Mood | npt.ArrayLike, *, n: int = 3) -> str:
    """Return the mood (or an emotion vector) in plain English, strongest first: "uneasy, a little hopeful".

    Up to `n` feelings; "calm" when none stands out.
    """
    vector = current(mood) if isinstance(mood, Mood) else clamp(mood)
    order = np.argsort(-vector, kind="stable")[:n]
    words = [_adjective(EMOTIONS[index], float(vector[index])) for index in order]
    return ", ".join(word for word in words if word) or "calm"


def _adjective(name: str, intensity: float) -> str:
    level = sum(intensity >= bound for bound in _STRENGTHS)
    return _ADJECTIVES[name][level - 1] if level else ""


def _left(seconds: float, half_life: timedelta) -> float:
    return math.pow(0.5, seconds / half_life.total_seconds())


def _array(values: Sequence[float] | Vector) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _tuple(values: npt.ArrayLike) -> tuple[float, ...]:
    return tuple(float(value) for value in clamp(values))
