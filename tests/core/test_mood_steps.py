"""What moved a mood can be taken back, and says where the mood comes from."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import mood as moods
from bot.core.emotion import EMOTIONS, clamp
from bot.core.mood import Mood, Step
from bot.core.mood_steps import MOST_STEPS, cause, moved, without

NOW = datetime(2026, 5, 1, 20, 0, tzinfo=UTC)
TURN = timedelta(seconds=40)


def feeling(**scores: float) -> tuple[float, ...]:
    return tuple(float(value) for value in clamp([scores.get(name, 1.0) for name in EMOTIONS]))


CALM = feeling(joy=3, acceptance=3)
REST = moods.at_rest(CALM, NOW)


def after(*feelings: tuple[float, ...], first_id: int = 1, start: Mood = REST) -> Mood:
    mood = start
    for number, felt in enumerate(feelings):
        step = Step(first_id + number, felt, start.updated_at + TURN * (number + 1))
        mood = moved(mood, step, temperament=CALM)
    return mood


def values(mood: Mood) -> list[float]:
    return [*mood.slow, *mood.fast]


def test_a_mood_with_steps_is_the_one_that_updates_give() -> None:
    plain = REST
    for number, felt in enumerate((feeling(anger=8), feeling(joy=6)), 1):
        plain = moods.update(plain, temperament=CALM, heard=felt, now=NOW + TURN * number)
    assert values(after(feeling(anger=8), feeling(joy=6))) == pytest.approx(values(plain))


@pytest.mark.parametrize("gone", [1, 2, 3])
def test_a_turn_taken_back_leaves_the_mood_it_would_have_been(gone: int) -> None:
    felt = [feeling(anger=9), feeling(fear=8), feeling(joy=7)]
    whole = after(*felt)
    rest = [Step(n, f, NOW + TURN * n) for n, f in enumerate(felt, 1) if n != gone]
    expected = REST
    for step in rest:
        expected = moved(expected, step, temperament=CALM)
    expected = moods.decay(expected, CALM, whole.updated_at)
    taken = without(whole, {gone}, temperament=CALM)
    assert values(taken) == pytest.approx(values(expected), abs=1e-4)
    assert [step.turn_id for step in taken.steps] == [n for n in (1, 2, 3) if n != gone]
    assert taken.updated_at == whole.updated_at


def test_all_taken_back_is_the_mood_at_rest() -> None:
    taken = without(after(feeling(anger=9), feeling(fear=9)), {1, 2}, temperament=CALM)
    assert moods.current(taken) == pytest.approx(CALM, abs=1e-4)


def test_turns_that_never_moved_it_change_nothing() -> None:
    mood = after(feeling(anger=9))
    assert without(mood, {7, 8}, temperament=CALM) is mood
    assert without(REST, {1}, temperament=CALM) is REST


def test_a_reworded_turn_counts_once() -> None:
    mood = after(feeling(anger=9))
    again = moved(mood, Step(1, feeling(joy=9), NOW + TURN * 2), temperament=CALM)
    only = moved(
        moods.decay(REST, CALM, NOW + TURN), Step(1, feeling(joy=9), NOW + TURN * 2), temperament=CALM
    )
    assert [step.turn_id for step in again.steps] == [1]
    assert values(again) == pytest.approx(values(only), abs=1e-3)


def test_old_steps_become_part_of_the_start() -> None:
    felt = [feeling(anger=5), feeling(joy=5)] * MOST_STEPS
    mood = after(*felt)
    assert len(mood.steps) == MOST_STEPS
    assert mood.steps[0].turn_id == MOST_STEPS + 1
    plain = REST
    for number, one in enumerate(felt, 1):
        plain = moods.update(plain, temperament=CALM, heard=one, now=NOW + TURN * number)
    assert values(mood) == pytest.approx(values(plain))


def test_it_is_stored_with_its_steps_and_a_mood_from_before_them_is_read() -> None:
    mood = after(feeling(anger=9), feeling(joy=5))
    back = moods.from_json(json.loads(json.dumps(moods.to_json(mood))))
    assert back.steps == mood.steps
    assert values(without(back, {1}, temperament=CALM)) == pytest.approx(
        values(without(mood, {1}, temperament=CALM)), abs=0.01
    )
    old = moods.from_json({"slow": list(CALM), "fast": [1.0] * 8, "updated_at": NOW.isoformat()})
    assert (old.steps, old.start) == ((), None)
    assert moved(old, Step(5, feeling(fear=9), NOW + TURN), temperament=CALM).start is not None


@pytest.mark.parametrize("steps", [[[1, "now", [1] * 8]], [[1]], 3, [[1, NOW.isoformat(), [1]]]])
def test_broken_steps_are_told(steps: object) -> None:
    whole = {"slow": list(CALM), "fast": [1.0] * 8, "updated_at": NOW.isoformat()}
    with pytest.raises(ValueError):
        moods.from_json({**whole, "start": whole, "steps": steps})


# ---------------------------------------------------------------- the cause
def caused(mood: Mood, *, now: datetime | None = None, also: Step | None = None) -> int | None:
    steps = [*mood.steps, also] if also else list(mood.steps)
    found = cause(mood, steps, temperament=CALM, now=now or mood.updated_at)
    return found.turn_id if found else None


def test_the_turn_that_moved_it_most_is_the_cause() -> None:
    assert caused(after(feeling(), feeling(anger=9), feeling(), feeling(joy=3))) == 2


def test_the_cause_fits_the_feeling_that_stands_out() -> None:
    mood = after(feeling(anger=9), feeling(sadness=9), feeling(sadness=9))
    assert caused(mood) == 3


def test_what_is_just_being_heard_may_be_the_cause() -> None:
    mood = after(feeling(anger=6), feeling(), feeling())
    now = mood.updated_at + TURN
    step = Step(9, feeling(anger=9), now)
    felt = moods.update(mood, temperament=CALM, heard=step.emotion, now=now)
    assert cause(felt, [*mood.steps, step], temperament=CALM, now=now) is step


def test_a_calm_mood_and_a_faded_one_have_no_cause() -> None:
    assert caused(after(feeling(), feeling(joy=1.5))) is None
    assert caused(REST) is None
    mood = after(feeling(anger=9))
    later = mood.updated_at + timedelta(days=2)
    assert cause(moods.decay(mood, CALM, later), mood.steps, temperament=CALM, now=later) is None


FEELINGS = st.lists(st.floats(1, 10), min_size=8, max_size=8).map(tuple)


@given(st.lists(FEELINGS, max_size=30), st.sets(st.integers(1, 30)))
def test_taking_back_never_leaves_the_scale(felt: list[tuple[float, ...]], gone: set[int]) -> None:
    mood = without(after(*felt), gone, temperament=CALM)
    assert all(1.0 <= value <= 10.0 for value in values(mood))
    assert not {step.turn_id for step in mood.steps} & gone
