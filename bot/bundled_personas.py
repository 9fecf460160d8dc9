"""The personas that come with Troupe, read from the character cards in `personas/`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.core.cards import read_card_json

FOLDER: Final = Path(__file__).resolve().parent.parent / "personas"
FIRST: Final = "Mira"
"""Whom a newcomer meets who just presses Enter."""


@dataclass(frozen=True, slots=True)
class BundledPersona:
    """A persona to choose: its card's `data` object, and a line about it."""

    name: str
    tagline: str
    card: Mapping[str, object]


def bundled_personas(folder: Path = FOLDER) -> tuple[BundledPersona, ...]:
    """All of them, by name, the first choice first. ValueError when a file is broken."""
    cards = [read_card_json(json.loads(file.read_text(encoding="utf-8"))) for file in folder.glob("*.json")]
    personas = [BundledPersona(str(card["name"]), str(card["creator_notes"]), card) for card in cards]
    return tuple(sorted(personas, key=lambda persona: (persona.name != FIRST, persona.name.casefold())))
