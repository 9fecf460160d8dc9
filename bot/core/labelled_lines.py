"""Reads lines labelled with feelings: files in XED's and in GoEmotions' form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from bot.core.emotion_names import EMOTIONS

XED_LABELS: Final[dict[int, tuple[str, ...]]] = {
    0: (),
    1: ("anger",),
    2: ("anticipation",),
    3: ("disgust",),
    4: ("fear",),
    5: ("joy",),
    6: ("sadness",),
    7: ("surprise",),
    8: ("acceptance",),
}
"""Plutchik's eight as XED numbers them (Öhman et al., COLING 2020); its trust is our acceptance."""

GOEMOTIONS_LABELS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("admiration", ("acceptance",)),
    ("amusement", ("joy",)),
    ("anger", ("anger",)),
    ("annoyance", ("anger",)),
    ("approval", ("acceptance",)),
    ("caring", ("acceptance",)),
    ("confusion", ("surprise",)),
    ("curiosity", ("anticipation",)),
    ("desire", ("anticipation",)),
    ("disappointment", ("sadness",)),
    ("disapproval", ("disgust",)),
    ("disgust", ("disgust",)),
    ("embarrassment", ("sadness",)),
    ("excitement", ("joy", "anticipation")),
    ("fear", ("fear",)),
    ("gratitude", ("acceptance", "joy")),
    ("grief", ("sadness",)),
    ("joy", ("joy",)),
    ("love", ("joy", "acceptance")),
    ("nervousness", ("fear",)),
    ("optimism", ("anticipation",)),
    ("pride", ("joy",)),
    ("realization", ("surprise",)),
    ("relief", ("joy",)),
    ("remorse", ("sadness",)),
    ("sadness", ("sadness",)),
    ("surprise", ("surprise",)),
    ("neutral", ()),
)
"""The 27 emotions of GoEmotions (Demszky et al., ACL 2020) in order, and which of the eight each is."""


@dataclass(frozen=True, slots=True)
class LabelledLine:
    """One sentence and which of the eight feelings it shows; none for a neutral one."""

    text: str
    feelings: frozenset[str]
    form: str
    """`xed` or `goemotions`."""

    @property
    def part(self) -> int:
        """One of ten parts, chosen by the text alone, so that a sentence never stands on both sides."""
        plain = " ".join(self.text.lower().split())
        return int.from_bytes(hashlib.sha256(plain.encode()).digest()[:8], "big") % 10


def read_lines(lines: Iterable[str]) -> Iterator[LabelledLine]:
    """Yield the labelled sentences; lines that are not `text TAB numbers [TAB id]` are passed over."""
    for line in lines:
        columns = line.rstrip("\r\n").split("\t")
        if len(columns) < 2 or not columns[0].strip():
            continue
        form = "goemotions" if len(columns) > 2 else "xed"
        feelings = _feelings(columns[1], form)
        if feelings is not None:
            yield LabelledLine(columns[0].strip(), feelings, form)


def targets(lines: Iterable[LabelledLine]) -> npt.NDArray[np.float32]:
    """Return one row of eight zeros and ones for each line."""
    rows = [[float(name in line.feelings) for name in EMOTIONS] for line in lines]
    return np.array(rows, dtype=np.float32).reshape(len(rows), len(EMOTIONS))


def _feelings(labels: str, form: str) -> frozenset[str] | None:
    try:
        numbers = [int(label) for label in labels.split(",")]
        if form == "xed":
            found = [XED_LABELS[number] for number in numbers]
        else:
            found = [GOEMOTIONS_LABELS[number][1] for number in numbers if number >= 0]
    except (ValueError, KeyError, IndexError):
        return None
    return frozenset(name for names in found for name in names)
