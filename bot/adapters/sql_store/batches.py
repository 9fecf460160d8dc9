"""Ids in portions that fit into one statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_MOST = 500


def portions(ids: Iterable[int]) -> Iterator[list[int]]:
    """Each id once, ascending, in lists short enough for an IN of any database."""
    ordered = sorted(set(ids))
    for start in range(0, len(ordered), _MOST):
        yield ordered[start : start + _MOST]
