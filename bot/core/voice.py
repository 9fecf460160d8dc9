"""How a text is written, in numbers that need no language, and whether replies clearly left their samples."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bot.core.names import fold
from bot.core.scripts import DENSE

REPLIES: Final = 3
"""So many replies in a row must have left the samples on the same side."""
FEWEST_SAMPLES: Final = 2
_FEWEST_LETTERS: Final = 160
"""Of all samples, and of the replies, before words are compared; letters of dense scripts count thrice."""
_LENGTH_FACTOR: Final = 2.2
_MARKS_FACTOR: Final = 2.0
_MARKS_MARGIN: Final = 0.75
_MUCH_ACTION: Final = 0.12
KINSHIP: Final = 0.2
"""Cosine of letter groups below which two texts share hardly any words; see `benchmarks/voice.py`."""
_SENTENCE = re.compile(r"[.!?…。！？．।؟]+[\"'”’»」』*_)~]*|\n+")
_ACTION = re.compile(
    r"(?<![*\w])\*(?!\s)[^*\n]+?(?<!\s)\*(?![*\w])|(?<![_\w])_(?!\s)[^_\n]+?(?<!\s)_(?![_\w])"
)
_ELLIPSIS = re.compile(r"…+|\.{3,}|。{2,}|⋯+")
_FIRST_WORDS: Final = """
    i me my mine myself je j moi mon ma mes ich mich mir mein meine yo mi conmigo eu meu minha io mio mia ik
    mij mijn jag mig jeg aku saya gue mnie mój moja я мне меня мой моя benim minä minun én nekem εγώ μου
    אני שלי أنا
