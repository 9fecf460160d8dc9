"""The rows of a story's word index: whose they are, who may see them, and what stands beside them."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

NONE: Final = -1

Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


class _Codes:
    """A column of few different ids, kept as small numbers so that a filter is one look-up a row."""

    def __init__(self) -> None:
        self._code_of: dict[int, int] = {}
        self._codes = array("i")

    def append(self, value: int) -> None:
        self._codes.append(self._code_of.setdefault(value, len(self._code_of)))

    def among(self, values: Collection[int]) -> Mask:
        table = np.zeros(len(self._code_of) + 1, dtype=bool)
        table[[self._code_of[value] for value in values if value in self._code_of]] = True
        return table.take(np.array(self._codes))


class StoryRows:
    """Columns beside the postings. Neighbours of a scene are linked, so that a row can leave the middle."""

    def __init__(self) -> None:
        self._row_of: dict[int, int] = {}
        self._waiting: dict[int, int] = {}
        self._ids = array("q")
        self._lengths = array("f")
        self._live = array("b")
        self._places = _Codes()
        self._audiences = _Codes()
        self._before = array("q")
        self._after = array("q")

    def __len__(self) -> int:
        return len(self._row_of)

    def row_of(self, memory_id: int) -> int | None:
        """Return the row of a living memory."""
        return self._row_of.get(memory_id)

    def rows_of(self, memory_ids: Iterable[int]) -> Rows:
        """Return the rows of those memories that live here."""
        found = [row for row in map(self._row_of.get, memory_ids) if row is not None]
        return np.array(found, dtype=np.intp)

    def append(self, memory_id: int, length: int, place_id: int, audience_id: int) -> int:
        """Add a living row without neighbours and return its number."""
        row = len(self._ids)
        self._ids.append(memory_id)
        self._lengths.append(length)
        self._live.append(1)
        self._places.append(place_id)
        self._audiences.append(audience_id)
        self._before.append(NONE)
        self._after.append(NONE)
        self._row_of[memory_id] = row
        follower = self._waiting.pop(memory_id, None)
        if follower is not None and self._live[follower]:
            self._link(row, follower)
        return row

    def follow(self, row: int, previous_id: int) -> None:
        """Put the row behind the memory `previous_id`, now or as soon as that one is added."""
        previous = self._row_of.get(previous_id)
        if previous is None:
            self._waiting[previous_id] = row
        elif previous != row:
            self._link(previous, row)

    def resize(self, row: int, length: int) -> None:
        """Store the number of tokens of a replaced text."""
        self._lengths[row] = length

    def drop(self, memory_id: int) -> int | None:
        """Take a memory out; its neighbours become neighbours of each other. Returns its row."""
        row = self._row_of.pop(memory_id, None)
        if row is None:
            return None
        before, after = self._before[row], self._after[row]
        if before != NONE:
            self._after[before] = after
        if after != NONE:
            self._before[after] = before
        self._before[row] = self._after[row] = NONE
        self._live[row] = 0
        self._lengths[row] = 0
        self._ids[row] = NONE
        return row

    def visible(self, audiences: Collection[int] | None, places: Collection[int] | None) -> Mask:
        """Return a mask of the living rows that a search may see; None leaves a column open."""
        mask = np.array(self._live, dtype=bool)
        for column, allowed in ((self._audiences, audiences), (self._places, places)):
            if allowed is not None:
                mask &= column.among(allowed)
        return mask

    def ids(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Return the memory ids of rows."""
        return np.array(self._ids, dtype=np.int64)[rows]

    def lengths(self) -> npt.NDArray[np.float32]:
        """Return a copy of every row's number of tokens."""
        return np.array(self._lengths, dtype=np.float32)

    def before(self) -> Rows:
        """Return for every row the row before it in its scene, or −1."""
        return np.array(self._before, dtype=np.intp)

    def after(self) -> Rows:
        """Return for every row the row after it in its scene, or −1."""
        return np.array(self._after, dtype=np.intp)

    def _link(self, first: int, second: int) -> None:
        """Make `second` follow `first`; what followed before comes after `second`'s own followers."""
        if self._before[second] != NONE:
            return
        displaced = self._after[first]
        self._after[first], self._before[second] = second, first
        last = second
        while self._after[last] not in (NONE, first):
            last = self._after[last]
        if displaced not in (NONE, second) and self._after[last] == NONE:
            self._after[last], self._before[displaced] = displaced, last
