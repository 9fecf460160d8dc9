"""Reads the numbers by which a model names turns and notes, however it writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_RANGE = re.compile(r"(\d{1,5})(?:\s*(?:-|–|—|to|\.\.+)\s*#?(\d{1,5}))?")
_WIDEST: Final = 200


def numbers(value: Any, most: int) -> tuple[int, ...]:
    """Return the whole numbers from 1 to `most` that the value names, in order, each once.

    Takes 3, 3.0, "3", "T3", "#3, 5", "3-6", and lists of these.
    """
    return tuple(dict.fromkeys(number for number in _read(value) if 1 <= number <= most))


def chosen(value: Any, ids: Sequence[int]) -> tuple[int, ...]:
    """Return the ids at the positions (from 1) that the value names."""
    return tuple(ids[number - 1] for number in numbers(value, len(ids)))


def _read(value: Any) -> Iterator[int]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, (int, float)):
        if abs(value) < 100_000 and value == int(value):
            yield int(value)
    elif isinstance(value, str):
        for first, last in _RANGE.findall(value[:500]):
            start, end = int(first), int(last or first)
            yield from range(start, min(end, start + _WIDEST) + 1)
    elif isinstance(value, Mapping):
        for key in ("line", "number", "turn", "id", "note"):
            if key in value:
                yield from _read(value[key])
    elif isinstance(value, Sequence):
        for item in value:
            yield from _read(item)
