"""Other greetings of a persona that has just joined: swiped through until somebody answers."""

from __future__ import annotations

from dataclasses import dataclass

from bot.core.cards import greetings
from bot.core.events import MessagesDeleted
from bot.core.prompting import greeting
from bot.core.stores import TurnStore
from bot.core.types import Persona, Place, Turn
from bot.engine.conduct import Conduct
from bot.engine.delivery import Delivery
from bot.engine.journal import Journal
from bot.engine.notices import NO_SCENE
from bot.engine.places import Places
from bot.engine.state import PlaceState
from bot.errors import UserFacing

SENDING_S = 5.0
"""How long to wait for a greeting that is just being sent."""


@dataclass(frozen=True, slots=True)
class Swiped:
    """Which greeting is shown now (from 1), of how many, and the messages that it replaces."""

    number: int
    total: int
    message_ids: tuple[int, ...] = ()


class Greetings:
    """Finds a greeting by its words, so a restart changes nothing. Permissions are the caller's job."""

    def __init__(
        self, *, places: Places, conduct: Conduct, journal: Journal, turns: TurnStore, delivery: Delivery
    ) -> None:
        self._places = places
        self._conduct = conduct
        self._journal = journal
        self._turns = turns
        self._delivery = delivery

    async def swipe(self, place: Place, persona_id: int, step: int) -> Swiped:
        """Say another greeting instead. `message_ids` must then be taken back in the channel.

        `UserFacing` when the persona has no other, or somebody has spoken since.
        """
        persona, turn, number, total = await self._places.do(
            place, lambda state: self._found(state, persona_id)
        )
        await self._delivery.quiet([place.id], SENDING_S)
        stored = await self._turns.by_ids([turn.id])
        message_ids = stored[0].message_ids if stored else ()
        if not message_ids:
            raise UserFacing("The greeting is still on its way. Please try again in a moment.")
        self._journal.submit(MessagesDeleted(place.id, message_ids))
        await self._journal.flushed()
        wanted = (number + step) % total

        async def change(state: PlaceState) -> None:
            if any(one.persona_id == persona_id and one.id > turn.id for one in state.window):
                raise UserFacing("Somebody else has just chosen another greeting.")
            await self._conduct.greet(state, persona, wanted)

        await self._places.do(place, change)
        return Swiped(wanted + 1, total, message_ids)

    async def _found(self, state: PlaceState, persona_id: int) -> tuple[Persona, Turn, int, int]:
        if state.scene is None:
            raise UserFacing(NO_SCENE)
        persona = state.personas.get(persona_id)
        own = [turn for turn in state.window if turn.persona_id == persona_id]
        if persona is None or not own:
            raise UserFacing("That persona has said no greeting here.")
        if any(turn.persona_id is None and turn.id > own[-1].id for turn in state.window):
            raise UserFacing("Somebody has answered: the greeting stays.")
        total = len(greetings(persona.card, group=len(state.scene.cast) > 1))
        for number in range(total):
            if own[-1].text == self._text(state, persona, number):
                return persona, own[-1], number, total
        raise UserFacing("The scene has gone on: the greeting stays.")

    def _text(self, state: PlaceState, persona: Persona, number: int) -> str:
        assert state.scene is not None
        members = state.named_members
        return greeting(persona, state.scene, members=members, now=self._conduct.now(), number=number)
