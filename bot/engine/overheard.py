"""What members who opted out say: held in memory for the one answer it asks for, never written."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import fields, replace
from typing import Final

from bot.core.events import Event, MessageEdited, MessagePosted, MessagesDeleted
from bot.core.stores import Changed
from bot.core.types import LiveScene, Turn, TurnDraft
from bot.engine.addressing import Addressing
from bot.engine.conduct import ANSWER_WITHIN, Conduct
from bot.engine.journal import Journal, draft_of
from bot.engine.places import Places
from bot.engine.state import PlaceState, is_unwritten

_KEPT: Final = 1000
"""Ids of messages that were heard already; a history that is read again must not be answered again."""


class Overheard:
    """Turns with negative ids (of their messages) that only the place's waiting list knows."""

    def __init__(self, *, journal: Journal, places: Places, conduct: Conduct, addressing: Addressing) -> None:
        self._journal = journal
        self._places = places
        self._conduct = conduct
        self._addressing = addressing
        self._heard: OrderedDict[int, None] = OrderedDict()

    def hear(self, event: MessagePosted, live: LiveScene) -> None:
        """Let the place decide who answers; nothing else remembers the message."""
        if event.message_id in self._heard or event.created_at < self._conduct.now() - ANSWER_WITHIN:
            return
        self._heard[event.message_id] = None
        if len(self._heard) > _KEPT:
            self._heard.popitem(last=False)
        turn = _unwritten(draft_of(event, live, proxied=False), event.message_id)

        async def consider(state: PlaceState) -> None:
            if state.scene is not None and state.scene.id == turn.scene_id and not state.scene.paused:
                await self._addressing.consider(state, turn)

        self._journal.then(lambda: self._places.later(event.place, consider))

    def changed(self, event: Event) -> None:
        """Edits and deletions reach what still waits for its answer."""
        if isinstance(event, MessageEdited):
            ids = {event.message_id}
        elif isinstance(event, MessagesDeleted):
            ids = set(event.message_ids)
        else:
            return
        if self._heard.keys().isdisjoint(ids):
            return
        place_id = event.place_id
        text = event.text if isinstance(event, MessageEdited) else ""

        async def follow(state: PlaceState) -> None:
            turns = tuple(replace(turn, text=text) for turn in _waiting(state) if -turn.id in ids)
            if turns:
                await self._conduct.changed(state, Changed(turns, removed=not text.strip()))

        def tell() -> None:
            actor = self._places.awake(place_id)
            if actor is not None:
                actor.later(follow)

        self._journal.then(tell)


def _unwritten(draft: TurnDraft, message_id: int) -> Turn:
    return Turn(**{each.name: getattr(draft, each.name) for each in fields(TurnDraft)}, id=-message_id)


def _waiting(state: PlaceState) -> list[Turn]:
    waiting = [address.turn for address in state.pending]
    if state.reply is not None:
        waiting += state.reply.request.answers
    return [turn for turn in waiting if is_unwritten(turn)]
