from __future__ import annotations

import time

import pytest

from bot.adapters.timed_patterns import TimedPatterns


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "expected"),
    [
        ("f.rry", "", "the ferry", True),
        ("F.RRY", "", "the ferry", False),
        ("F.RRY", "giu", "the ferry", True),
        ("^b", "", "a\nb", False),
        ("^b", "m", "a\nb", True),
        ("a.b", "s", "a\nb", True),
        (r"\bkönig\b", "i", "Der KÖNIG.", True),
        (r"(?<=old )king", "", "old king", True),
        (r"(?<word>king)s?", "", "kings", True),
    ],
)
def test_patterns_are_found_as_in_javascript(pattern: str, flags: str, text: str, expected: bool) -> None:
    assert TimedPatterns()(pattern, flags, text) is expected


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*)*x$", r"^(\w+\s?)*$"])
def test_a_pattern_that_explodes_ends_in_time(pattern: str) -> None:
    search = TimedPatterns()
    began = time.thread_time()  # not the wall's: other processes may keep both cores
    outcomes = []
    for _ in range(40):
        try:
            outcomes.append(search(pattern, "", "a" * 5000 + " !"))
        except TimeoutError:
            outcomes.append(False)
    assert time.thread_time() - began < 1.0
    assert True not in outcomes


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a{2,1}", "x" * 1001, "(?P<a>x)(?P=b)"])
def test_a_broken_pattern_says_so(pattern: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        TimedPatterns()(pattern, "", "text")
