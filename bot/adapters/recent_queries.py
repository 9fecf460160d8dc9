"""Remembers the vectors of the last questions: a member who asks twice, or is answered twice, costs once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence

from bot.core.vectors import Vector

KEPT = 64


class RecentQueries:
    """By text; those that were not asked for longest give way."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[str, Vector] = OrderedDict()

    async def rows(
        self, texts: Sequence[str], encode: Callable[[list[str]], Awaitable[Iterable[Vector]]]
    ) -> list[Vector]:
        """One vector for each text; `encode` is asked for those that are not known, each once."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        fresh = dict(zip(missing, await encode(missing), strict=True)) if missing else {}
        rows = [fresh[text] if text in fresh else self._vectors[text] for text in texts]
        for text, vector in zip(texts, rows, strict=True):
            self._vectors[text] = vector
            self._vectors.move_to_end(text)
        while len(self._vectors) > KEPT:
            self._vectors.popitem(last=False)
        return rows

    def clear(self) -> None:
        """Forget all of them."""
        self._vectors.clear()
