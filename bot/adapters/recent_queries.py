"""Remembers the vectors of the last questions: a member who asks twice, or is answered twice, costs once."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence

from bot.core.vectors import Vector

KEPT = 64


class RecentQueries:
    """By a digest of the text, so that no words are kept; those not asked for longest give way."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()

    async def rows(
        self, texts: Sequence[str], encode: Callable[[list[str]], Awaitable[Iterable[Vector]]]
    ) -> list[Vector]:
        """One vector for each text; `encode` is asked for those that are not known, each once."""
        kept = self._vectors
        known = {text: vector for text in texts if (vector := kept.get(_digest(text))) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            known.update(zip(missing, await encode(missing), strict=True))
        for text in texts:  # where all were forgotten meanwhile, others are kept by now
            kept[_digest(text)] = known[text]
            kept.move_to_end(_digest(text))
        while len(kept) > KEPT:
            kept.popitem(last=False)
        return [known[text] for text in texts]

    def clear(self) -> None:
        """Forget all of them, also what is being asked."""
        self._vectors = OrderedDict()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
