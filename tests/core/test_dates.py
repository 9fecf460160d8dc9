from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.core.date_words import date_words
from bot.core.dates import ago, dated, day, earlier
from bot.core.languages import LANGUAGES

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


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", "vor 3 Wochen, 12. Mai 2026"),
        ("fr", "il y a 3 semaines, 12 mai 2026"),
        ("es", "hace 3 semanas, 12 de mayo de 2026"),
        ("pt", "há 3 semanas, 12 de maio de 2026"),
        ("it", "3 settimane fa, 12 maggio 2026"),
        ("nl", "3 weken geleden, 12 mei 2026"),
        ("sv", "för 3 veckor sedan, 12 maj 2026"),
        ("pl", "3 tygodnie temu, 12 maja 2026"),
        ("ru", "3 недели назад, 12 мая 2026 г."),
        ("tr", "3 hafta önce, 12 Mayıs 2026"),
        ("id", "3 minggu yang lalu, 12 Mei 2026"),
        ("vi", "3 tuần trước, ngày 12 tháng 5 năm 2026"),
        ("zh", "3周前, 2026年5月12日"),
        ("ja", "3週間前, 2026年5月12日"),
        ("ko", "3주 전, 2026년 5월 12일"),
        ("th", "3 สัปดาห์ที่แล้ว, 12 พฤษภาคม 2026"),
        ("en", "3 weeks ago, 12 May 2026"),
        ("fi", "3 weeks ago, 12 May 2026"),
        ("", "3 weeks ago, 12 May 2026"),
    ],
)
def test_a_memory_is_dated_in_the_language_of_the_chat(language: str, words: str) -> None:
    assert dated(NOW - timedelta(days=21), NOW, language=language) == words


@pytest.mark.parametrize(
    ("language", "days", "words"),
    [
        ("ru", 2, "2 дня назад"),
        ("ru", 5, "5 дней назад"),
        ("ru", 11, "11 дней назад"),
        ("ru", 21 * 366, "21 год назад"),
        ("ru", 12 * 366, "12 лет назад"),
        ("pl", 4, "4 dni temu"),
        ("pl", 22 * 366, "22 lata temu"),
        ("pl", 21 * 366, "21 lat temu"),
        ("fr", 1, "hier"),
        ("de", 70, "vor 2 Monaten"),
        ("ja", 0, "たった今"),
    ],
)
def test_numbers_take_the_form_that_the_language_asks_for(language: str, days: int, words: str) -> None:
    assert ago(NOW - timedelta(days=days), NOW, language) == words


def test_what_was_replaced_says_so_in_the_language_of_the_chat() -> None:
    assert earlier(NOW - timedelta(days=4), NOW, "de") == "früher, bis vor 4 Tagen"
    assert earlier(NOW - timedelta(days=4), NOW, "ja") == "以前, 4日前まで"
    assert earlier(None, NOW, "ru") == "раньше"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_phrase_has_its_place_for_the_rest(language: str) -> None:
    words = date_words(language)
    for phrase in (words.ago, words.until, words.said_by, words.thought_of):
        assert phrase.count("{}") == 1
    assert len(words.units.split(" ")) == 6
    assert len(words.months.split()) in {0, 12}
    for month in range(1, 13):
        assert "2026" in words.day(3, month, 2026)
