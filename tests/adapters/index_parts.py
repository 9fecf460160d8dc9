"""Keys and scopes for tests of the search index."""

from __future__ import annotations

import numpy as np

from bot.core.ports import IndexKey, Scope
from bot.core.vectors import Vector

SPACE = 900_000_000_000_000_001
PLACE = 900_000_000_000_000_002
SIZE = 16


def unit(seed: int, size: int = SIZE) -> Vector:
    values = np.random.default_rng(seed).standard_normal(size)
    return (values / np.linalg.norm(values)).astype(np.float32)


def feeling(*values: float) -> Vector:
    full = np.ones(8, dtype=np.float32)
    full[: len(values)] = values
    return full


def key(
    memory_id: int,
    *,
    part: int = 0,
    vector: Vector | None = None,
    emotion: Vector | None = None,
    known: bool = True,
    place: int = PLACE,
    story: int = 1,
    audience: int = 1,
    kind: str = "turn",
) -> IndexKey:
    return IndexKey(
        memory_id=memory_id,
        part=part,
        kind=kind,
        place_id=place,
        story_id=story,
        scene_id=story,
        audience_id=audience,
        vector=unit(memory_id * 100 + part) if vector is None else vector,
        emotion=feeling(memory_id % 9 + 1) if emotion is None else emotion,
        emotion_known=known,
    )


def scope(*audiences: int, space: int = SPACE, place: int = PLACE, story: int = 1) -> Scope:
    return Scope(space_id=space, place_id=place, story_id=story, audience_ids=audiences or (1,))
