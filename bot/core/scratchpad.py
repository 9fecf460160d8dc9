"""The scratchpad as people and models read it: sections of short notes."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from bot.core.fences import quoted
from bot.core.types import Line
from bot.core.window import Count

SECTIONS: Final = MappingProxyType(
    {
        "place": "Where and when",
        "people": "Who is here",
        "events": "What just happened",
        "feelings": "Feelings and relations",
        "threads": "Open threads and promises",
        "standing": "Standing instructions",
    }
)
"""The sections of a scratchpad in the order they are shown, with their headings."""
STANDING: Final = "standing"
MOST_LINES: Final = 40
LONGEST_LINE: Final = 300
_GIVEN_UP: Final = ("events", "feelings", "people", "threads", "place")
"""Sections that lose their oldest lines first when the notes do not fit."""


def render(lines: Sequence[Line], *, budget: int, count: Count) -> str:
    """Return the notes under their headings, without the standing instructions, within `budget` tokens.

    What does not fit loses the oldest line of the most fleeting section first.
    """
    kept = [line for line in lines if line.section != STANDING]
    text = _sections(kept)
    while kept and count(text) > budget:
        present = {line.section for line in kept}
        section = next((one for one in _GIVEN_UP if one in present), kept[0].section)
        kept.remove(next(line for line in kept if line.section == section))
        text = _sections(kept)
    return text


def standing(lines: Sequence[Line]) -> tuple[str, ...]:
    """Return the standing instructions, oldest first."""
    return tuple(one_line(line.text) for line in lines if line.section == STANDING)


def numbered(lines: Sequence[Line]) -> str:
    """Return the notes for the model that rewrites them: `3 (threads): Mira owes Alice a song.`"""
    return "\n".join(f"{n} ({line.section}): {one_line(line.text)}" for n, line in enumerate(lines, 1))


def one_line(text: str) -> str:
    """Return a text that is safe to stand in one line of a block."""
    return quoted(" ".join(text.split()))


def _sections(lines: Sequence[Line]) -> str:
    shown = []
    for section, heading in SECTIONS.items():
        notes = [f"- {one_line(line.text)}" for line in lines if line.section == section]
        if notes:
            shown.append("\n".join([f"{heading}:", *notes]))
    return "\n".join(shown)
