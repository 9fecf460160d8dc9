"""An inverted index of words that can forget a row completely."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

_BITS: Final = 8
"""Of an entry's 32, for the count: BM25 hardly tells 255 times from more, and 16 million rows have room."""
_MOST: Final = (1 << _BITS) - 1


class Postings:
    """Which rows hold a word, and how often. Rows are numbered from 0 in the order of adding.

    A row and its count are one number. Half the words of a story stand in a single row: those have a plain
    number, the others an array, which for many stories of few turns is most of the memory.
    """

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._word: list[str] = []
        self._held: list[int | array[int]] = []
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
        known, held = self._number, self._held
        for word, count in Counter(words).items():
            entry = row << _BITS | (count if count < _MOST else _MOST)
            number = known.get(word)
            if number is None:
                number = self._new(word, entry)
            else:
                before = held[number]
                if isinstance(before, int):
                    held[number] = array("I", (before, entry))
                else:
                    before.append(entry)
            numbers.append(number)
        self._row_words[row] = numbers.tobytes()

    def clear(self, row: int) -> None:
        """Take every trace of the row's words away; a word that no row holds any more is forgotten."""
        numbers = array("I")
        numbers.frombytes(self._row_words[row])
        self._row_words[row] = b""
        for number in numbers:
            held = self._held[number]
            if isinstance(held, int) or len(held) == 1:
                del self._number[self._word[number]]
                self._word[number], self._held[number] = "", 0
                self._free.append(number)
            else:
                del held[_position(held, row)]

    def of(self, word: str) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float32]] | None:
        """Return copies of the rows that hold the word and its counts there, or None."""
        number = self._number.get(word)
        if number is None:
            return None
        held = self._held[number]
        entries = np.array((held,) if isinstance(held, int) else held, dtype=np.uint32)
        return (entries >> _BITS).astype(np.intp), (entries & _MOST).astype(np.float32)

    def _new(self, word: str, entry: int) -> int:
        word = sys.intern(word)  # other stories know most of the words too
        if self._free:
            number = self._free.pop()
            self._word[number], self._held[number] = word, entry
        else:
            number = len(self._word)
            self._word.append(word)
            self._held.append(entry)
        self._number[word] = number
        return number


def _position(held: array[int], row: int) -> int:
    return int(np.flatnonzero(np.array(held, dtype=np.uint32) >> _BITS == row)[0])
