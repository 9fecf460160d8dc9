"""Which scenes wait for their notes, and which of them is next."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.core.types import Place

ENOUGH_TURNS = 10
PATIENCE = timedelta(minutes=5)
"""Notes are rewritten when so many turns are uncovered, or the oldest has waited so long."""


@dataclass(slots=True, eq=False)
class Due:
    """A scene whose turns wait for the notes."""

    place: Place
    scene_id: int
    uncovered: int
    since: datetime
    not_before: datetime
    failures: int = 0
    refusals: int = 0
    """How often in a row the answer over the oldest turns could not be used."""
    busy: bool = False
    unscored: list[int] = field(default_factory=list)
    """Turns whose feelings the model has still to tell."""
    scorings: int = 0
    """How often in a row it did not."""
    queued: datetime | None = None
    """The moment for which it stands in the queue."""

    def when(self) -> datetime:
        """The moment from which it may be worked on."""
        return self.not_before if self.unscored else self.notes_when()

    def notes_when(self) -> datetime:
        """The moment from which the notes may be rewritten."""
        wait = timedelta() if self.uncovered >= ENOUGH_TURNS else PATIENCE
        return max(self.since + wait, self.not_before)


class DueNotes:
    """A queue of scenes by the moment of each. One that is being worked on is nobody's next."""

    def __init__(self, *, now: Callable[[], datetime]) -> None:
        self._now = now
        self._scenes: dict[int, Due] = {}
        self._queue: list[tuple[datetime, int, Due]] = []
        """A heap; entries that are no longer true stay in it until they come up."""
        self._count = 0

    def __len__(self) -> int:
        return len(self._scenes)

    @property
    def waiting(self) -> int:
        """How many turns wait to be summarised, in all scenes known."""
        return sum(due.uncovered for due in self._scenes.values())

    @property
    def busy(self) -> bool:
        """Whether any scene is being worked on."""
        return any(due.busy for due in self._scenes.values())

    def note(self, place: Place, scene_id: int, uncovered: int) -> None:
        """So many turns of the scene are uncovered now."""
        due = self._scenes.get(scene_id)
        if uncovered == 0:
            if due is not None and not due.busy and not due.unscored:
                del self._scenes[scene_id]
            return
        if due is None:
            due = self._scenes[scene_id] = Due(place, scene_id, uncovered, self._now(), self._now())
        due.uncovered = uncovered
        self._put(due)

    def take(self) -> Due | None:
        """The scene that has waited longest of those whose moment has come; it is busy from now on."""
        now = self._now()
        while self._queue and self._queue[0][0] <= now:
            when, _, due = heapq.heappop(self._queue)
            if due.queued != when or self._scenes.get(due.scene_id) is not due:
                continue
            due.queued, due.busy = None, True
            return due
        return None

    def give_back(self, due: Due) -> None:
        """It was worked on; without anything left to do it is forgotten."""
        due.busy = False
        if due.uncovered == 0 and not due.unscored:
            self._scenes.pop(due.scene_id, None)
        else:
            self._put(due)

    def pause(self) -> float:
        """Seconds until there may be something to take: at least a twentieth, at most sixty."""
        seconds = (self._queue[0][0] - self._now()).total_seconds() if self._queue else 60.0
        return min(60.0, max(0.05, seconds))

    def _put(self, due: Due) -> None:
        when = due.when()
        if not due.busy and due.queued != when:
            self._count += 1
            due.queued = when
            heapq.heappush(self._queue, (when, self._count, due))