"""
"""Words with which a teller speaks of itself."""
_FIRST: Final = frozenset(_FIRST_WORDS.split())
_FIRST_UNSPACED: Final = (
    "私",
    "わたし",
    "あたし",
    "俺",
    "僕",
    "我",
    "나는",
    "내가",
    "저는",
    "제가",
    "ผม",
    "ฉัน",
)
"""The same in scripts without spaces, wherever they stand."""
_WORD = re.compile(r"[^\W\d_]+")
_NO_LETTERS = re.compile(r"[\W\d_]+")
_EMOJI = re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
_COMPARED: Final = 2000
"""Characters of each side that `kinship` compares, the newest."""
_WEIGHT: Final = 3


class Drift(StrEnum):
    """In what way replies left the samples. The value is how it is said, after "lately"."""

    LONGER = "its sentences are much longer"
    SHORTER = "its sentences are much shorter"
    LOUDER = "it uses many more exclamation marks"
    TRAILING = "it trails off … much more often"
    EMOJI = "it uses emoji as it never did"
    MORE_ACTION = "it describes far more of what it does between asterisks"
    NO_ACTION = "it no longer describes what it does between asterisks"
    BY_NAME = "it tells of itself by name, not as “I”"
    AS_I = "it tells of itself as “I”, not by name"
    OTHER_WORDS = "it uses other words, or another language"


@dataclass(frozen=True, slots=True)
class Traits:
    """What was counted in one text."""

    sentence: float
    """Letters of a sentence, on average; those of dense scripts count thrice."""
    exclaimed: float
    """Exclamation marks for each sentence."""
    trailing: float
    emoji: float
    action: float
    """Share of the letters between asterisks."""
    named: int
    """How often it names itself."""
    first: int
    """How often it says "I"."""


def measure(text: str, names: Collection[str] = ()) -> Traits:
    """Count what is counted in one text. `names` are those that the speaker goes by."""
    letters = _letters(text)
    sentences = sum(1 for part in _SENTENCE.split(text) if _WORD.search(part)) or 1
    actions = sum(_letters(found[0]) for found in _ACTION.finditer(text))
    return Traits(
        sentence=letters / sentences,
        exclaimed=sum(text.count(mark) for mark in "!！") / sentences,
        trailing=len(_ELLIPSIS.findall(text)) / sentences,
        emoji=len(_EMOJI.findall(text)) / sentences,
        action=actions / letters if letters else 0.0,
        named=_named(text, names),
        first=_first(text),
    )


def drift(
    replies: Sequence[str], samples: Sequence[str], *, names: Collection[str] = (), others: Sequence[str] = ()
) -> tuple[Drift, ...]:
    """Tell in what ways the newest three of `replies` (oldest first) all left the samples.

    Only what is clear counts: each of the three lies beyond all samples by a wide margin, on the same side.
    `others` are the members' last words: who follows them into another language has not drifted. Nothing
    is told of fewer than three replies or two samples.
    """
    last = [reply for reply in replies if _letters(reply)][-REPLIES:]
    known = [sample for sample in samples if _letters(sample)]
    if len(last) < REPLIES or len(known) < FEWEST_SAMPLES:
        return ()
    before, after = [measure(one, names) for one in known], [measure(one, names) for one in last]
    found = [*_marks(before, after), *_actions(before, after)]
    likeness = kinship(last, known)
    if likeness is None or likeness >= KINSHIP:
        found += [*_lengths(before, after), *_person(before, after)]
    elif (theirs := kinship(others, known)) is not None and theirs >= KINSHIP:
        found.append(Drift.OTHER_WORDS)
    return tuple(found)


def kinship(texts: Sequence[str], others: Sequence[str]) -> float | None:
    """Return the cosine (0 to 1) of the letter groups of both, which is low when they share no words; None
    when there is too little of either."""
    if min(_weight(texts), _weight(others)) < _FEWEST_LETTERS:
        return None
    one, two = _groups(texts), _groups(others)
    product = sum(number * two[group] for group, number in one.items())
    norms = math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in two.values()))
    return product / norms if norms else None


# ---------------------------------------------------------------- what left on which side
def _lengths(before: Sequence[Traits], after: Sequence[Traits]) -> list[Drift]:
    lengths = [one.sentence for one in before]
    if all(one.sentence > max(lengths) * _LENGTH_FACTOR for one in after):
        return [Drift.LONGER]
    if all(one.sentence * _LENGTH_FACTOR < min(lengths) for one in after):
        return [Drift.SHORTER]
    return []


def _marks(before: Sequence[Traits], after: Sequence[Traits]) -> list[Drift]:
    found = []
    for key, way in (("exclaimed", Drift.LOUDER), ("trailing", Drift.TRAILING), ("emoji", Drift.EMOJI)):
        most = max(getattr(one, key) for one in before)
        if all(getattr(one, key) > most * _MARKS_FACTOR + _MARKS_MARGIN for one in after):
            found.append(way)
    return found


def _actions(before: Sequence[Traits], after: Sequence[Traits]) -> list[Drift]:
    shares = [one.action for one in before]
    if min(shares) >= _MUCH_ACTION and not any(one.action for one in after):
        return [Drift.NO_ACTION]
    most = max(shares)
    if all(one.action > max(2 * most, most + 3 * _MUCH_ACTION) for one in after):
        return [Drift.MORE_ACTION]
    return []


def _person(before: Sequence[Traits], after: Sequence[Traits]) -> list[Drift]:
    """Who always said "I" and now only names itself, or the other way round."""
    if all(one.first and not one.named for one in before) and all(
        one.named and not one.first for one in after
    ):
        return [Drift.BY_NAME]
    if all(one.named and not one.first for one in before) and all(
        one.first and not one.named for one in after
    ):
        return [Drift.AS_I]
    return []


# ---------------------------------------------------------------- counting
def _letters(text: str) -> int:
    dense = 0 if text.isascii() else len(DENSE.findall(text))
    return len(_NO_LETTERS.sub("", text)) + (_WEIGHT - 1) * dense


def _weight(texts: Sequence[str]) -> int:
    return sum(map(_letters, texts))


def _named(text: str, names: Collection[str]) -> int:
    plain = f" {' '.join(_WORD.findall(fold(text)))} "
    dense = fold(text)
    return sum(
        dense.count(name) if DENSE.search(name) else plain.count(f" {name} ")
        for name in {" ".join(_WORD.findall(fold(one))) for one in names}
        if name
    )


def _first(text: str) -> int:
    plain = fold(text)
    return sum(word in _FIRST for word in _WORD.findall(plain)) + sum(map(plain.count, _FIRST_UNSPACED))


def _groups(texts: Sequence[str]) -> Counter[str]:
    """Three letters each of an alphabet, word borders among them; one of a dense script, since two of them
    are a word already."""
    plain = " ".join(_WORD.findall(fold("\n".join(texts)[-_COMPARED:])))
    found = Counter(DENSE.findall(plain))
    spaced = f" {DENSE.sub(' ', plain)} "
    found.update(map("".join, zip(spaced, spaced[1:], spaced[2:], strict=False)))
    return found
