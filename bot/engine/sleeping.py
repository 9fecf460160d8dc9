"""The panic switch: the personas of a guild, or of one place, fall silent until somebody wakes them."""

from __future__ import annotations

from collections.abc import Callable

from bot.core.stores import TurnStore
from bot.core.types import Place
from bot.engine.actor import PlaceActor
from bot.engine.conduct import Conduct
from bot.engine.delivery import Delivery
from bot.engine.notices import ASLEEP, Notices
from bot.engine.options import Options
from bot.engine.places import Places
from bot.engine.silence import KEY, Silence
from bot.engine.state import PlaceState


class Sleep:
    """Puts personas to sleep and wakes them. Permissions are the caller's job."""

    def __init__(
        self,
        *,
        silence: Silence,
        options: Options,
        places: Places,
        conduct: Conduct,
        delivery: Delivery,
        turns: TurnStore,
        notices: Notices,
    ) -> None:
        self._silence = silence
        self._options = options
        self._places = places
        self._conduct = conduct
        self._delivery = delivery
        self._turns = turns
        self._notices = notices
        self._waking: set[int] = set()
        options.on_change(self._changed)

    def covers(self, place: Place) -> bool:
        """Whether the personas of this place are asleep."""
        return self._silence.covers(place)

    async def sleep(self, space_id: int) -> int:
        """Silence a whole guild: running replies are given up, nothing is sent any more. How many replies
        were under way. It holds before it is stored, and is stored on return."""
        self._silence.hush(space_id, 0)
        stopped = self._hush(space_id, 0)
        await self._options.set(space_id, 0, KEY, "yes")
        return stopped

    async def wake(self, space_id: int) -> bool:
        """Personas answer again, also in places that slept for themselves. False when nobody slept."""
        where, until = self._options.places_with(space_id, KEY), self._silence.presses
        self._waking.add(space_id)
        try:
            for place_id in where:
                await self._options.set(space_id, place_id, KEY, "default")
        finally:
            self._waking.discard(space_id)
        self._silence.end(space_id, until=until)
        return bool(where)

    def _changed(self, space_id: int, place_id: int, key: str, value: object) -> None:
        """The switch was thrown as a setting."""
        if key == KEY and value == "yes":
            self._hush(space_id, place_id)
        elif key == KEY and space_id not in self._waking:
            self._silence.end(space_id, until=self._silence.presses)

    def _hush(self, space_id: int, place_id: int) -> int:
        covers: Callable[[Place], bool] = self._silence.covers
        stopped = self._delivery.hush(covers)
        for actor in self._places.awake_in(space_id):
            if place_id in (0, actor.place.id):
                stopped += self._hush_place(actor)
        return stopped

    def _hush_place(self, actor: PlaceActor) -> int:
        """Give up its reply now; what waited for an answer gets one notice instead."""
        reply = actor.state.reply
        given_up = [] if reply is None or reply.committed or not reply.wanted else list(reply.addresses)
        actor.abort_reply()

        async def settle(state: PlaceState) -> None:
            waiting = [address.turn for address in (*given_up, *state.pending)]
            self._conduct.interrupt(state)
            if waiting:
                await self._turns.settle([turn.id for turn in waiting])
                self._notices.hint(state.place, ASLEEP)

        actor.later(settle)
        return len(given_up)
