from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.repeats import is_repeat, shorten_loops

LONG = "The ferry drifts on, and nobody speaks of it."


def test_c31_the_same_again_is_noticed_whatever_its_marks() -> None:
    assert is_repeat("*The ferry drifts on* and nobody speaks of it!", ["Hello there, friend of mine.", LONG])
    assert not is_repeat(LONG + " Not tonight.", [LONG])
    assert not is_repeat(LONG, [])


def test_a_short_answer_may_come_twice_but_not_three_times() -> None:
    assert not is_repeat("Yes.", ["Yes."])
    assert is_repeat("yes!", ["No.", "Yes.", "Yes."])
    assert not is_repeat("Yes.", ["Yes.", "No.", "Yes."])


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        ("The river turns again. " * 40, "The river turns again."),
        (
            "Hi. " + "Left here. Right there, far off. " * 10 + "End.",
            "Hi. Left here. Right there, far off. End.",
        ),
        ("No. No. No.", "No. No. No."),
        ("No. No. No. No. No.", "No. No. No."),
        (
            "I know. I know it well enough. I know it well enough.",
            "I know. I know it well enough. I know it well enough.",
        ),
        ("and and and and and and and and and and so", "and and and so"),
        ("A" + "h" * 90 + "!", "Ahhh!"),
        ("河水转弯。" * 12, "河水转弯。" * 3),
        ("One line\n" * 9, "One line\nOne line\nOne line"),
        ("Just one. And another. And a third.", "Just one. And another. And a third."),
        ("```\n" + "x\n" * 20 + "```", "```\n" + "x\n" * 20 + "```"),
    ],
)
def test_loops_are_shortened(text: str, shorter: str) -> None:
    assert shorten_loops(text).strip() == shorter.strip()


@given(st.text(max_size=200))
def test_any_text_only_gets_shorter(text: str) -> None:
    assert len(shorten_loops(text)) <= len(text)


@given(st.lists(st.sampled_from(["Alpha beta gamma.", "Delta epsilon!", "Zeta eta theta?"]), max_size=12))
def test_nothing_said_is_lost_altogether(sentences: list[str]) -> None:
    shorter = shorten_loops(" ".join(sentences))
    assert all(sentence in shorter for sentence in sentences)
