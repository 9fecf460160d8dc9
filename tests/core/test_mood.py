"""Moods: roused by what is heard, fading over turns and hours, described in words."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from bot.core import mood as moods
from bot.core.emotion import EMOTIONS, FLAT, clamp
from bot.core.mood import Mood
from bot.core.vectors import Vector

NOW = datetime(2026, 5, 1, 20, 0, tzinfo=UTC)
TURN = timedelta(seconds=30)


def feeling(**scores: float) -> Vector:
    return clamp([scores.get(name, 1.0) for name in EMOTIONS])


CALM = feeling(joy=3, acceptance=3)


def heard(times: int, emotion: Vector, start: Mood | None = None, weight: float = 1.0) -> Mood:
    mood = start or moods.at_rest(CALM, NOW)
    for _ in range(times):
        mood = moods.update(mood, temperament=CALM, heard=emotion, now=mood.updated_at + TURN, weight=weight)
    return mood


def of(mood: Mood, name: str) -> float:
    return float(moods.current(mood)[EMOTIONS.index(name)])


def test_at_rest_the_mood_is_the_temperament() -> None:
    assert moods.current(moods.at_rest(CALM, NOW)).tolist() == CALM.tolist()


def test_one_angry_line_is_felt_at_once() -> None:
    mood = heard(1, feeling(anger=9))
    assert of(mood, "anger") > 5
    assert mood.updated_at == NOW + TURN


def test_a_reaction_fades_over_a_few_quiet_turns() -> None:
    mood = heard(1, feeling(anger=9))
    values = [of(mood, "anger")]
    for _ in range(6):
        mood = heard(1, FLAT, mood)
        values.append(of(mood, "anger"))
    assert values == sorted(values, reverse=True)
    assert values[-1] < 2.5


def test_a_feeling_presses_down_its_opposite() -> None:
    assert of(heard(3, feeling(sadness=9)), "joy") < CALM[0]


def test_a_quiet_voice_wears_no_temperament_away() -> None:
    assert moods.current(heard(200, FLAT)) == pytest.approx(CALM, abs=1e-4)


def test_the_slow_part_remembers_an_evening_and_forgets_it_in_days() -> None:
    evening = heard(40, feeling(fear=8))
    later = moods.decay(evening, CALM, evening.updated_at + timedelta(hours=2))
    assert of(later, "fear") > 3
    days = moods.decay(evening, CALM, evening.updated_at + timedelta(days=4))
    assert moods.current(days) == pytest.approx(CALM, abs=0.01)


def test_half_of_the_slow_part_is_left_after_its_half_life() -> None:
    mood = Mood(slow=tuple(feeling(fear=9).tolist()), fast=tuple(FLAT.tolist()), updated_at=NOW)
    half = moods.decay(mood, FLAT, NOW + moods.SLOW_HALF_LIFE)
    assert half.slow[2] == pytest.approx(5)


def test_a_clock_set_back_changes_nothing() -> None:
    mood = heard(2, feeling(joy=9))
    assert moods.decay(mood, CALM, NOW - timedelta(days=1)) == mood
    updated = moods.update(mood, temperament=CALM, heard=None, now=NOW - timedelta(days=1))
    assert updated.updated_at == mood.updated_at


def test_an_unknown_feeling_only_lets_the_reaction_fade() -> None:
    mood = heard(1, feeling(anger=9))
    later = moods.update(mood, temperament=CALM, heard=None, now=mood.updated_at)
    assert of(later, "anger") < of(mood, "anger")
    assert later.slow == mood.slow


def test_weight_scales_what_is_taken_in() -> None:
    strong, weak = heard(1, feeling(anger=9)), heard(1, feeling(anger=9), weight=0.3)
    none = heard(1, feeling(anger=9), weight=0)
    assert of(strong, "anger") > of(weak, "anger") > of(none, "anger") == 1
    assert heard(1, feeling(anger=9), weight=7) == strong


def test_a_reaction_never_exceeds_what_was_felt() -> None:
    mood = heard(30, feeling(surprise=6))
    assert max(mood.fast) <= 6.0001


@pytest.mark.parametrize("name", EMOTIONS)
def test_numbers_stay_on_the_scale(name: str) -> None:
    mood = heard(100, feeling(**{name: 10}))
    for part in (mood.slow, mood.fast, moods.current(mood)):
        assert min(part) >= 1
        assert max(part) <= 10


def test_the_query_mixes_mood_and_words() -> None:
    mood = moods.at_rest(feeling(sadness=8), NOW)
    mixed = moods.query_emotion(mood, feeling(joy=9))
    assert mixed is not None
    assert 1 < mixed[0] < 9
    assert 1 < mixed[4] < 8


def test_the_query_does_with_what_is_known() -> None:
    mood = moods.at_rest(CALM, NOW)
    assert moods.query_emotion(None, None) is None
    alone = moods.query_emotion(mood, None)
    words = moods.query_emotion(None, feeling(joy=9))
    assert alone is not None
    assert alone.tolist() == CALM.tolist()
    assert words is not None
    assert words[0] == 9


def test_a_mood_survives_storage() -> None:
    mood = heard(3, feeling(fear=7.5))
    again = moods.from_json(moods.to_json(mood))
    assert again.updated_at == mood.updated_at
    assert np.allclose(again.slow, mood.slow, atol=1e-3)
    assert np.allclose(again.fast, mood.fast, atol=1e-3)


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"slow": [1] * 8},
        {"slow": [1] * 7, "fast": [1] * 8, "updated_at": NOW.isoformat()},
        {"slow": [1] * 8, "fast": [1] * 8, "updated_at": "2026-05-01T20:00:00"},
        {"slow": [1] * 8, "fast": [1] * 8, "updated_at": 5},
        {"slow": None, "fast": [1] * 8, "updated_at": NOW.isoformat()},
        {"slow": ["a"] * 8, "fast": [1] * 8, "updated_at": NOW.isoformat()},
    ],
)
def test_what_is_no_mood_is_refused(stored: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        moods.from_json(stored)


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        (FLAT, "calm"),
        (feeling(fear=3, anticipation=2.6), "uneasy, a little hopeful"),
        (feeling(anger=9, sadness=5), "furious, sad"),
        (feeling(joy=2), "calm"),
    ],
)
def test_moods_are_put_into_words(vector: Vector, words: str) -> None:
    assert moods.describe(vector) == words
    assert moods.describe(moods.at_rest(vector, NOW)) == words
