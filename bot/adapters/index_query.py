"""What may enter a query of the search index: checked vectors, and filters made of integers."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from bot.core.ports import Scope
from bot.core.vectors import Vector


def checked(vector: Vector, size: int, what: str) -> Vector:
    """The vector as contiguous float32. Raises ValueError for a wrong shape and numbers not finite."""
    values = np.ascontiguousarray(vector, dtype=np.float32)
    if values.shape != (size,) or not np.isfinite(values).all():
        raise ValueError(f"{what} must be {size} finite numbers, not shape {values.shape}")
    return values


def integers(values: Collection[int]) -> str:
    """The one place where values enter a filter: as integers, or not at all (filters have no parameters)."""
    return ",".join(str(int(value)) for value in values)


def scope_filter(scope: Scope, memory_ids: Collection[int] | None = None) -> str:
    """What a persona may recall, as a filter; `memory_ids` narrows it."""
    parts = [
        f"story_id = {integers([scope.story_id])}",
        f"place_id = {integers([scope.place_id])}",
        f"audience_id IN ({integers(scope.audience_ids)})",
    ]
    if memory_ids is not None:
        parts.append(f"memory_id IN ({integers(memory_ids)})")
    return " AND ".join(parts)
