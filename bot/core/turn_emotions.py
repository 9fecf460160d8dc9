"""Reads the emotion scores a model gave to numbered turns, and keeps only those that are a judgement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bot.core import loose_json
from bot.core.emotion import EMOTIONS, HIGHEST, LOWEST, Vector, is_degenerate, parse_scores
from bot.core.emotion_scores import name_of
from bot.core.turn_numbers import numbers

_WRAPPERS: Final = ("emotions", "texts", "turns", "scores", "results", "answer", "analysis")
_TURN_KEYS: Final = ("turn", "number", "n", "id", "text", "index", "turn_number")


def parse_emotions(text: str, *, ids: Sequence[int]) -> dict[int, Vector]:
    """Return the emotion vectors in an answer by turn id, for the turns (numbered from 1) it names well.

    Scores out of 1 to 10, all equal, or counting up or down are no judgement and left out.
    """
    for value in loose_json.read_all(text):
        found = read_emotions(value, ids=ids)
        if found:
            return found
    return {}


def read_emotions(value: Any, *, ids: Sequence[int]) -> dict[int, Vector]:
    """Return the emotion vectors in a value read from an answer: by number, as a list, or in objects."""
    value = _unwrapped(value)
    pairs: list[tuple[int, Any]] = []
    if isinstance(value, Mapping):
        if len(ids) == 1 and any(name_of(key) for key in value):
            pairs = [(1, value)]
        else:
            pairs = [
                (number, scores) for key, scores in value.items() for number in numbers(key, len(ids))[:1]
            ]
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        pairs = _listed(value, len(ids))
    else:
        return {}
    vectors = {ids[number - 1]: _judgement(scores) for number, scores in pairs}
    return {turn_id: vector for turn_id, vector in vectors.items() if vector is not None}


def _unwrapped(value: Any) -> Any:
    while isinstance(value, Mapping):
        inner = next((value[key] for key in _WRAPPERS if isinstance(value.get(key), (Mapping, list))), None)
        if inner is None or any(key in value for key in _TURN_KEYS):
            return [value] if any(key in value for key in _TURN_KEYS) else value
        value = inner
    return value


def _listed(values: Sequence[Any], most: int) -> list[tuple[int, Any]]:
    """Read [{turn, scores}, …], or one plain list of eight per turn."""
    pairs: list[tuple[int, Any]] = []
    for item in values:
        if isinstance(item, Mapping):
            key = next((key for key in _TURN_KEYS if key in item), None)
            for number in numbers(item[key], most)[:1] if key else ():
                pairs.append((number, {name: part for name, part in item.items() if name != key}))
    if not pairs and len(values) == most:
        pairs = list(enumerate(values, 1))
    if not pairs and most == 1 and len(values) == len(EMOTIONS):
        pairs = [(1, values)]
    return pairs


def _judgement(scores: Any) -> Vector | None:
    if isinstance(scores, Mapping):
        inner = next((part for part in scores.values() if isinstance(part, (list, tuple, Mapping))), None)
        scores = scores if inner is None or any(name_of(key) for key in scores) else inner
    if _beyond_scale(scores):
        return None
    vector = parse_scores(scores)
    return None if vector is None or is_degenerate(vector) else vector


def _beyond_scale(scores: Any) -> bool:
    values = scores.values() if isinstance(scores, Mapping) else scores
    if isinstance(values, str):
        return False
    plain = [v for v in values if isinstance(v, (int, float))] if hasattr(values, "__iter__") else []
    return any(not LOWEST <= value <= HIGHEST for value in plain)
