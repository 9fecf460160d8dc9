"""A persona's draft by the language model: asked for, and read with care."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from bot.core import loose_json
from bot.core.chat import ChatMessage
from bot.core.fences import quoted
from bot.core.names import LONGEST_NAME
from bot.core.templates import Prompts

WORDS: Final = ("name", "description", "personality", "greeting", "examples")
"""The texts of a draft, by the words of the form."""
LONGEST_IDEA: Final = 2000
LONGEST_TEXT: Final = 4000
_OTHER_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {"first_mes": "greeting", "mes_example": "examples", "first_message": "greeting", "example": "examples"}
)
SCHEMA: Final[Mapping[str, object]] = MappingProxyType(
    {
        "type": "object",
        "properties": {word: {"type": "string"} for word in WORDS},
        "required": list(WORDS),
        "additionalProperties": False,
    }
)


def draft_prompt(idea: str, prompts: Prompts) -> tuple[ChatMessage, ...]:
    """Return what asks a model for a draft of this idea."""
    shown = quoted(" ".join(idea.split()))[:LONGEST_IDEA]
    return (
        ChatMessage("system", prompts.fill("draft_system")),
        ChatMessage("user", prompts.fill("draft_task", idea=shown)),
    )


def read_draft(answer: str) -> dict[str, str] | None:
    """Return the texts of a draft, empty ones left out; None when the answer tells of nobody."""
    for found in loose_json.read_all(answer):
        draft = _texts(found) if isinstance(found, Mapping) else {}
        if draft.get("name") and draft.get("description"):
            return draft
    return None


def _texts(found: Mapping[Any, Any]) -> dict[str, str]:
    draft: dict[str, str] = {}
    for key, value in found.items():
        word = _OTHER_WORDS.get(str(key).strip().lower(), str(key).strip().lower())
        text = "\n".join(map(str, value)) if isinstance(value, list) else value
        if word in WORDS and isinstance(text, str) and text.strip():
            draft.setdefault(word, text.strip()[:LONGEST_TEXT])
    if "name" in draft:
        draft["name"] = " ".join(draft["name"].split())[:LONGEST_NAME]
    return draft
