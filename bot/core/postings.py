"""An inverted index of words that can forget a row completely."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

_MOST: Final = 65_535


class Postings:
    """Which rows hold a word, and how often. Rows are numbered from 0 in the order of adding."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._word: list[str] = []
        self._rows: list[array[int]] = []
        self._counts: list[array[int]] = []
        self._free: list[int] = []
        self._row_words: list[bytes] = []

    def __contains__(self, word: str) -> bool:
        return word in self._number

    def __len__(self) -> int:
        return len(self._number)

    def append(self, words: Sequence[str]) -> int:
        """Add a row with these words and return its number."""
        self._row_words.append(b"")
        row = len(self._row_words) - 1
        self.fill(row, words)
        return row

    def fill(self, row: int, words: Sequence[str]) -> None:
        """Give an empty row its words."""
        numbers = array("I")
        known, rows, counts = self._number, self._rows, self._counts
        for word, count in Counter(words).items():
            number = known.get(word)
            if number is None:
                number = self._new(word)
            rows[number].append(row)
            counts[number].append(count if count < _MOST else _MOST)
            numbers.append(number)
        self._row_words[row] = numbers.tobytes()

    def clear(self, row: int) -> None:
        """Take every trace of the row's words away; a word that no row holds any more is forgotten."""
        numbers = array("I")
        numbers.frombytes(self._row_words[row])
        self._row_words[row] = b""
        for number in numbers:
            rows = self._rows[number]
            position = rows.index(row)
            del rows[position], self._counts[number][position]
            if not rows:
                del self._number[self._word[number]]
                self._word[number] = ""
                self._free.append(number)

    def of(self, word: str) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float32]] | None:
        """Return copies of the rows that hold the word and its counts there, or None."""
        number = self._number.get(word)
        if number is None:
            return None
        rows = np.array(self._rows[number], dtype=np.intp)
        return rows, np.array(self._counts[number], dtype=np.float32)

    def _new(self, word: str) -> int:
        if self._free:
            number = self._free.pop()
            self._word[number] = word
        else:
            number = len(self._word)
            self._word.append(word)
            self._rows.append(array("i"))
            self._counts.append(array("H"))
        self._number[word] = number
        return number
