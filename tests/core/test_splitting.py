from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.graphemes import may_cut
from bot.core.splitting import length, pieces, split

PARAGRAPH = ("The river turned once more and the lantern swung over the black water. " * 6)[:398] + "."


def _bare(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_short_text_is_one_message() -> None:
    assert split("Hello.") == ["Hello."]
    assert split("x" * 2000) == ["x" * 2000]


def test_nothing_makes_no_message() -> None:
    assert split("") == split(" \n\n ") == []


def test_c01_a_long_reply_comes_whole_in_as_few_messages_as_needed() -> None:
    text = "\n\n".join([PARAGRAPH] * 12)
    parts = split(text)
    assert len(text) > 4800
    assert len(parts) == 3
    assert "\n\n".join(parts) == text


def test_c02_a_long_fence_stays_balanced_with_its_language() -> None:
    code = [f"line_{number:03} = value + {number:03}" for number in range(300)]
    text = "Here it is:\n```python\n" + "\n".join(code) + "\n```\nThat was it."
    parts = split(text)
    assert all(part.count("```") == 2 and length(part) <= 2000 for part in parts)
    assert all("```python\n" in part for part in parts)
    lines = [line for part in parts for line in part.split("\n") if not line.startswith("```")]
    assert lines == ["Here it is:", *code, "That was it."]


def test_a_sentence_is_not_torn_when_it_needs_not_be() -> None:
    text = " ".join(f"Sentence number {number} walks along the quay." for number in range(120))
    assert all(part.endswith(".") for part in split(text))


@pytest.mark.parametrize("mark", ["||", "**", "*", "__", "~~", "***", "_", "`"])
def test_marks_are_closed_and_opened_again(mark: str) -> None:
    text = f"Before. {mark}{'word ' * 500}end{mark} After."
    parts = split(text)
    assert len(parts) == 2
    assert parts[0].endswith(f"word{mark}")
    assert parts[1].startswith(f"{mark}word")


def test_nested_marks_close_in_order() -> None:
    parts = split("||**" + "word " * 500 + "end**||")
    assert parts[0].endswith("word**||")
    assert parts[1].startswith("||**word")


@pytest.mark.parametrize(
    "atom",
    [
        "https://example.org/a/very/long/path?with=query&and=more#part",
        "[the old map of the river](https://example.org/map_(1).png)",
        "<:blobcat:123456789012345678>",
        "<a:dancing_cat:123456789012345678>",
        "<@123456789012345678>",
        "<t:1700000000:R>",
        "👩\u200d👩\u200d👧\u200d👦",
        "👍🏽",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "e\u0301\u0323",
        "🇫🇷",
        "क्ष",
        "\u1100\u1161\u11a8",
    ],
)
def test_what_belongs_together_stays_together(atom: str) -> None:
    for shift in range(60):
        parts = split("a" * (1960 + shift) + atom + "b" * 400)
        assert "".join(parts) == "a" * (1960 + shift) + atom + "b" * 400
        assert any(atom in part for part in parts)


def test_flags_are_cut_between_and_never_through() -> None:
    parts = split("🇫🇷" * 700)
    assert all(len(part) % 2 == 0 and length(part) <= 2000 for part in parts)


def test_what_is_longer_than_a_message_is_cut_all_the_same() -> None:
    link = "https://example.org/" + "x" * 3000
    assert "".join(split(link)) == link
    zalgo = "a" + "\u0301" * 5000
    assert "".join(split(zalgo)) == zalgo


def test_emoji_count_twice() -> None:
    assert all(length(part) <= 2000 for part in split("🦊" * 1500))


def test_an_open_fence_is_closed() -> None:
    assert split("look:\n```\ncode") == ["look:\n```\ncode\n```"]


def test_chinese_is_cut_after_its_sentences() -> None:
    parts = split("河水又转了一个弯，灯笼在黑水上摇晃。" * 200)
    assert len(parts) == 2
    assert all(part.endswith("。") for part in parts)


def test_an_unusable_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="80"):
        split("x", 10)


MARKED = [
    *("**bold**", "*it*", "||secret||", "_x_", "`code`", "https://a.b/c", "<:x:1>", "<@12>", "e\u0301", "🇫🇷"),
    *("\n\n", "```py\nx = 1\ny\n```", "👩\u200d👧", "* item\n", "5 * 3", "||", "**", "`", "。", "\\*"),
]
WORDS = st.lists(
    st.one_of(
        st.text(alphabet="abc .!?\n", min_size=1, max_size=30),
        st.sampled_from(MARKED),
        st.text(max_size=10),
    ),
    max_size=60,
)


@settings(max_examples=300)
@given(WORDS, st.integers(80, 200))
def test_any_text_comes_whole(words: list[str], limit: int) -> None:
    text = "".join(words)
    closed = text.strip("\n") + ("\n```" if text.count("```") % 2 else "")
    made = pieces(text, limit)
    assert _bare("".join(piece.body for piece in made)) == _bare(closed if closed.strip() else "")
    for piece in made:
        assert 0 < length(piece.text) <= limit
        assert piece.text.strip()


@settings(max_examples=150)
@given(
    st.lists(st.text(alphabet="abcdef ", min_size=1, max_size=40), min_size=1, max_size=40),
    st.integers(80, 160),
)
def test_any_code_keeps_every_line(lines: list[str], limit: int) -> None:
    text = "```py\n" + "\n".join(lines) + "\n```"
    parts = split(text, limit)
    assert all(part.startswith("```py\n") and part.endswith("```") for part in parts)
    bodies = [part.removeprefix("```py\n").removesuffix("```") for part in parts]
    assert "".join(bodies).rstrip("\n") == "\n".join(lines)


@given(st.text(max_size=30))
def test_one_cut_place_at_least_for_any_text(text: str) -> None:
    assert may_cut(text, 0)
    assert may_cut(text, len(text))
