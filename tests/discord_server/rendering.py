"""How embeds and components look once Discord has stored them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_SELECTS = frozenset({3, 5, 6, 7, 8})


def rendered_embeds(embeds: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return embeds without empty keys, typed "rich"."""
    return [_embed(embed) for embed in embeds]


def _embed(embed: dict[str, Any]) -> dict[str, Any]:
    shown = {key: value for key, value in embed.items() if value is not None and key != "type"}
    if "fields" in shown:
        shown["fields"] = [{"inline": False} | item for item in shown["fields"]]
    return {"type": "rich"} | shown


def rendered_components(components: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return components with an id each and Discord's defaults filled in."""
    counter = 0

    def render(component: dict[str, Any]) -> dict[str, Any]:
        nonlocal counter
        counter += 1
        shown = {key: value for key, value in component.items() if value is not None}
        shown["id"] = component.get("id") or counter
        kind = component["type"]
        if kind in _SELECTS:
            shown = {"min_values": 1, "max_values": 1} | shown
        elif kind == 17:
            shown = {"accent_color": None, "spoiler": False} | shown
        elif kind == 14:
            shown = {"divider": True, "spacing": 1} | shown
        if component.get("components"):
            shown["components"] = [render(item) for item in component["components"]]
        for key in ("accessory", "component"):
            if component.get(key):
                shown[key] = render(component[key])
        return shown

    return [render(component) for component in components]
