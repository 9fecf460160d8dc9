"""Finds where a text may be cut without breaking what a reader sees as one character."""

from __future__ import annotations

import re
import unicodedata

_EXTENDS = re.compile(
    "[\u200d\ufe00-\ufe0f\u0e33\u0eb3\u1160-\u11ff\ud7b0-\ud7fb\uff9e\uff9f"
    "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef]"
)
"""Joiners, variation selectors, Thai and Lao am, later Hangul parts, sound marks, skin tones, flag tags."""
_MARKS = frozenset({"Mn", "Mc", "Me"})
_PAIRS = (
    re.compile("\r\n"),
    re.compile("[\ud800-\udbff][\udc00-\udfff]"),
    re.compile("[\u1100-\u115f\ua960-\ua97c][\u1100-\u11ff\uac00-\ud7a3]"),
    re.compile("\u200d."),
)
_VIRAMA = 9


def may_cut(text: str, at: int) -> bool:
    """Tell whether `text[:at]` and `text[at:]` each show whole characters: no accent, flag or family torn."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if any(pair.fullmatch(before + after) for pair in _PAIRS):
        return False
    if _EXTENDS.match(after) or unicodedata.category(after) in _MARKS:
        return False
    if unicodedata.combining(before) == _VIRAMA and after.isalpha():
        return False  # a virama joins two letters into one
    return not (_regional(before) and _regional(after) and _regional_run(text, at) % 2 == 1)


def _regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _regional_run(text: str, at: int) -> int:
    """Count the flag letters that stand directly before `at`: after an odd one a flag is open."""
    start = at
    while start > 0 and _regional(text[start - 1]):
        start -= 1
    return at - start
