"""Notices when a model says the same again: in one reply, or as it did before."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from bot.core.scripts import DENSE

_SHORT: Final = 12
"""Letters up to which a reply ("Yes.") may be said again."""
LOOP_SEEN: Final = 1200
"""How much of a text's end `goes_round` looks at."""
_LOOP: Final = 60
_LOOP_TIMES: Final = 5
_UNIT = re.compile(r"[^.!?…。！？\n]*(?:[.!?…。！？]+[\"'”’»」*_)~|]*|(?=\n)|\Z)\s*")
_LONGEST_CYCLE: Final = 6
ECHO: Final = 0.6
"""Share of a reply from which it is said again rather than said."""
_SHINGLE: Final = 16
"""Letters in a row that count as copied; half as many in dense scripts, where fewer say as much."""
_FEWEST_COPIED: Final = 48
_WORDS = re.compile(r"\b(\w+)((?:[\s,]+)\1)(?:[\s,]+\1\b){6,}", re.IGNORECASE)
_CHARACTERS = re.compile(r"(.{1,12}?)\1{14,}")


def is_repeat(text: str, recent: Sequence[str]) -> bool:
    """Tell whether the reply says word for word what one of `recent` (oldest first) said.

    Case, marks and punctuation do not count. A few words may come twice in a row, not three times.
    """
    said = _letters(text)
    before = [_letters(one) for one in recent]
    if len(said) > _SHORT:
        return said in before
    return len(before) >= 2 and before[-1] == before[-2] == said


def echo(text: str, recent: Sequence[str]) -> float:
    """Return the share (0 to 1) of the reply's letters that stand in runs which one of `recent` has too.

    Case, marks and spaces do not count. Little that is copied counts as nothing: a greeting or a favourite
    saying may come again.
    """
    said = _letters(text)
    dense = len(DENSE.findall(said)) * 2 > len(said)
    length, fewest = (_SHINGLE // 2, _FEWEST_COPIED // 3) if dense else (_SHINGLE, _FEWEST_COPIED)
    before = {one[at : at + length] for one in map(_letters, recent) for at in range(len(one) - length + 1)}
    copied, end = 0, 0
    for at in range(len(said) - length + 1):
        if said[at : at + length] in before:
            copied += at + length - max(at, end)
            end = at + length
    return copied / len(said) if copied >= fewest else 0.0


def goes_round(text: str) -> bool:
    """Tell whether the end of a text that is being written has come five times within its last lines."""
    tail = text[-LOOP_SEEN:]
    return len(tail) >= _LOOP * _LOOP_TIMES and tail.count(tail[-_LOOP:]) >= _LOOP_TIMES


def shorten_loops(text: str) -> str:
    """Return the text with sentences, words or syllables that go round and round said once or thrice."""
    if "```" in text:
        return text
    shorter = _CHARACTERS.sub(lambda found: found[1] * 3, text)
    shorter = _WORDS.sub(lambda found: f"{found[1]}{found[2]}{found[2]}", shorter)
    units = [unit for unit in _UNIT.findall(shorter) if unit]
    return "".join(_without_cycles(units)).rstrip() if len(units) > 2 else shorter


def _without_cycles(units: list[str]) -> list[str]:
    keys = [_letters(unit) or unit.strip() for unit in units]
    kept: list[str] = []
    at = 0
    while at < len(units):
        length, times = _cycle(keys, at)
        short = sum(len(key) for key in keys[at : at + length]) <= _SHORT
        most = 3 if short else 1
        repeats = times if times <= (3 if short else 2) else most
        kept += units[at : at + length * repeats]
        at += length * times
    return kept


def _cycle(keys: list[str], at: int) -> tuple[int, int]:
    """Return the length of the cycle that starts here and how often it comes: (1, 1) when there is none."""
    for length in range(1, _LONGEST_CYCLE + 1):
        block = keys[at : at + length]
        times = 1
        while len(block) == length and keys[at + times * length : at + (times + 1) * length] == block:
            times += 1
        if times > 2:
            return length, times
    return 1, 1


def _letters(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in plain if unicodedata.category(c)[0] in "LNM" or c == "♥")
