"""The eight-number emotion vector: its scale, its checks and its distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from bot.core.emotion_names import EMOTIONS, HIGHEST, LOWEST
from bot.core.emotion_scores import read_scores
from bot.core.vectors import Vector

__all__ = [
    "EMOTIONS",
    "FLAT",
    "FLAT_MARGIN",
    "HIGHEST",
    "LOWEST",
    "OPPOSITES",
    "Vector",
    "as_list",
    "clamp",
    "distance",
    "distances",
    "is_degenerate",
    "is_flat",
    "parse_scores",
    "spread",
    "stack",
    "strongest",
]

OPPOSITES: Final = (4, 5, 6, 7, 0, 1, 2, 3)
"""For each emotion the index of the one across Plutchik's wheel."""
FLAT_MARGIN: Final = 1.0


def _constant(value: float) -> Vector:
    vector = np.full(len(EMOTIONS), value, dtype=np.float32)
    vector.setflags(write=False)
    return vector


FLAT: Final = _constant(LOWEST)
"""No feeling at all: every intensity at its lowest. Read only."""


def clamp(vector: npt.ArrayLike) -> Vector:
    """Return the eight numbers as a new float32 array within 1 to 10; what is not finite becomes 1.

    Raises ValueError when there are not exactly eight numbers.
    """
    values = np.asarray(vector, dtype=np.float64)
    if values.shape != (len(EMOTIONS),):
        raise ValueError(f"an emotion vector has {len(EMOTIONS)} numbers, not shape {values.shape}")
    values = np.where(np.isfinite(values), values, LOWEST)
    return np.clip(values, LOWEST, HIGHEST).astype(np.float32)


def is_degenerate(vector: npt.ArrayLike) -> bool:
    """Tell whether the numbers cannot be a judgement.

    True when they are not eight finite numbers from 1 to 10, all equal, or strictly rising or falling
    in the order of the names (a small model counting 1, 2, 3 … 8 instead of judging).
    """
    values = np.asarray(vector, dtype=np.float64)
    if values.shape != (len(EMOTIONS),) or not np.isfinite(values).all():
        return True
    if values.min() < LOWEST or values.max() > HIGHEST:
        return True
    steps = np.diff(values)
    return bool((steps == 0).all() or (steps > 0).all() or (steps < 0).all())


def spread(vector: npt.ArrayLike) -> float:
    """Return the difference between the strongest and the weakest of the eight."""
    values = np.asarray(vector, dtype=np.float64)
    return float(values.max() - values.min())


def is_flat(vector: npt.ArrayLike, margin: float = FLAT_MARGIN) -> bool:
    """Tell whether no emotion stands out from the others by more than `margin`.

    All fives are as flat as all ones: the cosine cannot tell them apart, and would call such a vector
    the nearest neighbour of every other flat one.
    """
    return spread(vector) <= margin


def distance(query: npt.ArrayLike, memory: npt.ArrayLike) -> float:
    """Return d_emo = 1 − cosine of the raw vectors (Emotional RAG, arXiv 2410.23041); 0 is nearest."""
    return float(distances(query, np.asarray(memory, dtype=np.float64)[None, :])[0])


def distances(query: npt.ArrayLike, memories: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return d_emo of the query (8,) to each row of `memories` (n, 8), in float64.

    A row (or query) of zeros, which the 1–10 scale rules out, counts as unrelated: distance 1.
    """
    one = np.asarray(query, dtype=np.float64)
    many = np.asarray(memories, dtype=np.float64)
    norms = np.linalg.norm(many, axis=1) * np.linalg.norm(one)
    products = many @ one
    cosines = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    return np.asarray(1.0 - cosines, dtype=np.float64)


def strongest(vector: npt.ArrayLike, n: int = 3, *, above: float = LOWEST) -> list[tuple[str, float]]:
    """Return up to `n` pairs of name and intensity, strongest first, of those over `above`."""
    values = np.asarray(vector, dtype=np.float64)
    order = np.argsort(-values, kind="stable")[:n]
    return [(EMOTIONS[index], float(values[index])) for index in order if values[index] > above]


def parse_scores(reply: Any) -> Vector | None:
    """Read a model's eight numbers from its reply, whatever the form; None when there are none.

    `reply` is text or an already parsed object: a mapping of names (any case, many languages) to
    numbers, a list of eight numbers, a list of {dim, score} objects (the form of the Emotional RAG
    reference), any of these inside another mapping, a code fence or prose. Names that are missing
    count as 1; numbers beyond the scale are clamped.
    """
    scores = read_scores(reply)
    return None if scores is None else clamp(scores)


def as_list(vector: npt.ArrayLike) -> list[float]:
    """Return the eight numbers as plain floats, rounded to three places, for JSON."""
    return [round(float(value), 3) for value in np.asarray(vector, dtype=np.float64)]


def stack(vectors: Sequence[Vector | None]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the vectors as rows (n, 8), unknown ones as flat, and a mask of the known."""
    known = np.array([vector is not None for vector in vectors], dtype=bool)
    rows = [FLAT if vector is None else vector for vector in vectors]
    return np.asarray(rows, dtype=np.float64).reshape(len(rows), len(EMOTIONS)), known
