"""Whether a reply took anything from a recalled memory: names, numbers and rare words tell."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Final

from bot.core.tokens import fold, tokens

_RARE: Final = 4
"""Letters from which a word is rare enough to tell, if it is said nowhere else."""
_ENOUGH: Final = 2
"""So many plain words tell; one number or name is enough."""
_SHARE: Final = 0.5


def taken(reply: str, memory: str, elsewhere: Iterable[str]) -> tuple[str, ...]:
    """Return the telling words that a reply shares with a memory, and with nothing else it could know.

    `elsewhere` are the other texts that the model saw (the window, the question). Empty when what is shared
    tells nothing: less than a number, a name, or two rare words (one, of a memory with hardly more).
    """
    known = {word for text in elsewhere for word in tokens(text)}
    said = set(tokens(reply))
    own = [word for word in dict.fromkeys(tokens(memory)) if word not in known and _tells(word)]
    shared = [word for word in own if word in said]
    names = _names(memory)
    sure = any(word.isdigit() or word in names for word in shared)
    if sure or len(shared) >= _ENOUGH or (shared and len(shared) >= _SHARE * len(own)):
        return tuple(shared)
    return ()


def _tells(word: str) -> bool:
    return word.isdigit() or len(word) >= _RARE or not word.isascii()


def _names(text: str) -> frozenset[str]:
    """Return the words that are written with a capital inside a sentence."""
    words = text.split()
    inside = [word for before, word in itertools.pairwise(words) if not before.endswith((".", "!", "?", ":"))]
    capital = [word.strip(".,;:!?\"'()*") for word in inside]
    return frozenset(token for word in capital if word[:1].isupper() for token in tokens(fold(word)))
