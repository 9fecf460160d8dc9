"""Remembers, in this process only, the names of members who lately spoke in a scene's place."""

from __future__ import annotations

from collections import OrderedDict

PLACES_KEPT = 500
NAMES_KEPT = 100


class PresentNames:
    """Bounded; nothing is stored. Serves the rule that an alias may not be another present member's name."""

    def __init__(self) -> None:
        self._places: OrderedDict[int, OrderedDict[int, str]] = OrderedDict()

    def note(self, place_id: int, member_id: int, name: str) -> None:
        """A member spoke in a place under this name."""
        names = self._places.setdefault(place_id, OrderedDict())
        names[member_id] = name
        names.move_to_end(member_id)
        self._places.move_to_end(place_id)
        if len(names) > NAMES_KEPT:
            names.popitem(last=False)
        if len(self._places) > PLACES_KEPT:
            self._places.popitem(last=False)

    def forget(self, member_id: int) -> None:
        """No name of theirs stays."""
        for names in self._places.values():
            names.pop(member_id, None)

    def others(self, place_id: int, member_id: int) -> tuple[str, ...]:
        """The names of everybody else who spoke there."""
        names = self._places.get(place_id, OrderedDict())
        return tuple(name for other_id, name in names.items() if other_id != member_id)
