"""Relations grow slowly out of how a member spoke to a persona."""

from __future__ import annotations

import numpy as np
import pytest

from bot.core.relations import PRIOR, Relation, describe, in_words, relation
from bot.core.vectors import Vector


def felt(**feelings: float) -> Vector:
    names = ("joy", "acceptance", "fear", "surprise", "sadness", "disgust", "anger", "anticipation")
    return np.array([feelings.get(name, 1.0) for name in names], dtype=np.float32)


KIND, CRUEL, EVEN = felt(joy=8, acceptance=6), felt(anger=8, disgust=6), felt()


def test_nothing_said_is_no_relation() -> None:
    assert relation([]) == Relation()


def test_one_kind_word_moves_little_and_many_move_much() -> None:
    one, many = relation([KIND]), relation([KIND] * 30)
    assert 0 < one.warmth < 0.15
    assert many.warmth > 3 * one.warmth
    assert (one.evidence, many.evidence) == (1, 30)
    assert all(abs(value) <= 1 for value in (many.warmth, many.trust, many.tension))


def test_a_change_of_tone_shows_over_time() -> None:
    steps = [relation([KIND] * 30 + [CRUEL] * number).warmth for number in (0, 5, 40)]
    assert steps[0] > steps[1] > 0 > steps[2]


def test_newer_turns_count_more() -> None:
    assert relation([CRUEL] * 10 + [KIND] * 10).warmth > relation([KIND] * 10 + [CRUEL] * 10).warmth


def test_even_talk_stays_indifferent() -> None:
    assert relation([EVEN] * 50) == Relation(0.0, 0.0, 0.0, 50)


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (Relation(0.4, 0.3, 0.0, 9), "fond of Alice (trusting)"),
        (Relation(0.2, 0.0, 0.0, 9), "warm towards Alice"),
        (Relation(0.0, -0.3, 0.2, 9), "distrustful and tense towards Alice"),
        (Relation(-0.2, 0.0, 0.0, 9), "cool towards Alice"),
        (Relation(-0.5, -0.4, 0.5, 9), "hostile to Alice (distrustful, tense)"),
        (Relation(0.0, 0.0, 0.0, 9), ""),
        (Relation(0.9, 0.9, 0.0, 2), ""),
    ],
)
def test_words_for_a_relation(one: Relation, words: str) -> None:
    assert describe(one, "Alice") == words


def test_one_line_for_those_present() -> None:
    some = {"Alice": Relation(0.4, 0.0, 0.0, 9), "Bob": Relation(evidence=9), "Caro": Relation(-0.2, 0, 0, 5)}
    assert in_words(some) == "fond of Alice; cool towards Caro"
    assert PRIOR > 1
