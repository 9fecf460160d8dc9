"""The registry of actors: one per place that is awake."""

from __future__ import annotations

from bot.core.events import MessagePosted
from bot.core.ports import JournalOutcome
from bot.core.types import Place
from bot.engine.actor import Answer, Change, Conduct, PlaceActor, T
from bot.engine.jobs import Jobs
from bot.engine.live import LiveScenes


class Places:
    """Wakes actors on demand; idle ones retire by themselves without losing a message."""

    def __init__(self, *, live: LiveScenes) -> None:
        self._live = live
        self._jobs = Jobs()
        self._actors: dict[int, PlaceActor] = {}
        self._parts: tuple[Conduct, Answer] | None = None

    def use(self, conduct: Conduct, answer: Answer) -> None:
        """Set what the actors do; once, before the first message."""
        self._parts = (conduct, answer)

    def tell(self, place_id: int, outcome: JournalOutcome, event: MessagePosted | None) -> None:
        """Hand a committed event to its place."""
        place = event.place if event else self._live.place(place_id)
        if outcome is not None and place is not None:
            self._actor(place).tell(outcome, event)

    async def do(self, place: Place, change: Change[T]) -> T:
        """Run a change on the place's state, in its order."""
        return await self._actor(place).do(change)

    def awake(self, place_id: int) -> PlaceActor | None:
        """The actor, if it is awake."""
        return self._actors.get(place_id)

    def wake(self, place: Place) -> None:
        """Load a place, so that what it still owes is answered."""
        self._actor(place).nudge()

    def _actor(self, place: Place) -> PlaceActor:
        actor = self._actors.get(place.id)
        if actor is None:
            if self._parts is None:
                raise RuntimeError("Places.use comes before the first message")
            conduct, answer = self._parts
            actor = PlaceActor(place, conduct=conduct, answer=answer, retire=self._retired)
            self._actors[place.id] = actor
            self._jobs.start(actor.run(), name=f"place {place.id}")
        return actor

    def _retired(self, actor: PlaceActor) -> None:
        if self._actors.get(actor.place.id) is actor:
            del self._actors[actor.place.id]

    async def close(self, grace: float) -> None:
        """Let running replies end within `grace` seconds; what is cut short is answered at the next start."""
        actors = list(self._actors.values())
        for actor in actors:
            actor.close()
        await self._jobs.settled(grace)
        for actor in self._actors.values():
            actor.abort_reply()
        await self._jobs.close(grace=1.0)
