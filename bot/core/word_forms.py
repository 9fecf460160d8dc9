"""How the words of a language become the tokens that a story's word index counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from bot.core.date_words import date_words
from bot.core.languages import UNKNOWN, function_words
from bot.core.tokens import FUNCTION_WORDS, MONTHS, Stem, english_stem, fold, query_tokens, tokens

PREFIX: Final = 5
"""Letters that are kept of a word in a language without a stemmer: most endings are shorter than the rest."""


@dataclass(frozen=True, slots=True)
class WordForms:
    """`stem` cuts a folded word, the same way in texts and queries; `small` words are left out of queries.

    `months` gives the English names of the language's own, under which keys hold the days of texts.
    """

    stem: Stem = english_stem
    small: frozenset[str] = FUNCTION_WORDS
    months: Mapping[str, str] = field(default_factory=dict)

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text, in order."""
        return tokens(text, self.stem)

    def query_tokens(self, text: str) -> list[str]:
        """Return the distinct tokens to search for; of a month that is named, its English name too."""
        found = query_tokens(text, self.stem, self.small)
        if self.months:
            words = tokens(text, stem=False)
            found += [self.stem(self.months[word]) for word in words if word in self.months]
        return list(dict.fromkeys(found))


ENGLISH: Final = WordForms()
_LETTERS: Final = frozenset({"ja", "ko", "th", "zh"})
"""Where letters and pairs are the tokens; words of other scripts among them are mostly names."""
StemmerOf = Callable[[str], Stem | None]


def no_stemmers(_: str) -> Stem | None:
    """Know no language."""
    return None


def word_forms(language: str, stemmer_of: StemmerOf = no_stemmers) -> WordForms:
    """Return how to cut words of a language, as `bot.core.languages` names it.

    What is not known yet is cut like English: only plain plurals and verb endings go. So is what stands
    between Chinese, Japanese, Korean or Thai.
    """
    if language in {UNKNOWN, "en"}:
        return ENGLISH
    stem = english_stem if language in _LETTERS else stemmer_of(language)
    months = date_words(language).months.split()
    names = {fold(own): english for own, english in zip(months, MONTHS, strict=False) if fold(own) != english}
    return WordForms(stem or prefix, FUNCTION_WORDS | function_words(language), names)


def prefix(word: str) -> str:
    """Return the beginning of a word."""
    return word[:PREFIX]
