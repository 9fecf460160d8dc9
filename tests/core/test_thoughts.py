"""Thoughts leave the text, whole or in pieces."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.core.thoughts import CLOSING, OPENING, ThoughtFilter


@pytest.mark.parametrize(
    ("answer", "visible"),
    [
        ("Good evening.", "Good evening."),
        ("<think>plan: lie to Bob</think>\nGood evening.", "Good evening."),
        ("<think></think>Hi", "Hi"),
        ("<THINKING>hm</Thinking>\n\nHi", "Hi"),
        ("[THINK]hm[/THINK]Hi", "Hi"),
        ("◁think▷hm◁/think▷Hi", "Hi"),
        ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi", "Hi"),
        ("<think>a</think>One.<think>b</think> Two.", "One. Two."),
        ("One. <think>b</think> Two.", "One. Two."),
        ("One.\n<think>b</think>\nTwo.", "One.\nTwo."),
        ("<think>I should use <think> here</think>Hi", "Hi"),
        ("<think>a <think>b</think> c</think> Hi", "Hi"),
        ("<think>never closed", ""),
        ("Hi. <think>never closed", "Hi. "),
        ("plan: lie to Bob\n</think>\nGood evening.", "Good evening."),
        ("plan</think>", ""),
        ("Five < six, and <thin> is no tag", "Five < six, and <thin> is no tag"),
        ("it ends in <thin", "it ends in <thin"),
        ("", ""),
    ],
)
def test_only_what_may_be_seen_is_left(answer: str, visible: str) -> None:
    assert without_thoughts(answer) == visible


def without_thoughts(answer: str) -> str:
    thoughts = ThoughtFilter()
    thoughts.feed(answer)
    thoughts.finish()
    return thoughts.text


def pieces_of(text: str, cuts: list[int]) -> list[str]:
    places = sorted({cut % (len(text) + 1) for cut in cuts} | {0, len(text)})
    return [text[start:end] for start, end in itertools.pairwise(places)]


answers = st.lists(
    st.one_of(
        st.sampled_from([*OPENING, *CLOSING, " ", "\n", "<", "<th", "</think", "[/"]), st.text(max_size=6)
    ),
    max_size=10,
).map("".join)


@given(answers, st.lists(st.integers(0, 200), max_size=30), st.booleans())
@example("<think>plan</think>\nGood", list(range(40)), False)
@example("plan</think>\nGood", list(range(40)), True)
def test_any_cutting_into_pieces_gives_the_same_text(answer: str, cuts: list[int], hold: bool) -> None:
    thoughts = ThoughtFilter(hold_start=hold)
    shown = "".join(thoughts.feed(piece) for piece in pieces_of(answer, cuts)) + thoughts.finish()
    assert thoughts.text == without_thoughts(answer)
    if not thoughts.headless:
        assert shown == thoughts.text


@given(st.text(alphabet=st.characters(blacklist_characters="<[◁"), max_size=40))
def test_text_without_tags_is_untouched_but_for_leading_space(answer: str) -> None:
    assert without_thoughts(answer) == answer.lstrip()


def test_pieces_are_shown_as_early_as_they_are_certain() -> None:
    thoughts = ThoughtFilter()
    shown = [thoughts.feed(piece) for piece in ("Hel", "lo <", "3 you <th", "ink>no</thi", "nk>. Bye")]
    assert shown == ["Hel", "lo ", "<3 you ", "", ". Bye"]
    assert thoughts.finish() == ""


def test_held_start_shows_nothing_of_a_thought_without_an_opening() -> None:
    thoughts = ThoughtFilter(hold_start=True)
    assert thoughts.feed("plan: lie to Bob") == ""
    assert thoughts.feed("</think>\nGood ") == "Good "
    assert thoughts.feed("evening.") == "evening."
    assert thoughts.headless


def test_held_start_lets_go_at_the_end_or_at_an_opening() -> None:
    ended, opened = ThoughtFilter(hold_start=True), ThoughtFilter(hold_start=True)
    assert ended.feed("Hello.") == ""
    assert ended.finish() == "Hello."
    assert opened.feed("Hello. <think>") == "Hello. "
    assert opened.thinking
    assert not opened.headless
