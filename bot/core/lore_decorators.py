"""The decorators of lorebook V3: lines that begin with @@ at an entry's beginning and say when it fires."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Rules:
    """What the decorators of an entry ask for. Those we do not follow are named in `ignored`."""

    activate: bool = False
    never: bool = False
    after_turns: int = 0
    every_turns: int = 0
    depth: int | None = None
    scan_depth: int | None = None
    position: str | None = None
    more_keys: tuple[str, ...] = ()
    not_with: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def conditional(self) -> bool:
        """Whether it depends on the turns although it may be constant."""
        return bool(self.after_turns or self.every_turns or self.not_with)


_FLAGS: Final[Mapping[str, str]] = {
    "activate": "activate",
    "constant": "activate",
    "dont_activate": "never",
}
_NUMBERS: Final[Mapping[str, str]] = {
    "activate_only_after": "after_turns",
    "activate_only_every": "every_turns",
    "depth": "depth",
    "scan_depth": "scan_depth",
}
_LISTS: Final[Mapping[str, str]] = {"additional_keys": "more_keys", "exclude_keys": "not_with"}
_POSITIONS: Final[Mapping[str, str]] = {
    "before_desc": "before",
    "after_desc": "after",
    "personality": "after",
    "scenario": "after",
}


def read_decorators(content: str) -> tuple[Rules, str]:
    """Return the rules that stand at the beginning of a content, and the content without those lines.

    A line with `@@@` is a fallback: it holds when no decorator right before it was understood.
    """
    rules = Rules()
    lines = content.split("\n")
    understood = True
    while lines and lines[0].lstrip().startswith("@@"):
        line = lines.pop(0).strip()
        fallback = line.startswith("@@@")
        if fallback and understood:
            continue
        changed = _read(rules, line.lstrip("@"))
        understood = changed is not None
        rules = changed or replace(rules, ignored=(*rules.ignored, line.lstrip("@").split(" ")[0]))
    return rules, "\n".join(lines)


def _read(rules: Rules, line: str) -> Rules | None:
    """Return the rules with one decorator more; None when it is not understood."""
    name, _, value = line.partition(" ")
    value = value.strip()
    change: dict[str, Any] = {}
    if name in _FLAGS:
        change = {_FLAGS[name]: value.lower() != "false"}
    elif name in _NUMBERS and value.isdecimal() and len(value) < 9:
        change = {_NUMBERS[name]: int(value)}
    elif name in _LISTS and value:
        change = {_LISTS[name]: tuple(key.strip() for key in value.split(",") if key.strip())}
    elif name == "position" and value in _POSITIONS:
        change = {"position": _POSITIONS[value]}
    return replace(rules, **change) if change else None
