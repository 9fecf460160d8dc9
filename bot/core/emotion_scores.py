"""Reads eight emotion scores out of whatever a model answered."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bot.core import loose_json
from bot.core.emotion_names import EMOTIONS, HIGHEST, LOWEST, NAMES

_NAME_KEYS: Final = ("dim", "dimension", "emotion", "name", "label", "key")
_SCORE_KEYS: Final = ("score", "value", "intensity", "level", "rating", "strength")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?")
_PAIR = re.compile(r"([^\W\d_]+)[\"'*_`)\s]*[:=\-–—][\"'*_`(\s]*(\d+(?:\.\d+)?)")
_DEEPEST: Final = 6


def read_scores(reply: Any) -> list[float] | None:
    """Return eight numbers within 1 to 10 in the order of `EMOTIONS`, or None when none can be read."""
    if isinstance(reply, bytes):
        reply = reply.decode("utf-8", "replace")
    if not isinstance(reply, str):
        return _from_object(reply, 0)
    for value in loose_json.read_all(reply):
        scores = _from_object(value, 0)
        if scores is not None:
            return scores
    return _from_pairs(_PAIR.findall(reply[: loose_json.LONGEST]))


def name_of(word: Any) -> str | None:
    """Return the emotion that a word names in any case and in many languages, or None."""
    if not isinstance(word, str):
        return None
    plain = unicodedata.normalize("NFKC", word).casefold().strip(" \t\n\"'`*_.:()[]")
    return NAMES.get(plain) or NAMES.get(_without_accents(plain))


def number_of(value: Any) -> float | None:
    """Return a score as a float within 1 to 10: numbers, numeric strings, "8/10"; None for the rest."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        found = _NUMBER.search(unicodedata.normalize("NFKC", value[:40]))
        value = float(found.group().replace(",", ".")) if found else None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(number, LOWEST), HIGHEST) if math.isfinite(number) else None


def _without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _from_object(value: Any, depth: int) -> list[float] | None:
    if depth > _DEEPEST or isinstance(value, (str, bytes)):
        return None
    if isinstance(value, Mapping):
        return _from_mapping(value, depth)
    if isinstance(value, Iterable):
        return _from_list(list(value), depth)
    return None


def _from_mapping(value: Mapping[Any, Any], depth: int) -> list[float] | None:
    named = _from_pairs(value.items()) or _from_pairs([_entry(value)])
    if named is not None:
        return named
    for inner in value.values():
        found = _from_object(inner, depth + 1)
        if found is not None:
            return found
    return None


def _from_list(values: Sequence[Any], depth: int) -> list[float] | None:
    numbers = [number for number in map(_plain_number, values) if number is not None]
    if len(values) == len(EMOTIONS) == len(numbers):
        return numbers
    pairs = [pair for item in values if isinstance(item, Mapping) for pair in (_entry(item), *item.items())]
    pairs += [(item[0], item[1]) for item in values if isinstance(item, (list, tuple)) and len(item) == 2]
    named = _from_pairs(pairs)
    if named is not None:
        return named
    for item in values:
        found = _from_object(item, depth + 1)
        if found is not None:
            return found
    return None


def _plain_number(value: Any) -> float | None:
    """A list position has no name, so only what is a number through and through counts."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        return None
    return number_of(value)


def _entry(item: Mapping[Any, Any]) -> tuple[Any, Any]:
    """Return the name and score of one {dim, score} object; (None, None) when it is none."""
    keys = {str(key).casefold(): key for key in item}
    name = next((item[keys[key]] for key in _NAME_KEYS if key in keys), None)
    score = next((item[keys[key]] for key in _SCORE_KEYS if key in keys), None)
    return name, score


def _from_pairs(pairs: Iterable[tuple[Any, Any]]) -> list[float] | None:
    found: dict[str, float] = {}
    for word, value in pairs:
        name = name_of(word)
        if name is None:
            continue
        if isinstance(value, Mapping):
            value = _entry(value)[1]
        score = number_of(value)
        if score is not None:
            found.setdefault(name, score)
    if not found:
        return None
    return [found.get(name, LOWEST) for name in EMOTIONS]
