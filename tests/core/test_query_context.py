"""A remark is tinted by the turns before it; a question is not."""

from __future__ import annotations

import numpy as np

from bot.core.query_context import CHARACTERS, blended, context_of
from bot.core.types import TurnKind
from tests.core.scene_parts import said, turn

TURNS = [
    turn("The old mill burnt.", turn_id=1),
    said("Nobody was hurt.", 2),
    turn("brb", turn_id=3, kind=TurnKind.OUT_OF_CHARACTER),
    turn("It still smells of it.", turn_id=4),
]


def test_a_remark_takes_the_two_turns_before_it_the_nearest_first() -> None:
    assert context_of("It still smells of it.", TURNS, {4}) == ["Nobody was hurt.", "The old mill burnt."]


def test_a_question_says_itself_what_it_wants() -> None:
    assert context_of("Who burnt it?", TURNS, {4}) == []


def test_only_the_end_of_a_long_turn_counts() -> None:
    long = turn("x" * 900, turn_id=1)
    assert context_of("Hm.", [long], ()) == ["x" * CHARACTERS]


def test_the_remark_itself_weighs_most() -> None:
    axes = np.eye(3, dtype=np.float32)
    mixed = blended(axes)
    assert np.isclose(np.linalg.norm(mixed), 1.0)
    assert mixed[0] > 3 * mixed[1]
    assert mixed[1] > mixed[2] > 0
    assert np.array_equal(blended(axes[:1]), axes[0])
