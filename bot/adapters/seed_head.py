"""Fits an emotion head to an encoder that none was trained for, from sentences that ship with the bot."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from pathlib import Path
from typing import Final

from bot.adapters.emotion_head import WEIGHTS, EmotionHead, head_path
from bot.core.emotion_seeds import fit_seeds, read_seeds
from bot.core.labelled_lines import LabelledLine
from bot.core.ports import Encoder
from bot.core.vectors import Vector
from bot.errors import HeadFileError, SearchIndexError, SettingsError

log = logging.getLogger(__name__)

SEEDS: Final = WEIGHTS / "seeds"
PATIENCE_SECONDS: Final = 60.0
"""A model that cannot be had is asked again after so long."""


class SeededScorer:
    """`bot.core.ports.EmotionScorer`: the head trained for the encoder, else one that `prepare` fits.

    Until there is one it is not `ready`, and the bot goes on without feelings.
    """

    def __init__(self, *, encoder: Encoder, folder: Path) -> None:
        """`folder` is the bot's own (DATA_DIR). HeadFileError when a trained head cannot be read."""
        self._encoder = encoder
        self._folder = folder
        self._head = EmotionHead.load(encoder.id, folder) or _stored(folder, encoder.id)

    @property
    def ready(self) -> bool:
        """Whether there is a head for vectors of the encoder's length."""
        return self._head is not None and self._encoder.dimensions in {0, self._head.dimensions}

    @property
    def source(self) -> str:
        """What is stored beside each emotion vector; only asked when `ready`."""
        return self._known().source

    def scores(self, vectors: Vector) -> Vector:
        """Float32 (rows, 8), 1 to 10; only asked when `ready`."""
        return self._known().scores(vectors)

    async def fit(self) -> None:
        """Fit a head if there is none, and store it for the next start.

        SearchIndexError or SettingsError when the embedding model cannot be had.
        """
        if not self.ready:
            self._head = await asyncio.to_thread(_stored, self._folder, self._encoder.id)
        if not self.ready:
            self._head = await fitted(self._encoder, self._folder)

    async def refit(self) -> None:
        """Fit the head anew, since another model has taken the encoder's name; one that somebody trained for
        the name stays. Raises as `fit`."""
        if await asyncio.to_thread(EmotionHead.load, self._encoder.id, self._folder) is None:
            self._head = await fitted(self._encoder, self._folder)

    async def prepare(self) -> None:
        """`fit`, tried again for as long as the embedding model cannot be had; cancel it to end that."""
        while not self.ready:
            try:
                await self.fit()
            except (SearchIndexError, SettingsError) as problem:
                log.warning("Feelings cannot be read yet: %s", problem)
                await asyncio.sleep(PATIENCE_SECONDS)

    def _known(self) -> EmotionHead:
        if self._head is None:
            raise HeadFileError("there is no emotion head yet")
        return self._head


async def fitted(encoder: Encoder, folder: Path) -> EmotionHead:
    """A head for this encoder, made of the seed sentences and stored under `folder`; nothing on the event
    loop takes long. SearchIndexError or SettingsError when the encoder fails."""
    languages, lines = await asyncio.to_thread(seeds, SEEDS)
    vectors = await encoder.embed_passages([line.text for line in lines])
    fit = await asyncio.to_thread(fit_seeds, vectors, lines, languages)
    path = seed_head_path(folder, encoder.id)
    head = EmotionHead(path.stem, fit.weights.rounded(), fit.thresholds)
    await asyncio.to_thread(_store, head, path)
    log.info("Feelings are read by a head fitted to %s (%s)", encoder.id, ", ".join(fit.languages))
    return head


def who_reads(encoder_id: str, folder: Path) -> str:
    """Which head reads feelings from this encoder's vectors, in words for the bot's owner."""
    if EmotionHead.load(encoder_id, folder) is not None:
        return "feelings are read by a head trained for it"
    if _stored(folder, encoder_id) is not None:
        return "feelings are read by a head fitted here from seed sentences"
    return "a head for feelings is fitted at the first start"


def seeds(folder: Path = SEEDS) -> tuple[list[str], list[LabelledLine]]:
    """The language and the sentence of each seed; the files are named after their languages."""
    languages: list[str] = []
    lines: list[LabelledLine] = []
    for file in sorted(folder.glob("*.txt")):
        found = list(read_seeds(file.read_text(encoding="utf-8").splitlines()))
        languages += [file.stem] * len(found)
        lines += found
    return languages, lines


def seed_head_path(folder: Path, encoder_id: str) -> Path:
    """Where a head fitted from these very seeds lies: other seeds make another file."""
    digest = hashlib.sha256()
    for file in sorted(SEEDS.glob("*.txt")):
        digest.update(file.name.encode() + file.read_bytes())
    plain = head_path(folder, encoder_id)
    return plain.with_name(f"{plain.stem}-seeds-{digest.hexdigest()[:8]}.npz")


def _stored(folder: Path, encoder_id: str) -> EmotionHead | None:
    try:
        return EmotionHead.read(seed_head_path(folder, encoder_id))
    except HeadFileError:
        return None  # not fitted yet, or cut off: it is fitted again


def _store(head: EmotionHead, path: Path) -> None:
    """Heads of former seeds go."""
    head.write(path)
    former = path.stem.rpartition("-")[0]
    for other in path.parent.glob(f"{former}-????????.npz"):
        if other != path:
            other.unlink(missing_ok=True)
