"""Says when something was, the way people say it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from bot.core.date_words import date_words

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
_YEAR: Final = 365.25 * _DAY


def ago(then: datetime, now: datetime, language: str = "") -> str:
    """Return the distance in words: "just now", "25 minutes ago", "yesterday", "3 weeks ago".

    Both times are aware. What lies in the future (a clock was set back) counts as just now. `language` is
    one of `bot.core.languages`; English where its words are not known.
    """
    words = date_words(language)
    seconds = (now - then).total_seconds()
    if seconds < 2 * _MINUTE:
        return words.now
    if _DAY <= seconds < 2 * _DAY:
        return words.yesterday
    for bound, size, unit in _STEPS:
        if seconds < bound:
            return words.distance(max(int(seconds / size), 1), unit)
    return words.distance(max(int(seconds / _YEAR), 1), "year")


def day(moment: datetime, language: str = "") -> str:
    """Return the date alone: "12 May 2026"."""
    return date_words(language).day(moment.day, moment.month, moment.year)


def dated(then: datetime, now: datetime, story_time: str = "", language: str = "") -> str:
    """Return how a memory is dated: "3 weeks ago, 12 May 2026, the night of the feast".

    The date is left out within a day.
    """
    parts = [ago(then, now, language)]
    if (now - then).total_seconds() >= _DAY:
        parts.append(day(then, language))
    if story_time.strip():
        parts.append(" ".join(story_time.split()))
    return ", ".join(parts)


def earlier(until: datetime | None, now: datetime, language: str = "") -> str:
    """Return how something is marked that another thing replaced: "earlier, until 3 days ago"."""
    words = date_words(language)
    return f"{words.earlier}, {words.until.format(ago(until, now, language))}" if until else words.earlier
