"""A remark is tinted by the turns before it; a question is not."""

from __future__ import annotations

import numpy as np

from bot.core.query_context import blended, context_of
from bot.core.types import TurnKind
from tests.core.scene_parts import said, turn

TURNS = [
    turn("The old mill burnt.", turn_id=1),
    said("Nobody was hurt.", 2),
    turn("brb", turn_id=3, kind=TurnKind.OUT_OF_CHARACTER),
    turn("It still smells of it.", turn_id=4),
]
AXES = np.eye(3, dtype=np.float32)


def test_a_remark_takes_the_two_turns_before_it_the_nearest_first() -> None:
    assert [one.id for one in context_of("It still smells of it.", TURNS, {4})] == [2, 1]


def test_a_question_says_itself_what_it_wants() -> None:
    assert context_of("Who burnt it?", TURNS, {4}) == []


def test_a_remark_that_says_enough_needs_no_context() -> None:
    assert context_of("Please saddle the brown horse quickly.", TURNS, {4}) == []


def test_the_remark_itself_weighs_most() -> None:
    mixed = blended(AXES[0], [AXES[1], AXES[2]])
    assert np.isclose(np.linalg.norm(mixed), 1.0)
    assert mixed[0] > 3 * mixed[1]
    assert mixed[1] > mixed[2] > 0


def test_turns_that_are_not_embedded_yet_are_left_out() -> None:
    assert np.allclose(blended(AXES[0], []), AXES[0])
    without = blended(AXES[0], [None, AXES[2]])
    assert without[1] == 0 < without[2]
