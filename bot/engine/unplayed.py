"""Where no scene is played: one notice for who addresses a persona; nothing that is said is kept."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from bot.core.events import MessagePosted
from bot.core.names import called, find_name, fold
from bot.core.reading import kind_of
from bot.core.stores import PersonaStore, TurnStore
from bot.core.turn_taking import ReplyMode
from bot.core.types import TurnKind
from bot.engine.jobs import Jobs
from bot.engine.notices import NO_SCENE, PAUSED, Notices
from bot.engine.options import Options
from bot.errors import StorageError

log = logging.getLogger(__name__)

NAMES_LAST = timedelta(minutes=1)
"""For so long the names of a space's personas are not read again."""
NAMED_QUIET = timedelta(days=1)
"""Who speaks of a persona may not mean to speak to it: that hint is not repeated in a place before this."""
_BY_NAME = {ReplyMode.NAMED, ReplyMode.ALWAYS}


class Unplayed:
    """Hears messages of places without a scene, or with a paused one, and forgets them."""

    def __init__(
        self,
        *,
        personas: PersonaStore,
        turns: TurnStore,
        options: Options,
        notices: Notices,
        now: Callable[[], datetime],
    ) -> None:
        self._personas = personas
        self._turns = turns
        self._options = options
        self._notices = notices
        self._now = now
        self._jobs = Jobs()
        self._names: dict[int, tuple[datetime, frozenset[str]]] = {}

    def hear(self, event: MessagePosted, *, paused: bool) -> None:
        """Tell who mentions the bot, replies to a persona or names one how a scene begins or goes on."""
        text = PAUSED if paused else NO_SCENE
        if event.mentions_bot:
            self._notices.hint(event.place, text, reply_to=event.message_id)
        elif not self._jobs.closing and not self._notices.given(event.place, text, within=NAMED_QUIET):
            self._jobs.start(self._hint_if_meant(event, text), name=f"listen in {event.place.id}")

    @property
    def busy(self) -> bool:
        """Whether a message is being looked at."""
        return self._jobs.busy

    async def close(self) -> None:
        """Look at nothing more."""
        await self._jobs.close()

    async def _hint_if_meant(self, event: MessagePosted, text: str) -> None:
        try:
            meant = await self._addresses(event)
        except StorageError as problem:
            log.warning("Place %s: who was addressed cannot be read: %s", event.place.id, problem)
            return
        if meant and not self._notices.given(event.place, text, within=NAMED_QUIET):
            self._notices.hint(event.place, text, reply_to=event.message_id)

    async def _addresses(self, event: MessagePosted) -> bool:
        if kind_of(event.text)[0] is TurnKind.OUT_OF_CHARACTER:
            return False
        space_id = event.place.space_id
        await self._options.load(space_id)
        if ReplyMode(str(self._options.known(space_id, event.place.id)["reply_mode"])) not in _BY_NAME:
            return False
        if event.reply_to is not None:
            answered = await self._turns.by_message(event.reply_to)
            if answered is not None and answered.persona_id is not None:
                return True
        names, said = await self._names_of(space_id), fold(event.text)
        return any(fold(name) in said and find_name(event.text, name) is not None for name in names)

    async def _names_of(self, space_id: int) -> frozenset[str]:
        now = self._now()
        self._names = {space: kept for space, kept in self._names.items() if now - kept[0] < NAMES_LAST}
        if space_id not in self._names:
            personas = await self._personas.of_space(space_id)
            self._names[space_id] = now, frozenset(name for one in personas for name in called(one))
        return self._names[space_id][1]
