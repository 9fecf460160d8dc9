"""Decides who answers a turn, and from when on it waits for its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from bot.core.stores import TurnStore
from bot.core.trust import Channels
from bot.core.turn_taking import Decision, Reason, ReplyMode, decide
from bot.core.types import Persona, Place, Turn
from bot.engine.crowd import Rates
from bot.engine.jobs import Jobs
from bot.engine.notices import Notices
from bot.engine.options import Options
from bot.engine.silence import Silence
from bot.engine.state import Address, PlaceState

GATHER_S: Final = 1.0
"""Turns of a flood are marked as not answered together."""


class Addressing:
    """Turn taking with the settings of the place. Every method runs inside the actor of its state."""

    def __init__(
        self,
        *,
        turns: TurnStore,
        options: Options,
        silence: Silence,
        channels: Channels,
        notices: Notices,
        rates: Rates,
        jobs: Jobs,
        now: Callable[[], datetime],
        answers_after: datetime,
    ) -> None:
        """`jobs` run what nobody waits for; what was said until `answers_after` is not answered."""
        self._turns = turns
        self._options = options
        self._silence = silence
        self._channels = channels
        self._notices = notices
        self._rates = rates
        self._jobs = jobs
        self._now = now
        self._answers_after = answers_after
        self._unanswered: list[int] = []
        """Turns that are yet to be marked as not answered."""
        self._settling = False

    def hindrance(self, place: Place, persona: Persona | None) -> Reason | None:
        """Why a persona may not speak there now, whoever asks; None when it may."""
        if self._silence.covers(place):
            return Reason.ASLEEP
        if persona is not None and persona.age_restricted and not self._channels.about(place).age_restricted:
            return Reason.AGE_RESTRICTED
        return None

    async def consider(self, state: PlaceState, turn: Turn) -> None:
        """Decide who answers a turn; it waits for its answer then."""
        if turn.created_at <= self._answers_after:
            return
        decision = await self._decide(state, turn)
        if decision.persona_id is not None:
            hindrance = self.hindrance(state.place, state.personas.get(decision.persona_id))
            decision = Decision(None, hindrance) if hindrance else decision
        if decision.persona_id is not None:
            await self._address(state, turn, decision.persona_id)
        elif decision.reason.worth_telling:
            await self._turns.settle([turn.id])
            self._notices.unanswerable(state.place, decision.reason, turn)

    async def _decide(self, state: PlaceState, turn: Turn) -> Decision:
        assert state.scene is not None
        options = self._options.known(state.place.space_id, state.place.id)
        return decide(
            turn,
            scene=state.scene,
            cast=state.cast,
            reply_mode=ReplyMode(str(options["reply_mode"])),
            last_speaker_persona_id=state.last_speaker,
            replied_persona_id=await self._replied_persona(state, turn),
        )

    async def _replied_persona(self, state: PlaceState, turn: Turn) -> int | None:
        if turn.reply_to is None:
            return None
        for known in reversed(state.window):
            if turn.reply_to in known.message_ids:
                return known.persona_id
        found = await self._turns.by_message(turn.reply_to)
        return found.persona_id if found else None

    async def _address(self, state: PlaceState, turn: Turn, persona_id: int) -> None:
        options = self._options.known(state.place.space_id, state.place.id)
        if self._cooling(state, turn, float(str(options["member_cooldown_s"]))):
            await self._turns.settle([turn.id])
            return
        if not self._rates.allows(state.place.space_id, turn.owner_id, int(str(options["member_rate"]))):
            self._refuse(state.place, turn, int(str(options["member_rate"])))
            return
        self._yield_to(state, turn)
        wait = 0.0
        if not turn.proxied and self._options.proxies_seen(state.place.space_id):
            wait = float(str(options["proxy_wait"]))
        state.pending.append(Address(turn, persona_id, self._now() + timedelta(seconds=wait)))

    def _yield_to(self, state: PlaceState, turn: Turn) -> None:
        """A reply in the making that answers nobody but a flood gives way to whoever else asks."""
        space_id, reply = state.place.space_id, state.reply
        if reply is not None and not self._rates.floods(space_id, turn.owner_id):
            owners = {address.turn.owner_id for address in reply.addresses}
            reply.yields |= all(self._rates.floods(space_id, owner_id) for owner_id in owners)

    def _refuse(self, place: Place, turn: Turn, rate: int) -> None:
        """One notice for a flood. Its turns are marked a few at a time: the place must not wait for each."""
        if self._rates.is_first_refusal(place.space_id, turn.owner_id):
            self._notices.too_often(place, turn, rate)
        self._unanswered.append(turn.id)
        if not self._settling and not self._jobs.closing:
            self._settling = True
            self._jobs.start(self._settle(), name="mark what is not answered")

    async def _settle(self) -> None:
        try:
            while self._unanswered:
                some = list(self._unanswered)
                await self._turns.settle(some)
                del self._unanswered[: len(some)]
                await asyncio.sleep(GATHER_S)
        finally:
            self._settling = False

    def _cooling(self, state: PlaceState, turn: Turn, seconds: float) -> bool:
        answered = state.answered_at.get(turn.owner_id)
        if not seconds or answered is None or (self._now() - answered).total_seconds() >= seconds:
            return False
        if turn.owner_id not in state.cooled:
            state.cooled.add(turn.owner_id)
            self._notices.cooldown(state.place, turn, seconds)
        return True
