"""Chooses from ranked memories what enters the prompt: new to the window, distinct, within the budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from bot.core.candidates import Recalled
from bot.core.tokens import fold, tokens

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

    def repeats(self, other: _Wording) -> bool:
        """Tell whether two texts say the same, by the same speaker or one that is not named."""
        if self.speaker != other.speaker and self.speaker and other.speaker:
            return False
        if self.plain == other.plain:
            return True
        fewer, more = sorted((len(self.words), len(other.words)))
        if fewer < _FEWEST_WORDS or fewer < ALIKE * more or self.numbers != other.numbers:
            return False  # most pairs end here, which matters: a choice compares thousands
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
) -> Choice:
    """Fill the budget (in tokens, as `cost` counts them) from the best on, at most `most` memories.

    Left away are memories that the window shows (by id, or by (speaker, text) in `shown_texts`), those
    that rest (`cooling`; pass none when a member asks), and repetitions: of two texts that say the same
    the newer stands, in the better one's place. Texts that differ in a number never count as the same.
    """
    taken: list[Recalled] = []
    left_out: list[Recalled] = []
    spent = 0
    for item in _distinct([item for item in ranked if item.memory_id not in cooling], shown, shown_texts):
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
    ranked: Sequence[Recalled], shown: Collection[int], shown_texts: Sequence[tuple[str, str]]
) -> Sequence[Recalled]:
    """Return the ranked memories without repetitions, lazily enough for a long list."""
    visible = [_wording(speaker, text) for speaker, text in shown_texts]
    kept: list[Recalled] = []
    wordings: list[_Wording] = []
    for item in ranked[:_LOOKED_AT]:
        if item.memory_id in shown:
            continue
        wording = _wording(item.speaker, item.text)
        if any(wording.repeats(other) for other in visible):
            continue
        same = next((at for at, other in enumerate(wordings) if wording.repeats(other)), None)
        if same is None:
            kept.append(item)
            wordings.append(wording)
        elif item.created_at > kept[same].created_at:
            kept[same], wordings[same] = item, wording
    return kept


def _wording(speaker: str, text: str) -> _Wording:
    plain = " ".join(tokens(text, stem=False)) or fold(text).strip()
    words = frozenset(tokens(text))
    return _Wording(fold(speaker), plain, words, frozenset(filter(str.isdigit, words)))
