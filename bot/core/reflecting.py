"""What a persona makes of what happened: asked for when enough has moved it, read back with its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.core import loose_json
from bot.core.background import MemoryPrompt
from bot.core.character import in_a_line
from bot.core.chat import ChatMessage
from bot.core.note_text import note_text
from bot.core.scratchpad import one_line
from bot.core.spontaneous import strength
from bot.core.templates import Prompts
from bot.core.turn_numbers import chosen
from bot.core.types import Memory, Persona
from bot.core.window import Count

ENOUGH: Final = 12.0
"""A reflection is due when the turns since the last one weigh so much, each 0 to 1 by its feeling."""
MOST_INSIGHTS: Final = 3
MOST_SHOWN: Final = 24
ANSWER_TOKENS: Final = 300
_LONGEST: Final = 240
_SHARE: Final = 0.4
INSIGHTS_SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {
        "insights": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "memories": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["text", "memories"],
            },
        }
    },
    "required": ["insights"],
}


@dataclass(frozen=True, slots=True)
class Insight:
    """A thought in the persona's voice, and the ids of the memories that it rests on (never empty)."""

    text: str
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReflectionPrompt:
    """The call's prompt, and the memories that it numbers from 1."""

    prompt: MemoryPrompt
    memories: tuple[Memory, ...]


def weight(memories: Sequence[Memory]) -> float:
    """Return how much these memories moved: the sum of their strongest feelings, each from 0 to 1."""
    return sum(strength(memory.emotion) for memory in memories if memory.emotion is not None)


def reflection_prompt(
    persona: Persona, memories: Sequence[Memory], *, prompts: Prompts, context_tokens: int, count: Count
) -> ReflectionPrompt:
    """Return the prompt over the strongest of these memories, by time, as many as fit."""
    by_strength = sorted(memories, key=lambda one: -strength(one.emotion) if one.emotion is not None else 0.0)
    shown = sorted(by_strength[:MOST_SHOWN], key=lambda one: one.id)
    room = int(context_tokens * _SHARE)
    while len(shown) > 1 and count(_numbered(shown)) > room:
        shown.remove(min(shown, key=lambda one: strength(one.emotion) if one.emotion is not None else 0.0))
    name = one_line(persona.name)
    character = f"{one_line(persona.text('description'))[:600]} {one_line(in_a_line(persona.card))}".strip()
    task = prompts.fill("reflection_task", name=name, character=character, memories=_numbered(shown))
    messages = (
        ChatMessage("system", prompts.fill("reflection_system", name=name)),
        ChatMessage("user", task),
    )
    most = min(ANSWER_TOKENS, context_tokens // 4)
    return ReflectionPrompt(MemoryPrompt(messages, (), most), tuple(shown))


def parse_insights(text: str, *, ids: Sequence[int]) -> tuple[Insight, ...]:
    """Return at most three thoughts that name memories numbered from 1 (`ids`); none of a useless answer."""
    for value in loose_json.read_all(text):
        listed = value.get("insights") if isinstance(value, Mapping) else value
        if isinstance(listed, list):
            found = [insight for item in listed if (insight := _insight(item, ids)) is not None]
            return tuple(found[:MOST_INSIGHTS])
    return ()


def _insight(item: Any, ids: Sequence[int]) -> Insight | None:
    if not isinstance(item, Mapping):
        return None
    text = note_text(item.get("text"))
    evidence = chosen(item.get("memories", item.get("evidence")), ids)
    return Insight(text, evidence) if text and evidence else None


def _numbered(memories: Sequence[Memory]) -> str:
    lines = (one_line(f"{memory.speaker}: {memory.text}")[:_LONGEST] for memory in memories)
    return "\n".join(f"[{number}] {line}" for number, line in enumerate(lines, 1))
