"""What Troupe keeps in a card's extensions, so that it travels with the card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

OWN: Final = "troupe"
"""The name of our object among the card's `extensions`."""


def own_values(card: Mapping[str, object]) -> Mapping[str, Any]:
    """Return our object of the card's extensions; empty when there is none."""
    extensions = card.get("extensions")
    own = extensions.get(OWN) if isinstance(extensions, Mapping) else None
    return own if isinstance(own, Mapping) else {}


def with_own(card: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    """Return the card with these values in our object. None and the empty text take a value away."""
    own = {**own_values(card), **changes}
    kept = {key: value for key, value in own.items() if value is not None and value != ""}
    given = card.get("extensions")
    extensions = dict(given) if isinstance(given, Mapping) else {}
    extensions.pop(OWN, None)
    return {**card, "extensions": {**extensions, OWN: kept} if kept else extensions}
