"""What a persona lives by (values, wants, fears, what it never does) and how it wants to recall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bot.core.budgets import cut_to
from bot.core.candidates import LARGEST_WEIGHT, RecallSettings
from bot.core.extensions import own_values
from bot.core.fences import quoted
from bot.core.macros import Macros, expand
from bot.core.strategies import Strategy
from bot.core.types import Persona
from bot.core.window import Count

TRAITS: Final = ("values", "wants", "fears", "never")
"""Their keys in our object of the card's extensions."""
LONGEST_TRAIT: Final = 300
"""Characters of each that a prompt shows; a longer one in a card stays whole there."""


def traits(card: Mapping[str, object]) -> dict[str, str]:
    """Return what the card tells of these, each as one line; what it does not tell is left out."""
    own = own_values(card)
    found = {key: _line(own.get(key)) for key in TRAITS}
    return {key: text for key, text in found.items() if text}


def trait_lines(persona: Persona, macros: Macros, *, budget: int, count: Count) -> dict[str, str]:
    """Return all four for a prompt, macros filled, absent ones empty: together within `budget` tokens,
    so long ones lose their ends before short ones do."""
    told = {key: quoted(expand(text, macros)) for key, text in traits(persona.card).items()}
    left, open_ = budget, sorted(told, key=lambda key: count(told[key]))
    for number, key in enumerate(open_):
        share = left // (len(open_) - number)
        told[key] = cut_to(told[key], share, count)
        left -= count(told[key])
    return {key: told.get(key, "") for key in TRAITS}


def in_a_line(card: Mapping[str, object]) -> str:
    """Return what the persona lives by as one text ("Values: … Wants: …"), empty when it tells nothing."""
    return " ".join(f"{key.capitalize()}: {text}" for key, text in traits(card).items())


def own_strategy(card: Mapping[str, object]) -> Strategy | None:
    """Return how this persona recalls; None where the settings of the place decide."""
    value = own_values(card).get("recall_strategy")
    return Strategy(value) if isinstance(value, str) and value in set(Strategy) else None


def own_weight(card: Mapping[str, object]) -> float | None:
    """Return how much feeling counts in this persona's recall (0 to 0.5; a comforting one takes 0); None
    where the settings of the place decide."""
    value = own_values(card).get("emotion_weight")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0.0 <= value <= LARGEST_WEIGHT else None


def recall_settings(
    card: Mapping[str, object], options: Mapping[str, object], *, tokens: int
) -> RecallSettings:
    """Return how a persona recalls: as its card says, else as the settings of the place do."""
    strategy, weight = own_strategy(card), own_weight(card)
    return RecallSettings(
        strategy=strategy or Strategy(str(options["recall_strategy"])),
        emotion_weight=float(str(options["emotion_weight"])) if weight is None else weight,
        tokens=tokens,
    )


def _line(value: object) -> str:
    """Read a text, or a list of texts as some cards have it."""
    listed = value if isinstance(value, list) else [value]
    text = "; ".join(item for item in listed if isinstance(item, str) and item.strip())
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TRAIT else line[:LONGEST_TRAIT].rsplit(" ", 1)[0] + " …"
