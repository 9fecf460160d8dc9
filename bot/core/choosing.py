"""Chooses from ranked memories what enters the prompt: new to the window, distinct, within the budget."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from bot.core.candidates import Recalled
from bot.core.tokens import english_stem, fold, tokens

ALIKE: Final = 0.85
"""Share of common words from which two texts of five words or more say the same."""
_FEWEST_WORDS: Final = 5
_MOST_MISFITS: Final = 8
_LOOKED_AT: Final = 100


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen memories in order of time, and the next best that found no room, best first."""

    items: tuple[Recalled, ...] = ()
    left_out: tuple[Recalled, ...] = ()
    tokens: int = 0
    """What `items` cost."""


@dataclass(frozen=True, slots=True)
class _Wording:
    speaker: str
    plain: str
    words: frozenset[str]
    numbers: frozenset[str]
    marks: tuple[str, ...]
    """One of these another must have too that says the same."""

    def repeats(self, other: _Wording) -> bool:
        """Tell whether two texts say the same, by the same speaker or one that is not named."""
        if self.speaker != other.speaker and self.speaker and other.speaker:
            return False
        if self.plain == other.plain:
            return True
        fewer, more = sorted((len(self.words), len(other.words)))
        if fewer < _FEWEST_WORDS or fewer < ALIKE * more or self.numbers != other.numbers:
            return False
        return len(self.words & other.words) >= ALIKE * len(self.words | other.words)


def choose(
    ranked: Sequence[Recalled],
    *,
    budget: int,
    cost: Callable[[Recalled], int],
    shown: Collection[int] = (),
    shown_texts: Sequence[tuple[str, str]] = (),
    cooling: Collection[int] = (),
    most: int = 20,
    wordings: Wordings | None = None,
) -> Choice:
    """Fill the budget (in tokens, as `cost` counts them) from the best on, at most `most` memories.

    Left away are memories that the window shows (by id, or by (speaker, text) in `shown_texts`), those
    that rest (`cooling`; pass none when a member asks), and repetitions: of two texts that say the same
    the newer stands, in the better one's place. Texts that differ in a number never count as the same.
    `wordings` may know some of the texts already.
    """
    taken: list[Recalled] = []
    left_out: list[Recalled] = []
    spent = 0
    rested = [item for item in ranked if item.memory_id not in cooling]
    for item in _distinct(rested, shown, shown_texts, wordings or Wordings()):
        price = cost(item)
        if len(taken) < most and spent + price <= budget:
            taken.append(item)
            spent += price
        else:
            left_out.append(item)
            if len(left_out) >= _MOST_MISFITS:
                break
    taken.sort(key=lambda item: (item.created_at, item.memory_id))
    return Choice(tuple(taken), tuple(left_out), spent)


def _distinct(
    ranked: Sequence[Recalled],
    shown: Collection[int],
    shown_texts: Sequence[tuple[str, str]],
    wordings: Wordings,
) -> Sequence[Recalled]:
    """Return the ranked memories without repetitions."""
    visible, kept = _Seen(), _Seen()
    for speaker, text in shown_texts:
        visible.add(wordings.of(speaker, text))
    items: list[Recalled] = []
    for item in ranked[:_LOOKED_AT]:
        if item.memory_id in shown:
            continue
        wording = wordings.of(item.speaker, item.text)
        if visible.repeated_by(wording) is not None:
            continue
        same = kept.repeated_by(wording)
        if same is None:
            items.append(item)
            kept.add(wording)
        elif item.created_at > items[same].created_at:
            items[same] = item
            kept.replace(same, wording)
    return items


class _Seen:
    """Wordings in order. Of thousands of pairs only those are compared that share one of their longest words
    or all of their text: no others can repeat each other.

    Two sets of which so large a share is common share one of the first few words of any order that is the
    same for both; the longest come first here, since they are the rarest.
    """

    def __init__(self) -> None:
        self._wordings: list[_Wording] = []
        self._holding: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, wording: _Wording) -> None:
        self._wordings.append(wording)
        self._note(len(self._wordings) - 1)

    def replace(self, place: int, wording: _Wording) -> None:
        self._wordings[place] = wording
        self._note(place)

    def repeated_by(self, wording: _Wording) -> int | None:
        """Return the place of the first that says the same, if one does."""
        places = {place for mark in wording.marks for place in self._holding.get(mark, ())}
        return next((place for place in sorted(places) if wording.repeats(self._wordings[place])), None)

    def _note(self, place: int) -> None:
        for mark in self._wordings[place].marks:
            self._holding[mark].append(place)


class Wordings:
    """What texts say, word by word: made once for each, and before it is needed where there is time."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Wording] = {}
        self._stems = _Stems()

    def of(self, speaker: str, text: str) -> _Wording:
        """Return how a speaker's text compares with others."""
        known = self._known.get((speaker, text))
        if known is None:
            known = self._known[speaker, text] = _wording(speaker, text, self._stems)
        return known


class _Stems(dict[str, str]):
    """The stem of each word, made once: most words of a place's texts come again and again."""

    def __missing__(self, word: str) -> str:
        self[word] = stem = english_stem(word)
        return stem


def _wording(speaker: str, text: str, stems: _Stems) -> _Wording:
    every = tokens(text, stem=False)
    plain = " ".join(every) or fold(text).strip()
    words = frozenset(map(stems.__getitem__, every))
    numbers = frozenset(filter(str.isdigit, words))
    needed = len(words) - math.ceil(ALIKE * len(words)) + 1
    longest = sorted(sorted(words), key=len, reverse=True)[:needed]
    return _Wording(fold(speaker), plain, words, numbers, (f"={plain}", *longest))
