"""What a persona may live by, asked of the language model from its card, and read with care."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bot.core import loose_json
from bot.core.budgets import cut_to
from bot.core.character import TRAITS, traits
from bot.core.chat import ChatMessage
from bot.core.extensions import OWN
from bot.core.fences import quoted
from bot.core.scratchpad import one_line
from bot.core.templates import Prompts
from bot.core.types import Persona
from bot.core.window import Count

READ: Final = ("description", "personality", "scenario", "first_mes", "mes_example")
"""The texts of a card that the model reads, as far as they fit."""
SCHEMA: Final[Mapping[str, object]] = MappingProxyType(
    {
        "type": "object",
        "properties": {key: {"type": "string"} for key in TRAITS},
        "required": list(TRAITS),
        "additionalProperties": False,
    }
)


def character_prompt(
    persona: Persona, prompts: Prompts, *, budget: int, count: Count
) -> tuple[ChatMessage, ...]:
    """Return what asks a model for the four traits, from at most `budget` tokens of the card."""
    texts = (quoted(persona.text(key)).strip() for key in READ)
    card = cut_to("\n".join(text for text in texts if text), budget, count)
    return (
        ChatMessage("system", prompts.fill("draft_system")),
        ChatMessage("user", prompts.fill("character_task", name=one_line(persona.name), card=card)),
    )


def read_character(answer: str) -> dict[str, str] | None:
    """Return the texts by their keys, empty ones left out; None when the answer holds none of them."""
    for found in loose_json.read_all(answer):
        if isinstance(found, Mapping):
            plain = {str(key).strip().lower(): value for key, value in found.items()}
            told = traits({"extensions": {OWN: plain}})
            if told:
                return told
    return None
