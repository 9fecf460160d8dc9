"""The persona's card as a prompt tells it, shortened in a fixed order when it is too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bot.core.budgets import cut_to
from bot.core.cards import style_samples
from bot.core.fences import quoted
from bot.core.macros import Macros, expand
from bot.core.types import Persona
from bot.core.window import Count

MOST_SAMPLES: Final = 3
LONGEST_SAMPLE: Final = 600
_SHORTENED: Final = ("description", "scenario", "personality", "system_prompt")
"""The texts that are cut, in this order, once no example is left."""


@dataclass(frozen=True, slots=True)
class PersonaText:
    """The texts of a card, macros filled, and what of it had no room."""

    description: str
    personality: str
    scenario: str
    system_prompt: str
    samples: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    def tokens(self, count: Count) -> int:
        """Return the tokens of all texts."""
        texts = (self.description, self.personality, self.scenario, self.system_prompt, *self.samples)
        return sum(count(text) + 1 for text in texts if text)


def persona_text(
    persona: Persona, samples: Sequence[str], macros: Macros, *, room: int, count: Count
) -> PersonaText:
    """Return the card's texts within `room` tokens: examples go first, the last first; then texts are cut.

    `samples` are the persona's own good replies; without any, the card's examples are told.
    """
    shown = list(samples) or [expand(sample, macros) for sample in style_samples(persona.card)]
    whole = PersonaText(
        description=_told(persona, "description", macros),
        personality=_told(persona, "personality", macros),
        scenario=_told(persona, "scenario", macros),
        system_prompt=_told(persona, "system_prompt", macros),
        samples=tuple(_sample(sample) for sample in shown[:MOST_SAMPLES] if sample.strip()),
    )
    return _shortened(whole, room, count)


def _told(persona: Persona, key: str, macros: Macros) -> str:
    lines = quoted(expand(persona.text(key), macros)).strip().splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _sample(text: str) -> str:
    safe = quoted(text).strip()
    return safe if len(safe) <= LONGEST_SAMPLE else safe[:LONGEST_SAMPLE].rsplit(" ", 1)[0] + " …"


def _shortened(whole: PersonaText, room: int, count: Count) -> PersonaText:
    text = whole
    left_out: list[str] = []
    while text.samples and text.tokens(count) > room:
        text = replace(text, samples=text.samples[:-1])
    dropped = len(whole.samples) - len(text.samples)
    if dropped:
        left_out.append(f"{dropped} of {len(whole.samples)} examples")
    for key in _SHORTENED:
        over = text.tokens(count) - room
        if over <= 0:
            break
        value = getattr(text, key)
        if value:
            changed: dict[str, Any] = {key: cut_to(value, max(0, count(value) - over), count)}
            text = replace(text, **changed)
            left_out.append(f"part of the {key.replace('_', ' ')}")
    return replace(text, left_out=tuple(left_out))
