"""An encoder without a model: texts that share words are near each other."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from bot.core.vectors import Vector

_WORD = re.compile(r"\w+")


class HashEncoder:
    """An `Encoder`, the same on every machine. `ready` may be set; `queries` and `passages` keep texts,
    `forgotten` counts."""

    def __init__(self, dimensions: int = 384, encoder_id: str = "") -> None:
        self.ready = True
        self.queries: list[str] = []
        self.passages: list[str] = []
        self.forgotten = 0
        self._dimensions = dimensions
        self._id = encoder_id or f"hash:{dimensions}"

    @property
    def id(self) -> str:
        return self._id

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def embed_query(self, texts: Sequence[str]) -> Vector:
        self.queries.extend(texts)
        return self.vectors(texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        self.passages.extend(texts)
        return self.vectors(texts)

    def forget(self) -> None:
        self.forgotten += 1

    def vectors(self, texts: Sequence[str]) -> Vector:
        """float32 (len(texts), dimensions), unit length."""
        rows = [self._vector(text) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self._dimensions), dtype=np.float32)

    def _vector(self, text: str) -> Vector:
        words = _WORD.findall(text.casefold()) or [""]
        total = np.sum([self._direction(word) for word in words], axis=0)
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    def _direction(self, word: str) -> Vector:
        seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
        return np.random.default_rng(seed).standard_normal(self._dimensions).astype(np.float32)
