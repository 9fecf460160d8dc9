"""Answers a request for notes as a careful model would: valid, short, over the turns asked about."""

from __future__ import annotations

import json
import re
from typing import Final

MOST_KEPT: Final = 24
_TURN = re.compile(r"^\[(\d+)\] ([^:\n]+): (.*)$", re.MULTILINE)
_NOTE = re.compile(r"^(\d+) \((\w+)\): ", re.MULTILINE)
_SECTIONS: Final = ("events", "threads", "feelings", "people")


def notes_for(prompt: str, seed: int = 0, *, feelings: bool = True) -> str:
    """Return the JSON that `bot/prompts/memory_task.md` asks for: the newest notes, two new ones, a fact."""
    turns = [(int(number), name, text) for number, name, text in _TURN.findall(prompt)]
    numbers = [int(number) for number, _ in _NOTE.findall(prompt)]
    told = [turns[0], turns[-1]] if turns else []
    lines = [
        {
            "section": _SECTIONS[(seed + place) % len(_SECTIONS)],
            "text": f"{name} spoke of {' '.join(text.split()[:9])}.",
            "turns": [number],
        }
        for place, (number, name, text) in enumerate(told)
    ]
    facts = [
        {"about": name, "text": f"{name} knows about {' '.join(text.split()[-6:])}.", "turns": [number]}
        for number, name, text in told[:1]
    ]
    scores = [
        {"turn": number, "scores": [1 + (number * prime + seed) % 10 for prime in (3, 7, 1, 9, 4, 6, 2, 8)]}
        for number, _, _ in turns
    ]
    answer = {
        "keep": numbers[-MOST_KEPT:],
        "lines": lines,
        "facts": facts,
        "triggers": [],
        "emotions": scores if feelings else [],
    }
    return json.dumps(answer)
