"""What may not be said: a guild's own words, and what a moderation server thinks of a text."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, Protocol

from bot.core.names import find_name, fold

MOST_WORDS: Final = 300


class Checked(StrEnum):
    """Whose texts go to the moderation server."""

    OFF = "off"
    MEMBERS = "members"
    REPLIES = "replies"
    BOTH = "both"

    @property
    def members(self) -> bool:
        """Whether what members say is checked."""
        return self in (Checked.MEMBERS, Checked.BOTH)

    @property
    def replies(self) -> bool:
        """Whether what personas say is checked."""
        return self in (Checked.REPLIES, Checked.BOTH)


class Moderation(Protocol):
    """A moderation server."""

    async def refuses(self, text: str) -> bool:
        """Whether it flags the text. `bot.errors.ModerationUnavailable` when it does not say."""


def read_words(text: str) -> tuple[str, ...]:
    """The words and phrases of a list with commas, semicolons or line breaks between them, each once.

    ValueError when there are too many.
    """
    words = (" ".join(word.split()) for word in re.split(r"[,;\n]+", text))
    found = tuple({fold(word): word for word in words if fold(word)}.values())
    if len(found) > MOST_WORDS:
        raise ValueError(f"it has at most {MOST_WORDS} words.")
    return found


def blocked(text: str, words: tuple[str, ...]) -> bool:
    """Whether one of the words or phrases stands in the text as a word of its own, case and width folded."""
    return any(find_name(text, fold(word)) is not None for word in words)
