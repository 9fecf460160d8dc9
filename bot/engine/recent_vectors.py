"""The vectors of the newest turns, as the indexer made them: a search uses them without embedding anew."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection

from bot.core.types import Memory
from bot.core.vectors import Vector

KEPT = 512


class RecentVectors:
    """By turn id; the oldest give way. What is forgotten leaves with its key in the index."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[int, tuple[int, Vector]] = OrderedDict()

    def keep(self, memory: Memory, vector: Vector) -> None:
        """Take the vector of a turn's memory; other memories are of no use here."""
        if memory.turn_id is None:
            return
        self._vectors[memory.turn_id] = (memory.id, vector)
        self._vectors.move_to_end(memory.turn_id)
        while len(self._vectors) > KEPT:
            self._vectors.popitem(last=False)

    def get(self, turn_id: int) -> Vector | None:
        """The vector, while it is known."""
        found = self._vectors.get(turn_id)
        return found[1] if found else None

    def clear(self) -> None:
        """Forget all of them."""
        self._vectors.clear()

    def drop(self, memory_ids: Collection[int]) -> None:
        """These memories changed or are gone."""
        gone = set(memory_ids)
        for turn_id in [turn for turn, (memory, _) in self._vectors.items() if memory in gone]:
            del self._vectors[turn_id]
