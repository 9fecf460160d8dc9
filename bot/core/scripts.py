"""Tells which writing system a text is mostly in, and puts its characters together."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Final

DENSE: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""A letter of a script that says much in few letters and hangs words, endings and names together."""
_SAME: Final = {"CJK": "HAN", "HIRAGANA": "KANA", "KATAKANA": "KANA"}
_FEWEST: Final = 20
_WEIGHTS: Final = {"HAN": 3, "KANA": 2, "HANGUL": 2}
"""So many letters of an alphabet say as much as one of these."""
_MOST: Final = 4000
_SHARE: Final = 0.6


def whole_characters(text: str) -> str:
    """The text with its characters of two halves (UTF-16 surrogates) put together; a half alone goes."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")


def main_script(text: str) -> str | None:
    """Return the script of most letters ("LATIN", "HAN", "CYRILLIC" …); None for little or mixed text.

    Any amount of kana makes Japanese, whose Han letters are then its own.
    """
    scripts = Counter(_script(letter) for letter in text[:_MOST] if letter.isalpha())
    total = scripts.total()
    if scripts["KANA"] > total * 0.1:
        scripts["KANA"] += scripts.pop("HAN", 0)
    if sum(number * _WEIGHTS.get(script, 1) for script, number in scripts.items()) < _FEWEST:
        return None
    script, number = scripts.most_common(1)[0]
    return script if number >= total * _SHARE else None


def _script(letter: str) -> str:
    word = unicodedata.name(letter, "UNKNOWN").split()[0].split("-")[0]
    return _SAME.get(word, word)
