"""Sentences of a realistic length over a large vocabulary, the same at every run."""

from __future__ import annotations

from itertools import accumulate
from random import Random
from typing import Final

from bot.adapters.sentence_model import bundled_folder

_WORDS: Final = 15_000
_NAMES: Final = frozenset({"mira"})
"""Whom a sentence must not address by chance."""
_SHORTEST, _LONGEST = 12, 48
_SHIFT: Final = 2.7
"""Zipf and Mandelbrot: the word of rank r is used in proportion to 1 / (r + 2.7)."""


class Sentences:
    """Whole words of the bundled model's vocabulary, which stand in about the order of their frequency.

    Real words matter: invented ones fall into many pieces and would make every embedding slower.
    """

    def __init__(self, seed: int = 1) -> None:
        lines = (bundled_folder() / "vocab.txt").read_text(encoding="utf-8").splitlines()
        words = (word for word in lines if word.isascii() and word.isalpha() and len(word) > 1)
        self._vocabulary = [word for word in words if word not in _NAMES][:_WORDS]
        weights = (1 / (rank + _SHIFT) for rank in range(1, len(self._vocabulary) + 1))
        self._weights = list(accumulate(weights))
        self._random = Random(seed)

    def next(self) -> str:
        """A sentence of 12 to 48 words, 30 on average."""
        count = self._random.randint(_SHORTEST, _LONGEST)
        words = self._random.choices(self._vocabulary, cum_weights=self._weights, k=count)
        return f"{' '.join(words).capitalize()}."
