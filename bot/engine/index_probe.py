"""Notices when the name of the embedding model stands for another model than the one that made the index."""

from __future__ import annotations

import json
import logging
from typing import Final

import numpy as np

from bot.core.ports import Encoder
from bot.core.stores import SettingsStore
from bot.core.vectors import Vector

log = logging.getLogger(__name__)

SENTENCE: Final = "The innkeeper counts the silver spoons while rain beats on the roof."
SAME: Final = 0.9
"""The least cosine of the sentence then and now for the same model: other hardware and other roundings of
its weights stay above, two models are as good as unrelated."""
_CHANGED: Final = (
    "it was made with another embedding model of the same name, so meaning is found badly; "
    "run `python -m bot reindex`"
)


class IndexProbe:
    """Keeps the vector of one sentence for each encoder, as it was when its index was begun."""

    def __init__(self, *, store: SettingsStore, encoder: Encoder) -> None:
        self.problem = ""
        """What `/settings show` tells of the index; empty while the model is the same."""
        self._store = store
        self._encoder = encoder
        self._looked = False

    async def begin(self) -> None:
        """The index is built from nothing: what the encoder is from now on is right."""
        await self._store.set_value(self._key, "")
        self._looked, self.problem = False, ""

    async def look(self) -> None:
        """Compare the encoder with what it was, once in a run and not before it is ready. Vectors of another
        length are none of its business: the index refuses them, and is built again.

        SearchIndexError or SettingsError when it gives no vector; the next call looks again.
        """
        if self._looked or not self._encoder.ready:
            return
        now: Vector = (await self._encoder.embed_passages([SENTENCE]))[0]
        before = _read(await self._store.value(self._key))
        if before is None:
            await self._store.set_value(self._key, json.dumps([round(float(one), 5) for one in now]))
        elif before.shape == now.shape and float(before @ now) < SAME:
            self.problem = _CHANGED
            log.warning("The search index of %s: %s", self._encoder.id, _CHANGED)
        self._looked = True

    @property
    def _key(self) -> str:
        return f"index_probe:{self._encoder.id}"


def _read(stored: str | None) -> Vector | None:
    return np.asarray(json.loads(stored), dtype=np.float32) if stored else None
