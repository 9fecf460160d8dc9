"""Character cards: made from plain texts, read from V1, V2 and V3 objects, mined for style samples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from bot.core.emotion import clamp, parse_scores
from bot.core.extensions import own_values, with_own
from bot.core.names import fold
from bot.core.vectors import Vector

TEXTS: Final = (
    "name",
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "creator_notes",
    "system_prompt",
    "post_history_instructions",
    "creator",
    "character_version",
)
LISTS: Final = ("alternate_greetings", "tags", "group_only_greetings")
_OLD_NAMES: Final = {
    "char_name": "name",
    "char_persona": "description",
    "world_scenario": "scenario",
    "char_greeting": "first_mes",
    "example_dialogue": "mes_example",
}
"""What an older frontend called the fields."""
CALM: Final = (3.0, 4.0, 1.5, 1.5, 1.5, 1.0, 1.0, 3.0)
"""The temperament of a card that says nothing about it: friendly and calm."""
TEMPERAMENTS: Final[Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        "calm": CALM,
        "cheerful": (6, 5, 1.5, 2.5, 1.5, 1, 1.5, 5),
        "curious": (4, 4, 1.5, 4, 1.5, 1, 1, 6),
        "shy": (3, 4, 4, 2.5, 2.5, 1.5, 1, 3),
        "gloomy": (1.5, 2.5, 2.5, 1.5, 5, 2.5, 2, 2),
        "anxious": (2, 3, 5, 4, 3, 1.5, 1.5, 5),
        "grumpy": (2, 2, 1.5, 1.5, 2.5, 4, 4, 2.5),
        "fierce": (3, 2, 1.5, 2, 1.5, 3, 5, 6),
    }
)
"""Natures to choose from; the numbers are in the order of `bot.core.emotion.EMOTIONS`."""
_START = re.compile(r"^[ \t]*<start>[ \t]*$", re.IGNORECASE | re.MULTILINE)
_OWN = re.compile(r"(?:\{\{\s*(?:char|bot)\s*\}\}|<(?:bot|char)>)\s*[:：]", re.IGNORECASE)
_ANY = re.compile(r"(?:\{\{\s*\w+\s*\}\}|<\w+>|[^\s:：*\"“][^:：\n*\"“]{0,39})[:：]", re.IGNORECASE)


def new_card(
    name: str, description: str = "", personality: str = "", greeting: str = "", examples: str = ""
) -> dict[str, Any]:
    """Return the `data` object of a character card V3 with every field the format requires."""
    return {
        **_empty(),
        "name": " ".join(name.split()),
        "description": _text(description),
        "personality": _text(personality),
        "first_mes": _text(greeting),
        "mes_example": _text(examples),
    }


def read_card_json(card: object, fallback_name: str = "") -> dict[str, Any]:
    """Return the `data` object of a card in any of the three formats, complete and with clean texts.

    `data` wins over the copy that some files keep at the root, null counts as absent, and fields we do
    not know are kept. The name is that of `data`, else of the root, else `fallback_name`.
    Raises ValueError, with a sentence for the member, when it is no card or nobody's.
    """
    if not isinstance(card, Mapping):
        raise ValueError("This is not a character card: it holds no object.")
    inner = card.get("data")
    root = {_OLD_NAMES.get(key, key): value for key, value in card.items() if key != "data"}
    found = dict(inner) if isinstance(inner, Mapping) else root
    if not isinstance(inner, Mapping) and "entries" in card and "first_mes" not in card:
        raise ValueError("This is a lorebook, not a character card.")
    if not any(_text(found.get(key)) for key in TEXTS[:6]):
        raise ValueError("Nothing of a character was found in this card.")
    data = {**_empty(), **{str(key): value for key, value in found.items() if value is not None}}
    data.pop("spec", None)
    data.pop("spec_version", None)
    for key in TEXTS:
        data[key] = _text(as_text(data[key]))
    for key in LISTS:
        items = as_list(key, data[key]) or ()
        data[key] = [text for item in items if (text := _text(item))]
    if not isinstance(data["extensions"], Mapping):
        data["extensions"] = {}
    names = (data["name"], root.get("name"), fallback_name)
    data["name"] = next((" ".join(_text(name).split()) for name in names if fold(_text(name))), "")
    if not data["name"]:
        raise ValueError("This card has no name.")
    return data


def as_text(value: object) -> str | None:
    """Return what should be a text as one: a number as it is written, a list of texts line by line."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return None


def as_list(key: str, value: object) -> list[object] | None:
    """Return what should be a list of texts as one: a single text is its only item, tags stand between
    commas."""
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        return list(value.split(",")) if key == "tags" else [value]
    return None


def style_samples(card: Mapping[str, object]) -> tuple[str, ...]:
    """Return what the character says in its example dialogues, one sample per dialogue, macros unfilled.

    A dialogue without speaker tags is a sample as a whole. `<START>` never shows.
    """
    examples = card.get("mes_example")
    if not isinstance(examples, str):
        return ()
    samples = []
    for dialogue in _START.split(examples.replace("\r\n", "\n")):
        lines = _own_lines(dialogue, str(card.get("name", ""))) if _ANY.search(dialogue) else [dialogue]
        samples.append("\n".join(lines).strip() or "")
    return tuple(sample for sample in samples if sample)


def greetings(card: Mapping[str, object], *, group: bool = False) -> tuple[str, ...]:
    """Return everything the character may say first, the usual greeting first, macros unfilled.

    In a `group` those that are meant for one come before the others.
    """
    found: list[object] = [card.get("first_mes")]
    for key, wanted in (("alternate_greetings", True), ("group_only_greetings", group)):
        more = card.get(key)
        if wanted and isinstance(more, list):
            found = [*more, *found] if key == "group_only_greetings" else [*found, *more]
    texts = (text.strip() for text in found if isinstance(text, str))
    return tuple(dict.fromkeys(text for text in texts if text))


def temperament(card: Mapping[str, object]) -> Vector:
    """Return the resting emotion vector that the card carries in `extensions.troupe`, else a calm one."""
    scores = parse_scores(own_values(card).get("temperament"))
    return clamp(CALM) if scores is None else scores


def nature_of(scores: Vector) -> str | None:
    """Return the name in `TEMPERAMENTS` of a resting emotion, or None when it is another."""
    for name, known in TEMPERAMENTS.items():
        if all(abs(one - other) < 0.01 for one, other in zip(scores, known, strict=True)):
            return name
    return None


def with_temperament(card: Mapping[str, object], scores: Sequence[float]) -> dict[str, object]:
    """Return the card with a resting emotion where `temperament` reads it, so that it goes along with it."""
    return with_own(card, {"temperament": list(scores)})


def _empty() -> dict[str, Any]:
    return {
        **dict.fromkeys(TEXTS, ""),
        **{key: [] for key in LISTS},
        "extensions": {},
    }


def _text(value: object) -> str:
    return value.replace("\r\n", "\n").replace("\r", "\n").strip() if isinstance(value, str) else ""


def _own_lines(dialogue: str, name: str) -> list[str]:
    """Collect the lines under the character's own tag, until somebody else's tag comes."""
    own = re.compile(
        rf"(?:{_OWN.pattern}|{re.escape(name)}\s*[:：])" if name else _OWN.pattern, re.IGNORECASE
    )
    lines: list[str] = []
    speaking = False
    for line in dialogue.strip().split("\n"):
        tag = own.match(line.strip())
        if tag:
            speaking = True
            lines.append(line.strip()[tag.end() :].strip())
        elif _ANY.match(line.strip()):
            speaking = False
        elif speaking:
            lines.append(line.rstrip())
    return lines
