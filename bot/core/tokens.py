"""Turns text of any language into the tokens that lexical search counts."""

from __future__ import annotations

import re
import unicodedata
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
_ACCENTS = re.compile("[\u0300-\u036f\u064b-\u0652\u0591-\u05c7]")
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


def tokens(text: str, stem: bool = True) -> list[str]:
    """Return the tokens of the text in order, repeats included.

    Width, case and accents are folded. Runs of scripts without spaces give every character and every
    pair; other runs are words, with the English endings of plurals and verbs taken off when `stem`
    (a text and its query both lose them, so other languages are only matched a little more loosely).
    """
    return [_stem(word) for word in _words(text)] if stem else _words(text)


def query_tokens(text: str, stem: bool = True) -> list[str]:
    """Return the distinct tokens of a question or remark, function words left out where others remain."""
    words = _words(text)
    telling = [word for word in words if word not in FUNCTION_WORDS] or words
    return list(dict.fromkeys(_stem(word) if stem else word for word in telling))


def fold(text: str) -> str:
    """Return the text with width, case and accents folded: "Épée" becomes "epee"."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", plain))


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


def _stem(word: str) -> str:
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
