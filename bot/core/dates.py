"""Says when something was, the way people say it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_STEPS: Final = (
    (2 * _HOUR, _MINUTE, "minute"),
    (_DAY, _HOUR, "hour"),
    (14 * _DAY, _DAY, "day"),
    (60 * _DAY, 7 * _DAY, "week"),
    (730 * _DAY, 30.44 * _DAY, "month"),
)
_MONTH_NAMES: Final = "January February March April May June July August September October November December"
_MONTHS: Final = tuple(_MONTH_NAMES.split())


def ago(then: datetime, now: datetime) -> str:
    """Return the distance in words: "just now", "25 minutes ago", "yesterday", "3 weeks ago".

    Both times are aware. What lies in the future (a clock was set back) counts as just now.
    """
    seconds = (now - then).total_seconds()
    if seconds < 2 * _MINUTE:
        return "just now"
    if _DAY <= seconds < 2 * _DAY:
        return "yesterday"
    for bound, size, word in _STEPS:
        if seconds < bound:
            return _count(int(seconds / size), word)
    return _count(int(seconds / (365.25 * _DAY)), "year")


def day(moment: datetime) -> str:
    """Return the date alone: "12 May 2026"."""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def dated(then: datetime, now: datetime, story_time: str = "") -> str:
    """Return how a memory is dated: "3 weeks ago, 12 May 2026, the night of the feast".

    The date is left out within a day.
    """
    parts = [ago(then, now)]
    if (now - then).total_seconds() >= _DAY:
        parts.append(day(then))
    if story_time.strip():
        parts.append(" ".join(story_time.split()))
    return ", ".join(parts)


def _count(number: int, word: str) -> str:
    return f"{max(number, 1)} {word}{'' if number <= 1 else 's'} ago"


def earlier(until: datetime | None, now: datetime) -> str:
    """Return how something is marked that another thing replaced: "earlier, until 3 days ago"."""
    return f"earlier, until {ago(until, now)}" if until else "earlier"
