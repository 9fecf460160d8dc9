"""A forgotten member's names leave what others said, and nothing else does."""

from __future__ import annotations

import pytest

from bot.core.redaction import Names


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("Ana", "Ana, come here! Anabel waits for Ana.", "somebody, come here! Anabel waits for somebody."),
        ("Will", "I will go, said Will.", "I will go, said somebody."),
        ("Sir  Bob", "Sir Bob and Bob", "somebody and Bob"),
        ("★Fox★", "I met ★Fox★!", "I met somebody!"),
        ("유나", "유나는 어디에?", "somebody는 어디에?"),
        ("Zoë", "Zoë's hat", "somebody's hat"),
        ("a.b", "acb a.b", "acb somebody"),
        ("[Rex]", "(Rex) barks at [Rex].", "somebody barks at somebody."),
        ("A", "A cup for A.", "A cup for A."),
        ("", "Nobody.", "Nobody."),
    ],
)
def test_names_go_as_whole_words_in_their_own_spelling(name: str, text: str, left: str) -> None:
    assert Names([name]).out_of(text) == left


def test_longer_names_go_first() -> None:
    assert Names(["Ana", "Ana Maria"]).out_of("Ana Maria and Ana") == "somebody and somebody"


def test_any_case_counts_for_finding() -> None:
    names = Names(["Ana"])
    assert names.in_text("I saw ANA.")
    assert not names.in_text("I saw Anabel.")


def test_a_name_that_somebody_else_has_is_left() -> None:
    names = Names(["Ana", "Fox"], shared=["ＡＮＡ"])
    assert names.all == ("Fox",)
    assert not Names(["Ana"], shared=["ana"])
    assert not Names([]).in_text("Ana")
