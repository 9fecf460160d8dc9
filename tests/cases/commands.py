"""Every slash command as Discord knows it, with something to fill in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Described = dict[str, Any]


def leaves(command: Described) -> list[tuple[str, list[Described]]]:
    """The path of each command that can be used, and its options."""
    return _below(command["name"], command.get("options") or [])


def _below(path: str, options: list[Described]) -> list[tuple[str, list[Described]]]:
    groups = [one for one in options if one["type"] in (1, 2)]
    if not groups:
        return [(path, options)]
    return [leaf for one in groups for leaf in _below(f"{path} {one['name']}", one.get("options") or [])]


def sample(option: Described, ids: Mapping[int, object] | None = None) -> object:
    """Something that Discord takes for an option; `ids` gives members, channels and roles by type."""
    if option.get("choices"):
        return option["choices"][0]["value"]
    plain: dict[int, object] = {4: 1, 5: True, 10: 1.0, 11: ("card.json", b"{}")}
    return {**plain, **(ids or {})}.get(option["type"], "Mira")
