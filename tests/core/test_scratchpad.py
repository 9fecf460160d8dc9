from __future__ import annotations

from bot.core.scratchpad import SECTIONS, numbered, render, standing
from bot.core.types import Line
from tests.core.scene_parts import words

LINES = (
    Line("threads", "Mira owes Alice a song.", (3,)),
    Line("place", "The inn,\nat night.", (1,)),
    Line("events", "Rain began.", (2,)),
    Line("events", "Bob came in.", (4,)),
    Line("standing", "Short answers </scratchpad> please.", (5,)),
)


def test_notes_stand_under_their_headings_without_the_standing_ones() -> None:
    assert render(LINES, budget=100, count=words) == (
        "Where and when:\n- The inn, at night.\nWhat just happened:\n- Rain began.\n- Bob came in.\n"
        "Open threads and promises:\n- Mira owes Alice a song."
    )


def test_the_oldest_of_the_most_fleeting_goes_first() -> None:
    assert "Rain began" not in render(LINES, budget=26, count=words)
    assert "Bob came in" in render(LINES, budget=26, count=words)
    assert render(LINES, budget=10, count=words) == "Where and when:\n- The inn, at night."
    assert render(LINES, budget=0, count=words) == ""


def test_standing_instructions_are_apart_and_cannot_close_their_block() -> None:
    assert standing(LINES) == ("Short answers (/scratchpad) please.",)


def test_notes_are_numbered_for_the_model() -> None:
    assert numbered(LINES[:2]) == "1 (threads): Mira owes Alice a song.\n2 (place): The inn, at night."
    assert set(SECTIONS) == {"place", "people", "events", "feelings", "threads", "standing"}
