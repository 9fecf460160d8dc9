"""Whether a reply took anything from a memory."""

from __future__ import annotations

import pytest

from bot.core.using import taken

ASKED = ["Mira, what was the name of my grandmother's parrot?"]


@pytest.mark.parametrize(
    ("reply", "memory", "used"),
    [
        ("Bartholomew, wasn't it?", "My grandmother's parrot is called Bartholomew.", True),
        ("A parrot! I like parrots.", "My grandmother's parrot is called Bartholomew.", False),
        ("You owe me 40.", "He borrowed 40 silver coins from Mira.", True),
        ("The lantern fell into the harbour.", "We lost the lantern in the harbour.", True),
        ("The night was cold.", "We lost the lantern in the harbour that night.", False),
        ("Nothing comes to mind.", "We lost the lantern.", False),
    ],
)
def test_names_numbers_and_rare_words_tell(reply: str, memory: str, used: bool) -> None:
    assert bool(taken(reply, memory, ASKED)) is used


def test_what_stands_in_the_window_proves_nothing() -> None:
    memory = "My grandmother's parrot is called Bartholomew."
    assert taken("Bartholomew!", memory, [*ASKED, "I told you of Bartholomew."]) == ()
