"""Where nobody may speak now."""

from __future__ import annotations

from typing import Final

from bot.core.types import Place
from bot.engine.options import Options

KEY: Final = "asleep"
"""The setting that keeps it over restarts."""


class Silence:
    """Where nobody may speak now. Known at once, before it is stored."""

    def __init__(self, *, options: Options) -> None:
        self._options = options
        self._hushed: dict[tuple[int, int], int] = {}
        """Spaces and places, each with the number of the press that hushed it."""
        self.presses = 0

    def hush(self, space_id: int, place_id: int) -> None:
        """From this moment on, whatever becomes of storing it. `place_id` 0: in the whole space."""
        self.presses += 1
        self._hushed[space_id, place_id] = self.presses

    def end(self, space_id: int, *, until: int) -> None:
        """What is stored holds again, but for what was hushed by a press after the one of that number."""
        self._hushed = {
            one: press for one, press in self._hushed.items() if one[0] != space_id or press > until
        }

    def covers(self, place: Place) -> bool:
        """Whether the personas of this place are asleep, as far as its settings were read."""
        if {(place.space_id, 0), (place.space_id, place.id)} & self._hushed.keys():
            return True
        return self._options.known(place.space_id, place.id)[KEY] == "yes"

    async def surely_covers(self, place: Place) -> bool:
        """The same, with the settings read first."""
        await self._options.load(place.space_id)
        return self.covers(place)
