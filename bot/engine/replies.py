"""A persona's reply after it was said: made anew, given other words, taken away. All copies follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.core.events import MessageEdited, MessagesDeleted
from bot.core.knowledge import KnowledgeStore
from bot.core.splitting import split
from bot.core.stores import TurnStore
from bot.core.types import Place, Turn, TurnKind
from bot.engine.delivery import Delivery
from bot.engine.journal import Journal
from bot.engine.notices import NO_SCENE
from bot.engine.places import Places
from bot.engine.state import Address, PlaceState
from bot.errors import UserFacing

SENDING_S = 5.0
"""How long to wait for a reply that is just being sent."""
_NOT_A_REPLY = "That message is no reply of a persona that I remember."


@dataclass(frozen=True, slots=True)
class Reworded:
    """What must be done in the channel: these messages get these texts, those are deleted."""

    texts: dict[int, str]
    gone: tuple[int, ...] = ()


class Replies:
    """Permissions are the caller's to check; so is the change of the messages in the channel."""

    def __init__(
        self,
        *,
        turns: TurnStore,
        knowledge: KnowledgeStore,
        journal: Journal,
        places: Places,
        delivery: Delivery,
        now: Callable[[], datetime],
    ) -> None:
        self._turns = turns
        self._knowledge = knowledge
        self._journal = journal
        self._places = places
        self._delivery = delivery
        self._now = now

    async def find(self, place: Place, message_id: int) -> Turn:
        """The persona's turn that a message belongs to. UserFacing when it is none."""
        await self._delivery.quiet([place.id], SENDING_S)
        turn = await self._turns.by_message(message_id)
        if turn is None or turn.place_id != place.id or turn.persona_id is None or not turn.text:
            raise UserFacing(_NOT_A_REPLY)
        return turn

    async def answered(self, turn: Turn) -> list[Turn]:
        """The turns that a reply answers."""
        return await self._knowledge.answered_by(turn.id)

    async def delete(self, place: Place, message_id: int) -> tuple[int, ...]:
        """Take a reply away: window, notes, memories, samples. Its messages must then be taken back."""
        turn = await self.find(place, message_id)
        self._journal.submit(MessagesDeleted(place.id, turn.message_ids))
        await self._journal.flushed()
        return turn.message_ids

    async def edit(self, place: Place, message_id: int, text: str) -> Reworded:
        """Give a reply other words, everywhere. UserFacing when they need more messages than it has."""
        turn = await self.find(place, message_id)
        if not text.strip():
            raise UserFacing("A reply needs words. To take it away, use More… → Delete.")
        parts = split(text.strip())
        if len(parts) > len(turn.message_ids):
            most = 2000 * len(turn.message_ids)
            raise UserFacing(
                f"That is too long for the messages it stands in; at most {most} characters fit."
            )
        moment = self._now()
        texts = dict(zip(turn.message_ids, parts, strict=False))
        gone = turn.message_ids[len(parts) :]
        for known, part in texts.items():
            self._journal.submit(MessageEdited(place.id, known, part, moment))
        if gone:
            self._journal.submit(MessagesDeleted(place.id, gone))
        await self._journal.flushed()
        return Reworded(texts, gone)

    async def regenerate(self, place: Place, message_id: int) -> tuple[int, ...]:
        """Have the newest reply made anew; the messages of the old one must then be taken back."""
        turn = await self.find(place, message_id)
        answered = await self.answered(turn)
        if not answered:
            raise UserFacing("That answers nobody, so it cannot be made anew.")
        await self._places.do(place, lambda state: _must_be_last(state, turn))
        self._journal.submit(MessagesDeleted(place.id, turn.message_ids))
        await self._journal.flushed()
        await self._places.do(place, lambda state: _ask_again(state, turn, answered, self._now()))
        return turn.message_ids


async def _must_be_last(state: PlaceState, turn: Turn) -> None:
    if state.scene is None:
        raise UserFacing(NO_SCENE)
    if state.scene.paused:
        raise UserFacing("The scene is paused. `/scene resume` goes on.")
    if state.scene.id != turn.scene_id or turn.persona_id not in state.personas:
        raise UserFacing("That reply belongs to another scene, or its persona has left.")
    if state.reply is not None:
        raise UserFacing("A reply is being written just now. Please wait for it.")
    later = [one for one in state.window if one.id > turn.id and one.kind is not TurnKind.OUT_OF_CHARACTER]
    if later:
        raise UserFacing("The story has gone on since. Only the newest reply can be made anew.")


async def _ask_again(state: PlaceState, turn: Turn, answered: Sequence[Turn], now: datetime) -> None:
    assert turn.persona_id is not None
    waiting = (*state.pending, *(state.reply.addresses if state.reply else ()))
    asked = {address.turn.id for address in waiting}  # somebody else may want it anew as well
    state.pending += [
        Address(one, turn.persona_id, now) for one in answered if one.text and one.id not in asked
    ]
