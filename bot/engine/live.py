"""Which places have a scene now: what the guards look at before anything is stored."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.core.types import Alias, LiveScene, Place, Scene


@dataclass(slots=True)
class _Entry:
    place: Place
    live: LiveScene | None


class LiveScenes:
    """A copy in memory of the active scenes, changed only by the place's actor after its commit."""

    def __init__(self) -> None:
        self._places: dict[int, _Entry] = {}
        self._recorded_from: dict[int, int] = {}
        self._unread: dict[int, int] = {}
        """Places in which messages may have been missed, each with the number of the newest loss."""
        self._losses = 0

    def place(self, place_id: int) -> Place | None:
        """The place, when it ever had a scene."""
        entry = self._places.get(place_id)
        return entry.place if entry else None

    def get(self, place_id: int) -> LiveScene | None:
        """The active scene (paused or not)."""
        entry = self._places.get(place_id)
        return entry.live if entry else None

    def put(self, place: Place, scene: Scene | None, aliases: dict[int, Alias]) -> None:
        """Take over the state of a place after a change."""
        live = LiveScene(scene=scene, aliases=dict(aliases)) if scene and scene.active else None
        self._places[place.id] = _Entry(place, live)

    def record_from(self, place_id: int, message_id: int) -> None:
        """Nothing up to this message may be read from the history: it came before the scene or in a pause."""
        self._recorded_from[place_id] = message_id
        self._unread.pop(place_id, None)

    def recorded_from(self, place_id: int) -> int:
        """The message id after which the history may be read."""
        return self._recorded_from.get(place_id, 0)

    def not_read(self) -> None:
        """Messages may have been missed in every place: its history must be read."""
        for place in self.places():
            self.missed(place.id)

    def missed(self, place_id: int) -> None:
        """A message was missed in this place."""
        self._losses += 1
        self._unread[place_id] = self._losses

    def unread(self) -> list[Place]:
        """The places in which messages may have been missed."""
        return [place for place in self.places() if place.id in self._unread]

    def reading(self, place_id: int) -> int:
        """The history of the place is being read; what `read` is to be told at its end."""
        return self._unread.get(place_id, 0)

    def read(self, place_id: int, begun: int) -> None:
        """The history of the place was read to its end; what was missed since it had `begun` is missing."""
        if self._unread.get(place_id) == begun:
            del self._unread[place_id]

    def is_unread(self, place_id: int) -> bool:
        """Whether messages before the newest may be missing."""
        return place_id in self._unread

    def renamed(self, place: Place) -> None:
        """Keep the newest name of a channel."""
        entry = self._places.get(place.id)
        if entry:
            entry.place = replace(entry.place, name=place.name)

    def without_member(self, member_id: int) -> None:
        """No copy of an alias of theirs stays."""
        for entry in self._places.values():
            if entry.live is not None and member_id in entry.live.aliases:
                kept = {owner: alias for owner, alias in entry.live.aliases.items() if owner != member_id}
                entry.live = replace(entry.live, aliases=kept)

    def forget(self, place_id: int) -> None:
        """The place is gone."""
        self._places.pop(place_id, None)
        self._recorded_from.pop(place_id, None)
        self._unread.pop(place_id, None)

    def places(self) -> list[Place]:
        """Every place with an active scene."""
        return [entry.place for entry in self._places.values() if entry.live]
