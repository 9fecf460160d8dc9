"""The one name for arrays of float32 that travel between layers."""

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
"""One vector, shape (n,), or a batch, shape (rows, n), as the docstring beside it says."""


def nearest_distance(query: Vector, keys: Vector) -> float:
    """Return the Euclidean distance (0..2 for unit vectors) of the nearest of `keys`, shape (rows, n)."""
    return float(np.linalg.norm(keys - query, axis=1).min())
