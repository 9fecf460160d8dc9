"""The shipped encoder for benchmarks: texts in, vectors out, progress to standard error."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import numpy as np

from bot.adapters.embedder import make_encoder
from bot.core.ports import Encoder
from bot.core.vectors import Vector

_BATCH = 256


def say(text: str) -> None:
    """Show progress."""
    print(text, file=sys.stderr, flush=True)


class Encoding:
    """Holds the encoder of `EMBEDDING_MODEL` (default: the bundled one) for the length of a benchmark."""

    def __init__(self, model: str = "bundled", threads: int = 1) -> None:
        self._loop = asyncio.new_event_loop()
        self._encoder = make_encoder(model, threads=threads)

    def __enter__(self) -> Encoding:
        say("loading the embedding model")
        self._loop.run_until_complete(self._encoder.load())
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._encoder.close())
        self._loop.close()

    @property
    def encoder(self) -> Encoder:
        """The adapter itself."""
        return self._encoder

    def passages(self, texts: Sequence[str], what: str = "texts") -> Vector:
        """Return float32 (n, dimensions) of texts as they are stored."""
        rows = []
        for at in range(0, len(texts), _BATCH):
            rows.append(self._loop.run_until_complete(self._encoder.embed_passages(texts[at : at + _BATCH])))
            say(f"{what}: {min(at + _BATCH, len(texts))} of {len(texts)}")
        return np.concatenate(rows) if rows else np.zeros((0, self._encoder.dimensions), dtype=np.float32)

    def queries(self, texts: Sequence[str]) -> Vector:
        """Return float32 (n, dimensions) of texts as they are searched with."""
        vectors: Vector = self._loop.run_until_complete(self._encoder.embed_query(texts))
        return vectors
