"""A guild's own words: how the list is read, and what stands in a text."""

from __future__ import annotations

import pytest

from bot.core.moderation import MOST_WORDS, Checked, blocked, read_words


def test_a_list_is_read_with_commas_semicolons_and_lines_each_word_once() -> None:
    assert read_words("one,  two words; One\nthree,,") == ("One", "two words", "three")


def test_a_list_that_is_too_long_is_refused() -> None:
    assert len(read_words(",".join(f"w{number}" for number in range(MOST_WORDS)))) == MOST_WORDS
    with pytest.raises(ValueError, match="at most"):
        read_words(",".join(f"w{number}" for number in range(MOST_WORDS + 1)))


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("You grub!", True),
        ("You GRUB.", True),
        ("Ｇｒｕｂ", True),
        ("A grub-like thing", True),
        ("The grubby coat", False),
        ("An elf-friend am I", True),
        ("Elves are friends", False),
        ("", False),
    ],
)
def test_whole_words_are_blocked_in_any_case_and_width(text: str, refused: bool) -> None:
    assert blocked(text, read_words("Grub, elf-friend")) is refused


def test_who_is_checked() -> None:
    table = {each.value: (each.members, each.replies) for each in Checked}
    assert table == {
        "off": (False, False),
        "members": (True, False),
        "replies": (False, True),
        "both": (True, True),
    }
