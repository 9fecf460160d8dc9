"""Finds the keys of lore entries in text: any match, whole words in any script, case, /patterns/."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bot.core.lore_entries import Logic, LoreEntry
from bot.core.names import fold, stands_alone

Search = Callable[[str, str, str], bool]
"""Whether a pattern (with JavaScript's flag letters) is found in a text. It looks only for a bounded time:
TimeoutError when that is over, ValueError for a broken pattern. The core has no clock, so it is given."""

_KEY: Final = re.compile(r"\s*/(?:\\.|[^/\\\n])+/[a-z]*(?=\s*(?:,|$))|[^,]+")
_PATTERN: Final = re.compile(r"/(.+)/([a-z]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Haystack:
    """A text to look into, in the three forms that keys are compared with."""

    raw: str
    folded: str
    cased: str

    @classmethod
    def of(cls, texts: Sequence[str]) -> Haystack:
        """Join texts, such as the newest turns."""
        raw = "\n".join(texts)
        return cls(raw, fold(raw), _narrow(raw))


@dataclass(frozen=True, slots=True)
class Found:
    """Which key was found (None: none), why the secondary keys forbid it, and keys that gave trouble."""

    key: str | None
    objection: str = ""
    excluded: str = ""
    """The @@exclude_keys word that was found: then nothing else counts."""
    trouble: str = ""


def find(entry: LoreEntry, text: Haystack, search: Search) -> Found:
    """Tell whether an entry's keys are found in the text as its logic asks."""
    troubles: list[str] = []

    def seen(key: str) -> bool:
        try:
            return _in(key, entry, text, search)
        except TimeoutError:
            troubles.append(f"{key} takes too long")
        except ValueError as problem:
            troubles.append(f"{key} is broken: {problem}")
        return False

    key = next((key for key in entry.keys if seen(key)), None)
    objection = "" if key is None or not entry.secondary else _objection(entry, [*map(seen, entry.secondary)])
    excluded = next((word for word in entry.rules.not_with if seen(word)), "")
    return Found(key, objection, excluded, "; ".join(troubles))


def _objection(entry: LoreEntry, seen: Sequence[bool]) -> str:
    fits = {
        Logic.AND_ANY: any(seen),
        Logic.AND_ALL: all(seen),
        Logic.NOT_ANY: not any(seen),
        Logic.NOT_ALL: not all(seen),
    }[entry.logic]
    return "" if fits else f"the secondary keys ({entry.logic}: {', '.join(entry.secondary)}) do not fit"


def _in(key: str, entry: LoreEntry, text: Haystack, search: Search) -> bool:
    slashed = pattern_of(key)
    if slashed:
        return search(*slashed, text.raw)
    if entry.patterns:
        return search(key, "" if entry.case_sensitive else "i", text.raw)
    wanted = _narrow(key) if entry.case_sensitive else fold(key)
    hay = text.cased if entry.case_sensitive else text.folded
    if not wanted or not entry.whole_words:
        return bool(wanted) and wanted in hay
    start = hay.find(wanted)
    while start >= 0:
        if stands_alone(hay, start, start + len(wanted)):
            return True
        start = hay.find(wanted, start + 1)
    return False


def _narrow(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())


def split_keys(text: str) -> list[str]:
    """Split what a member typed at commas, but not inside of a /pattern/."""
    return [key.strip() for key in _KEY.findall(text) if key.strip()]


def pattern_of(key: str) -> tuple[str, str] | None:
    """Return the pattern and flags of a key that is written as /pattern/flags."""
    slashed = _PATTERN.fullmatch(key)
    return (slashed[1], slashed[2]) if slashed else None


def no_patterns(pattern: str, flags: str, text: str) -> bool:
    """A search for where no bounded one is at hand: patterns are never found, and say so."""
    raise ValueError("patterns are not available here")
