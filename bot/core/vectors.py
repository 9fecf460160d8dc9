"""The one name for arrays of float32 that travel between layers."""

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
"""One vector, shape (n,), or a batch, shape (rows, n), as the docstring beside it says."""
