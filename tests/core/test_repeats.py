from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.repeats import echo, is_repeat, shorten_loops

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


LAMP = "The lamp hangs low over the water, and nobody on this ferry asks for names tonight."


@pytest.mark.parametrize(
    ("text", "recent", "least", "most"),
    [
        (LAMP, [LAMP], 0.99, 1.0),
        (f"Well. {LAMP}", ["Something else.", LAMP.upper()], 0.9, 1.0),
        (
            f"{LAMP} But you may sit by the stove, eat, and tell me who follows you across the hills.",
            [LAMP],
            0.4,
            0.6,
        ),
        ("You may sit by the stove, eat, and tell me who follows you across the hills.", [LAMP], 0.0, 0.0),
        ("The lamp hangs low over the water.", [LAMP], 0.0, 0.0),
        (
            "雨の夜には灯りを低くします。川はそれを好むのです。私もそうです。",
            ["さあ、雨の夜には灯りを低くします。川はそれを好むのです。"],
            0.7,
            1.0,
        ),
        (
            "비 오는 밤에는 등불을 낮게 겁니다. 강이 그것을 좋아하니까요.",
            ["비 오는 밤에는 등불을 낮게 겁니다. 강이 그것을 좋아하니까요! 네."],
            0.9,
            1.0,
        ),
        ("雨の夜には灯りを低くします。", ["雨の夜には灯りを低くします。"], 0.0, 0.0),
        ("", [LAMP], 0.0, 0.0),
        (LAMP, [], 0.0, 0.0),
    ],
)
def test_what_is_said_again_counts_by_its_share(
    text: str, recent: list[str], least: float, most: float
) -> None:
    assert least <= echo(text, recent) <= most


def test_pieces_of_several_replies_count_together() -> None:
    one, two = (
        "The river keeps what it takes, and it takes what it likes.",
        "Nobody asks for names on this ferry tonight.",
    )
    assert echo(f"{two} {one}", [one, two]) > 0.9


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=4))
def test_an_echo_is_a_share(text: str, recent: list[str]) -> None:
    assert 0.0 <= echo(text, recent) <= 1.0
