"""Turns text of any language into the tokens that lexical search counts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Final

_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana, Han and Hangul: a run is no word."""
_INDIC: Final = "\u0900-\u0dff"
"""Vowel signs of these scripts are not `\\w`, but belong to their words."""
_WORD: Final = rf"(?:[^\W_{_UNSPACED}]|[{_INDIC}])"
_RUN = re.compile(rf"([{_UNSPACED}]+)|({_WORD}+)(?:['’]{_WORD}{{1,2}}(?!{_WORD}))?")
_ASCII_RUN = re.compile(r"([a-z0-9]+)(?:'[a-z0-9]{1,2}(?![a-z0-9]))?")
_ACCENTS = re.compile("(?<!и)\u0306|[\u0300-\u0305\u0307-\u036f\u064b-\u0652\u0591-\u05c7]")
"""The breve of й stays: with it an ending is told from a stem."""
_STROKES: Final = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "æ": "ae", "œ": "oe"})
_LONGEST: Final = 64
MONTHS: Final = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ASKING_OR_CONNECTING: Final = """
    a about am an and any are as at be been being but by can could did do does doing don for from had has
    have having he her here him his how i if in into is it its just let me might more most must my no not of
    on or our out over shall she should so some such than that the their them then there these they this
    those to too up us was we were what when where which while who whom whose why will with would you your
"""
FUNCTION_WORDS: Final = frozenset(_ASKING_OR_CONNECTING.split())
"""English words that ask or connect but name nothing; left out of queries, never of texts."""


Stem = Callable[[str], str]
"""Cuts a folded word to what its forms have in common; what is left need not be a word."""


def tokens(text: str, stem: Stem | bool = True) -> list[str]:
    """Return the tokens of the text in order, repeats included.

    Width, case and accents are folded. Runs of scripts without spaces give every character and every
    pair; other runs are words, cut by `stem`: a function, or True for the English endings of plurals
    and verbs (a text and its query both lose them, so other languages are only matched a little more
    loosely).
    """
    cut = english_stem if stem is True else stem
    return [cut(word) for word in _words(text)] if cut else _words(text)


def query_tokens(text: str, stem: Stem | bool = True, small: Collection[str] = FUNCTION_WORDS) -> list[str]:
    """Return the distinct tokens of a question or remark, `small` words left out where others remain."""
    words = _words(text)
    telling = [word for word in words if word not in small] or words
    cut = english_stem if stem is True else stem
    return list(dict.fromkeys(cut(word) if cut else word for word in telling))


def fold(text: str) -> str:
    """Return the text with width, case and accents folded: "Épée" becomes "epee"."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", plain)).translate(_STROKES)


def date_words(moment: datetime) -> str:
    """Return the day in words for a lexical key: "8 may 2023 monday"."""
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year} {DAYS[moment.weekday()]}"


def _words(text: str) -> list[str]:
    if text.isascii():
        words = _ASCII_RUN.findall(text.lower())
    else:
        words = []
        for unspaced, word in _RUN.findall(fold(text)):
            if unspaced:
                words.extend(unspaced)
                words.extend(unspaced[at : at + 2] for at in range(len(unspaced) - 1))
            else:
                words.append(word)
    if len(text) > _LONGEST:
        return [word[:_LONGEST] for word in words]
    return words


def english_stem(word: str) -> str:
    """Take off the endings of English plurals and verb forms; what is left need not be a word."""
    if len(word) < 3:
        return word
    end = word[-1]
    if end == "s":
        word = _singular(word)
    elif end == "d" and len(word) > 4 and word[-2] == "e":
        word = word[:-2]
    elif end == "g" and len(word) > 5 and word.endswith("ing"):
        word = word[:-3]
    return _bare_end(word)


def _singular(word: str) -> str:
    if word.endswith("ings") and len(word) > 6:
        return word[:-4]
    if len(word) < 4 or word.endswith("ss"):
        return word
    return word[:-2] if word.endswith("es") and len(word) > 4 else word[:-1]


def _bare_end(word: str) -> str:
    """Make "movie" and "movi(es)", "like" and "lik(ed)", "story" and "stori(es)", "stop(p)ed" one."""
    if len(word) < 3:
        return word
    end, before = word[-1], word[-2]
    if end == "y" and before not in "aeiou":
        return word[:-1] + "i"
    if len(word) < 4:
        return word
    if end == "e":
        return word[:-1]
    return word[:-1] if end == before and end not in "aeiouls" else word
