from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.core.dates import ago, dated, day

NOW = datetime(2026, 6, 2, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("distance", "words"),
    [
        (timedelta(seconds=-30), "just now"),
        (timedelta(seconds=119), "just now"),
        (timedelta(minutes=25), "25 minutes ago"),
        (timedelta(minutes=119), "119 minutes ago"),
        (timedelta(hours=2), "2 hours ago"),
        (timedelta(hours=23, minutes=59), "23 hours ago"),
        (timedelta(days=1), "yesterday"),
        (timedelta(days=2), "2 days ago"),
        (timedelta(days=13), "13 days ago"),
        (timedelta(days=21), "3 weeks ago"),
        (timedelta(days=70), "2 months ago"),
        (timedelta(days=729), "23 months ago"),
        (timedelta(days=800), "2 years ago"),
    ],
)
def test_distance_in_words(distance: timedelta, words: str) -> None:
    assert ago(NOW - distance, NOW) == words


def test_a_memory_is_dated_with_its_day_and_story_time() -> None:
    then = NOW - timedelta(days=21)
    assert day(then) == "12 May 2026"
    assert dated(then, NOW, "the night\nof the feast") == "3 weeks ago, 12 May 2026, the night of the feast"


def test_the_day_itself_needs_no_date() -> None:
    assert dated(NOW - timedelta(hours=3), NOW) == "3 hours ago"
