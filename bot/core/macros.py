"""Fills the macros of character cards ({{char}}, {{user}}, {{roll:2d6}} …): one value for a whole scene."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from bot.core.dates import day
from bot.core.types import Persona, Scene

OTHERS: Final = "the others"
"""What {{user}} says when not exactly one member is present."""
_MACRO = re.compile(r"\{\{([^{}]*)\}\}")
_ANGLED = re.compile(r"<(user|bot|char)>", re.IGNORECASE)
_DICE = re.compile(r"(\d{0,2})d?(\d{1,4})", re.IGNORECASE)
_DEEPEST: Final = 4


@dataclass(frozen=True, slots=True)
class Macros:
    """The values of one persona in one scene. The same values expand a text the same way every time."""

    char: str
    user: str = OTHERS
    time: str = ""
    date: str = ""
    original: str = ""
    seed: int = 0

    @classmethod
    def of(cls, persona: Persona, *, scene: Scene, members: Sequence[str], now: datetime) -> Macros:
        """Return the values of a scene: {{time}} and {{date}} are when it began (`now` when unknown).

        `members` are the names of the members present.
        """
        began = scene.started_at or now
        return cls(
            char=_plain(persona.text("nickname") or persona.name),
            user=_plain(members[0]) if len(set(members)) == 1 else OTHERS,
            time=f"{began:%H:%M}",
            date=day(began),
            seed=scene.id,
        )

    def with_original(self, text: str) -> Macros:
        """Return the values with {{original}}, the prompt that a card's own one stands in for."""
        return replace(self, original=text)


def expand(text: str, values: Macros) -> str:
    """Return a card's text with its macros filled; unknown ones stay as they are.

    Only for texts of cards and moderators: what members say is never expanded.
    """
    drawn = _Drawing(values.seed)
    for _ in range(_DEEPEST):
        filled = _MACRO.sub(lambda found: _value(found, values, drawn), text)
        if filled == text:
            break
        text = filled
    return _ANGLED.sub(lambda found: values.user if found[1].lower() == "user" else values.char, text)


def unknown_macros(text: str) -> tuple[str, ...]:
    """Return the macros of a text that stay as they are, each once, in order of appearance."""
    drawn, values = _Drawing(0), Macros(char="x", user="x", time="x", date="x", original="x")
    left = (found for found in _MACRO.finditer(text) if _value(found, values, drawn) == found[0])
    return tuple(dict.fromkeys(found[0] for found in left if found[1].strip()))


def _plain(name: str) -> str:
    """A name is a value, never a macro itself."""
    return re.sub(r"[{}<>]", "", " ".join(name.split())) or OTHERS


class _Drawing:
    """Chooses by scene, macro and how many were drawn before: no two dice of a text are the same die."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._drawn = 0

    def below(self, bound: int, macro: str) -> int:
        self._drawn += 1
        key = f"{self._seed}:{self._drawn}:{macro}".encode("utf-8", "replace")
        return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") % bound


_SIMPLE: Final[Mapping[str, Callable[[Macros], str]]] = MappingProxyType(
    {
        "char": lambda values: values.char,
        "bot": lambda values: values.char,
        "user": lambda values: values.user,
        "time": lambda values: values.time,
        "date": lambda values: values.date,
        "original": lambda values: values.original,
        "newline": lambda values: "\n",
        "noop": lambda values: "",
        "trim": lambda values: "",
    }
)


def _value(found: re.Match[str], values: Macros, drawn: _Drawing) -> str:
    inside = found[1].strip()
    name, _, rest = inside.partition(":")
    word = name.strip().lower()
    if inside.startswith("//") or word in ("comment", "hidden_key"):
        return ""
    if not rest and word in _SIMPLE:
        return _SIMPLE[word](values)
    if word in ("random", "pick") and rest:
        choices = _choices(rest)
        return choices[drawn.below(len(choices), inside)]
    if word == "roll" or word.startswith("roll "):
        return _roll(rest or name.strip()[4:], drawn) or found[0]
    return found[0]


def _choices(rest: str) -> list[str]:
    """Split "a,b" or ":a::b"; a comma after a backslash is a comma."""
    if "::" in f":{rest}":
        return [choice.strip() for choice in rest.lstrip(":").split("::")]
    return [choice.replace("\\,", ",").strip() for choice in re.split(r"(?<!\\),", rest)]


def _roll(formula: str, drawn: _Drawing) -> str | None:
    found = _DICE.fullmatch(formula.strip(" :"))
    if found is None or not int(found[2]):
        return None
    dice = int(found[1] or 1) if "d" in formula.lower() else 1
    sides = int(found[2]) if "d" in formula.lower() else int(formula.strip(" :"))
    return str(sum(1 + drawn.below(sides, formula) for _ in range(max(dice, 1))))
