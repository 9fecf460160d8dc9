"""Looks for the /patterns/ of lore keys within a bounded time: a bad one costs milliseconds at most."""

from __future__ import annotations

import time
from typing import Any, Final

import regex

EACH_S: Final = 0.05
TOTAL_S: Final = 0.25
ATTEMPTS: Final = 4
LONGEST: Final = 1000
"""Characters of a pattern."""
_FLAGS: Final = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}


class TimedPatterns:
    """A `bot.core.lore_keys.Search` for one scan. It releases the interpreter while it searches, so run it
    in a thread. Once all its time is used up, every further pattern counts as too slow."""

    def __init__(self, *, each_s: float = EACH_S, total_s: float = TOTAL_S) -> None:
        self._each_s = each_s
        self._left_s = total_s

    def __call__(self, pattern: str, flags: str, text: str) -> bool:
        """Whether the pattern is found. JavaScript's flags i, m and s count; others change nothing here."""
        if self._left_s <= 0:
            raise TimeoutError
        if len(pattern) > LONGEST:
            raise ValueError(f"it has more than {LONGEST} characters")
        flag_bits = sum({_FLAGS[flag] for flag in flags if flag in _FLAGS})
        try:
            return self._search(regex.compile(pattern, flag_bits, cache_pattern=False), text)
        except (regex.error, RecursionError, OverflowError) as problem:
            raise ValueError(str(problem)) from problem

    def _search(self, wanted: Any, text: str) -> bool:
        """Search; again when the time was spent by other threads of a busy machine."""
        for attempt in range(ATTEMPTS):
            allowed = min(self._each_s, max(self._left_s, 0.001))
            began = time.thread_time()
            try:
                return wanted.search(text, timeout=allowed, concurrent=True) is not None
            except TimeoutError:
                if time.thread_time() - began > allowed / 2 or attempt == ATTEMPTS - 1:
                    raise
            finally:
                self._left_s -= time.thread_time() - began
        raise TimeoutError
