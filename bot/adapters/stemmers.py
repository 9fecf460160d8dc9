"""Takes the endings off words of many languages, with Snowball's stemmers."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Final

from bot.core.tokens import Stem, fold

ALGORITHMS: Final = {
    "ar": "arabic",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "es": "spanish",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
KEPT: Final = 50_000
"""Words of a language whose stem is remembered: the library takes a tenth of a millisecond for one."""
_SHORTEST: Final = 3


class Stemmers:
    """The stemmers of one thread, made when they are first asked for; nothing is imported before."""

    def __init__(self) -> None:
        self._made: dict[str, Stem | None] = {}

    def of(self, language: str) -> Stem | None:
        """A function that cuts a folded word, or None for a language without a stemmer."""
        if language not in self._made:
            algorithm = ALGORITHMS.get(language)
            self._made[language] = _stem_with(algorithm) if algorithm else None
        return self._made[language]


def _stem_with(algorithm: str) -> Stem:
    made = importlib.import_module("snowballstemmer").stemmer(algorithm)

    @lru_cache(KEPT)
    def stem(word: str) -> str:
        """Folded once more: some stemmers put accents back."""
        return word if len(word) < _SHORTEST else fold(str(made.stemWord(word))) or word

    return stem
