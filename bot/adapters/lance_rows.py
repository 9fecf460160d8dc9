"""Rows of the search index as Arrow tables, and what a search brings back.

Imports pyarrow (slow): only `lance_table` imports this module, and that is imported in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bot.adapters.index_query import checked
from bot.core.emotion_names import EMOTIONS
from bot.core.ports import IndexHit, IndexKey
from bot.core.vectors import Vector

HIT_COLUMNS = ["memory_id", "emotion", "emotion_known", "_distance"]
"""Always with `_distance`: leaving it out makes the library complain at every search."""


def schema_of(dimensions: int) -> pa.Schema:
    """A key as a row; (memory_id, part) names it. Vectors of meaning have `dimensions` numbers."""
    numbers = ("memory_id", "place_id", "story_id", "scene_id", "audience_id")
    return pa.schema(
        [
            *(pa.field(name, pa.int64(), nullable=False) for name in numbers),
            pa.field("part", pa.int32(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dimensions), nullable=False),
            pa.field("emotion", pa.list_(pa.float32(), len(EMOTIONS)), nullable=False),
            pa.field("emotion_known", pa.bool_(), nullable=False),
        ]
    )


def to_arrow(keys: Sequence[IndexKey], schema: pa.Schema) -> pa.Table:
    """The keys as rows; of two with the same memory and part the later wins."""
    rows = list({(key.memory_id, key.part): key for key in keys}.values())
    dimensions = schema.field("vector").type.list_size
    columns: dict[str, Any] = {
        name: [getattr(key, name) for key in rows]
        for name in schema.names
        if name not in {"vector", "emotion"}
    }
    columns["vector"] = _lists([checked(key.vector, dimensions, "a vector") for key in rows])
    columns["emotion"] = _lists([checked(key.emotion, len(EMOTIONS), "an emotion") for key in rows])
    return pa.table([columns[name] for name in schema.names], schema=schema)


def with_emotions(rows: pa.Table, emotions: Mapping[int, Vector]) -> pa.Table:
    """The same rows with the emotions of their memories, now known."""
    ids = rows["memory_id"].to_pylist()
    column = _lists([checked(emotions[memory_id], len(EMOTIONS), "an emotion") for memory_id in ids])
    known = pa.array([True] * len(ids))
    columns = {"emotion": column, "emotion_known": known}
    return pa.table([columns.get(name, rows[name]) for name in rows.schema.names], schema=rows.schema)


def _lists(vectors: Sequence[Vector]) -> pa.Array:
    flat = np.concatenate(vectors)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), len(vectors[0]))


def to_hits(rows: pa.Table, *, meaning: bool) -> list[IndexHit]:
    """One hit per memory, nearest first: of several keys that lead to it the nearest counts.

    With `meaning` the distance is the root of the library's l2 (which is the square); without, the
    distance was one of emotions and `d_sem` is not a number.
    """
    order, distances = _sorted_distances(rows)
    ids = rows["memory_id"].to_numpy()
    known = rows["emotion_known"].to_numpy()
    emotions = _matrix(rows["emotion"], len(EMOTIONS))
    hits: dict[int, IndexHit] = {}
    for row in order:
        memory_id = int(ids[row])
        if memory_id not in hits:
            d_sem = float(np.sqrt(max(distances[row], 0.0))) if meaning else float("nan")
            hits[memory_id] = IndexHit(memory_id, d_sem, emotions[row], bool(known[row]))
    return list(hits.values())


def to_vectors(rows: pa.Table) -> dict[int, Vector]:
    """The vectors of each memory's keys, (keys, dimensions)."""
    ids = np.asarray(rows["memory_id"].to_numpy(), dtype=np.int64)
    vectors = _matrix(rows["vector"], rows.schema.field("vector").type.list_size)
    order = np.argsort(ids, kind="stable")
    found, starts = np.unique(ids[order], return_index=True)
    return dict(zip(found.tolist(), np.split(vectors[order], starts[1:]), strict=False))


def _sorted_distances(rows: pa.Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    distances = np.asarray(rows["_distance"].to_numpy(), dtype=np.float32)
    return np.lexsort((rows["memory_id"].to_numpy(), distances)), distances


def _matrix(column: pa.ChunkedArray, width: int) -> Vector:
    if not len(column):
        return np.zeros((0, width), dtype=np.float32)
    flat = np.concatenate([chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks])
    return np.asarray(flat, dtype=np.float32).reshape(len(column), -1)
