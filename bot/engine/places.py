"""The registry of actors: one per place that is awake."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from bot.core.events import MessagePosted
from bot.core.stores import Changed, JournalOutcome
from bot.core.types import Place
from bot.engine.actor import Answer, Change, Conduct, PlaceActor, Stumbled, T, in_silence
from bot.engine.jobs import Jobs
from bot.engine.live import LiveScenes
from bot.engine.state import PlaceState

MANY_AWAKE = 1000
"""With more than so many, places fall asleep sooner."""


class Places:
    """Wakes actors on demand; idle ones retire by themselves without losing a message."""

    def __init__(self, *, live: LiveScenes) -> None:
        self._live = live
        self._jobs = Jobs()
        self._actors: dict[int, PlaceActor] = {}
        self._parts: tuple[Conduct, Answer, Stumbled] | None = None
        self._holds: list[tuple[Collection[int], Change[None]]] = []
        """Spaces that are held, and what stops a place of theirs."""

    def use(self, conduct: Conduct, answer: Answer, stumbled: Stumbled = in_silence) -> None:
        """Set what the actors do, and how they tell a place of a failure; once, before the first message."""
        self._parts = (conduct, answer, stumbled)

    def tell(self, place_id: int, outcome: JournalOutcome, event: MessagePosted | None) -> None:
        """Hand a committed event to its place."""
        place = event.place if event else self._live.place(place_id)
        if outcome is not None and place is not None:
            self._actor(place).tell(outcome, event)
            if isinstance(outcome, Changed) and outcome.memory_ids:
                self.unlearn(place.space_id, outcome.memory_ids)

    async def do(self, place: Place, change: Change[T]) -> T:
        """Run a change on the place's state, in its order."""
        return await self._actor(place).do(change)

    def later(self, place: Place, change: Change[None]) -> None:
        """Run a change on the place's state, in its order; nobody waits for it."""
        self._actor(place).later(change)

    def awake(self, place_id: int) -> PlaceActor | None:
        """The actor, if it is awake."""
        return self._actors.get(place_id)

    def awake_spaces(self) -> set[int]:
        """The spaces of all places that are awake."""
        return {actor.place.space_id for actor in self._actors.values()}

    def awake_in(self, space_id: int) -> list[PlaceActor]:
        """The actors of a space that are awake."""
        return self._of_spaces([space_id])

    def unlearn(self, space_id: int, memory_ids: Collection[int]) -> None:
        """These memories are gone or say something else, for every place of the space: a persona's past goes
        with it everywhere, and channels may be linked."""

        async def change(state: PlaceState) -> None:
            state.unlearn(memory_ids)

        for actor in self.awake_in(space_id):
            if actor.state.reply is not None:
                actor.later(change)

    def wake(self, place: Place, *, anew: bool = False) -> None:
        """Load a place, so that what it still owes is answered; with `anew` also when it is awake."""
        actor = self._actor(place)
        if anew:
            actor.reload()
        else:
            actor.nudge()

    @asynccontextmanager
    async def held(
        self, space_ids: Collection[int], *, within: float, leaving: int = 0
    ) -> AsyncIterator[list[int]]:
        """Stop the places of these spaces, also those that wake meanwhile; afterwards they know what the
        store says.

        Replies in the making are given up (and made again if they are still owed). Yields the ids of places
        that were awake. Who is `leaving` is not answered any more. TimeoutError when a place does not come
        to a stop.
        """
        released = asyncio.Event()
        actors = self._of_spaces(space_ids)
        stopped = {actor.place.id: asyncio.Event() for actor in actors}
        ending: list[asyncio.Task[None]] = []

        async def stop(state: PlaceState) -> None:
            if state.reply is not None and state.reply.task is not None and not state.reply.committed:
                ending.append(state.reply.task)  # it still counts what it cost
            state.forget_members(leaving)
            if (event := stopped.get(state.place.id)) is not None:
                event.set()
            await released.wait()

        for actor in actors:
            actor.later(stop)
        hold = (space_ids, stop)
        self._holds.append(hold)
        try:
            async with asyncio.timeout(within):
                for event in stopped.values():
                    await event.wait()
                if ending:
                    await asyncio.wait(ending)
            yield list(stopped)
        finally:
            self._holds.remove(hold)
            released.set()
            for actor in self._of_spaces(space_ids):
                actor.reload()

    def _of_spaces(self, space_ids: Collection[int]) -> list[PlaceActor]:
        return [actor for actor in self._actors.values() if actor.place.space_id in space_ids]

    def _actor(self, place: Place) -> PlaceActor:
        actor = self._actors.get(place.id)
        if actor is None:
            if self._parts is None:
                raise RuntimeError("Places.use comes before the first message")
            conduct, answer, stumbled = self._parts
            actor = PlaceActor(
                place,
                conduct=conduct,
                answer=answer,
                retire=self._retired,
                is_crowded=lambda: len(self._actors) > MANY_AWAKE,
                stumbled=stumbled,
            )
            self._actors[place.id] = actor
            for space_ids, stop in self._holds:
                if place.space_id in space_ids:
                    actor.later(stop)
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
