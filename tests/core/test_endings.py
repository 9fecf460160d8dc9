from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.endings import close_open, to_last_sentence


@pytest.mark.parametrize(
    ("cut", "kept"),
    [
        ("He nods. She waits. and then she op", "He nods. She waits."),
        ('"Come in!" she says. "Sit do', '"Come in!" she says.'),
        ('He says "Come in." Then he', 'He says "Come in."'),
        ("*She nods.* And th", "*She nods.*"),
        ("*nods slowly* Hello th", "*nods slowly*"),
        ("他点了点头。她等", "他点了点头。"),
        ("「行こう。」彼は", "「行こう。」"),
        ("هل أنت هنا؟ ثم ذهب إل", "هل أنت هنا؟"),
        ("वह आया। फिर वह", "वह आया।"),
        ("เขาพยักหน้า แล้วเดินออ", "เขาพยักหน้า"),
        ("It was Dr. Vale who came to the do", "It was Dr. Vale who came to the…"),
        ("It costs 3.50 in to", "It costs 3.50 in…"),
        ("One line\nand a half li", "One line"),
        ("No. " + "word " * 40 + "wo", "No. " + ("word " * 40).strip() + "…"),
        ("All is well.", "All is well."),
        ("Supercalifragil", "Supercalifragil…"),
        ("Look:\n```py\nx = 1\ny = ", "Look:\n```py\nx = 1"),
    ],
)
def test_a_cut_text_goes_back_to_its_last_sentence(cut: str, kept: str) -> None:
    assert to_last_sentence(cut) == kept


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("*She smiles", "*She smiles*"),
        ("**Loud", "**Loud**"),
        ("||secret", "||secret||"),
        ('"Come in', '"Come in"'),
        ('*She says "come', '*She says "come"*'),
        ("“Come", "“Come”"),
        ("「来い", "「来い」"),
        ("Hello *", "Hello"),
        ("```py\nx = 1", "```py\nx = 1\n```"),
        ("Look:\n```", "Look:"),
        ("*a* and *b*", "*a* and *b*"),
        ("5 * 3 and 2 * 4", "5 * 3 and 2 * 4"),
        ("* a list\n* of two", "* a list\n* of two"),
        ('snake_case and 5" pipes', 'snake_case and 5" pipes'),
        ("*She waits\n\nIt rains.", "*She waits*\n\nIt rains."),
        ("it's fine", "it's fine"),
        ("https://a.b/_x *ok", "https://a.b/_x *ok*"),
        ("**bold *both", "**bold *both***"),
    ],
)
def test_what_is_open_is_closed(text: str, closed: str) -> None:
    assert close_open(text) == closed


@given(st.text(alphabet='ab *_|`~"“”.\n', max_size=60))
def test_closing_never_loses_words(text: str) -> None:
    letters = [c for c in text if c in "ab"]
    assert [c for c in close_open(text) if c in "ab"] == letters


@given(st.text(max_size=80))
def test_any_cut_text_is_a_beginning_of_itself(text: str) -> None:
    kept = to_last_sentence(text)
    assert text.startswith(kept.removesuffix("…")) or not text.strip()
