"""Which samples a prompt shows, and which replies become samples."""

from __future__ import annotations

import numpy as np
import pytest

from bot.core.emotion import EMOTIONS, FLAT, clamp
from bot.core.samples import FIRST_FEW, MOST_KEPT, REPLIES_BETWEEN, fitting, is_wanted
from bot.core.types import StyleSample
from bot.core.vectors import Vector


def feeling(**scores: float) -> Vector:
    return clamp([scores.get(name, 1.0) for name in EMOTIONS])


GLAD, ANGRY, AFRAID = feeling(joy=9), feeling(anger=9), feeling(fear=9)


def sample(
    number: int, emotion: Vector | None = None, *, pinned: bool = False, text: str = ""
) -> StyleSample:
    return StyleSample(number, 1, text or f"Sample number {number}.", number, 7, pinned, emotion)


def ids(samples: tuple[StyleSample, ...]) -> list[int]:
    return [one.id for one in samples]


MANY = [
    sample(1, GLAD),
    sample(2, ANGRY),
    sample(3, AFRAID),
    sample(4, ANGRY),
    sample(5, GLAD),
    sample(6, ANGRY),
]


def test_a_few_are_all_shown_whatever_the_mood() -> None:
    assert ids(fitting(MANY[:3], ANGRY)) == [1, 2, 3]
    assert fitting([], ANGRY) == ()


def test_of_many_those_of_the_mood_are_shown_in_the_order_they_were_made() -> None:
    assert ids(fitting(MANY, ANGRY)) == [2, 4, 6]
    assert ids(fitting(MANY, feeling(joy=8, acceptance=2)))[:1] == [1]
    assert 5 in ids(fitting(MANY, GLAD))


def test_without_a_mood_that_stands_out_the_oldest_are_shown() -> None:
    assert ids(fitting(MANY, FLAT)) == [1, 2, 3]


def test_pinned_ones_come_first_whatever_the_mood() -> None:
    pinned = [*MANY, sample(7, GLAD, pinned=True)]
    assert ids(fitting(pinned, ANGRY)) == [2, 4, 7]
    assert 7 in ids(fitting(pinned, FLAT))
    four = [sample(n, GLAD, pinned=True) for n in range(11, 15)]
    assert set(ids(fitting([*MANY, *four], ANGRY))) <= {11, 12, 13, 14}


def test_one_of_unknown_feeling_counts_as_average() -> None:
    shown = ids(fitting([*MANY[:3], sample(9), sample(10, ANGRY)], ANGRY))
    assert shown == [2, 9, 10]
    assert ids(fitting([sample(n) for n in range(1, 6)], ANGRY)) == [1, 2, 3]


def test_what_is_shown_stays_while_the_mood_moves_a_little() -> None:
    before = ids(fitting(MANY, feeling(anger=6, fear=5)))
    assert ids(fitting(MANY, feeling(anger=5.5, fear=6), shown=before)) == before
    assert ids(fitting(MANY, GLAD, shown=before)) != before


def test_a_new_pin_or_a_lost_sample_changes_what_is_shown() -> None:
    pinned = [*MANY, sample(7, GLAD, pinned=True)]
    assert 7 in ids(fitting(pinned, ANGRY, shown=[2, 4, 6]))
    assert ids(fitting(MANY[:5], ANGRY, shown=[2, 4, 6])) != [2, 4]


# ---------------------------------------------------------------- new ones
GOOD = "A reply of her own, long enough to tell how she sounds when the lamp burns low."


def test_the_first_good_replies_become_samples() -> None:
    for count in range(FIRST_FEW):
        assert is_wanted(GOOD, [sample(n) for n in range(1, count + 1)], [])
    assert not is_wanted("Too short.", [], [])


def test_later_ones_are_spaced_and_bounded() -> None:
    few = [sample(n) for n in range(1, FIRST_FEW + 1)]
    assert not is_wanted(GOOD, few, list(range(1, FIRST_FEW + REPLIES_BETWEEN)))
    assert is_wanted(GOOD, few, list(range(1, FIRST_FEW + REPLIES_BETWEEN + 1)))
    full = [sample(n) for n in range(1, MOST_KEPT + 1)]
    assert not is_wanted(GOOD, full, list(range(1, 100)))


def test_what_moderators_gave_does_not_count_and_a_copy_is_no_second_sample() -> None:
    given = [StyleSample(n, 1, "Given.") for n in range(1, 6)]
    assert is_wanted(GOOD, given, [])
    assert not is_wanted(f"Well: {GOOD}", [sample(1, text=GOOD)], [])


@pytest.mark.parametrize("mood", [ANGRY, np.ones(8) * 5])
def test_never_more_than_three(mood: Vector) -> None:
    assert len(fitting([sample(n, GLAD, pinned=n % 2 == 0) for n in range(1, 30)], mood)) == 3
