"""Decides whether a text may be taken in or said, by a guild's words and a moderation server."""

from __future__ import annotations

import asyncio
import logging
from enum import Enum
from typing import Final

from bot.core.moderation import Checked, Moderation, blocked, read_words
from bot.core.types import Place
from bot.engine.options import Options
from bot.errors import ModerationUnavailable, TroupeError, new_reference

log = logging.getLogger(__name__)

AT_ONCE: Final = 8


class Whose(Enum):
    """Who says it."""

    MEMBER = "member"
    PERSONA = "persona"


class ReplyHeldBack(TroupeError):
    """A persona's words are not posted."""


class Guard:
    """Words first, which costs nothing; then the server, where the guild asks for it and there is one."""

    def __init__(self, *, options: Options, moderation: Moderation | None) -> None:
        self._options = options
        self._moderation = moderation
        self._gate = asyncio.Semaphore(AT_ONCE)

    @property
    def has_server(self) -> bool:
        """Whether the bot's owner set a moderation server."""
        return self._moderation is not None

    def blocks(self, place: Place, text: str) -> bool:
        """Whether a word of the guild's list stands in the text. Never waits."""
        listed = str(self._options.known(place.space_id, place.id)["blocked_words"])
        return bool(listed) and blocked(text, read_words(listed))

    def asks(self, place: Place, whose: Whose) -> bool:
        """Whether the moderation server is to be asked as well."""
        checked = self.checked(place)
        return checked.members if whose is Whose.MEMBER else checked.replies

    def checked(self, place: Place) -> Checked:
        """Whose texts of this place the moderation server gets."""
        if self._moderation is None:
            return Checked.OFF
        return Checked(str(self._options.known(place.space_id, place.id)["moderation"]))

    async def refuses(self, place: Place, text: str, whose: Whose) -> bool:
        """Whether the text may not be taken in, or said. When the server does not answer, the setting
        `moderation_failure` decides."""
        if self.blocks(place, text):
            return True
        if self._moderation is None or not self.asks(place, whose):
            return False
        try:
            async with self._gate:
                return await self._moderation.refuses(text)
        except ModerationUnavailable as problem:
            words = "Place %s: the moderation server does not answer (%s); the text is %s"
            log.warning(words, place.id, problem, "refused" if self._closed(place) else "let through")
        except Exception:
            # The messages that wait behind this one must not be lost over it.
            words = "Place %s: a text could not be checked (ref %s), it is %s"
            log.exception(
                words, place.id, new_reference(), "refused" if self._closed(place) else "let through"
            )
        return self._closed(place)

    def _closed(self, place: Place) -> bool:
        return self._options.known(place.space_id, place.id)["moderation_failure"] == "closed"

    async def check_reply(self, place: Place, text: str) -> None:
        """ReplyHeldBack when a persona may not say this here."""
        if await self.refuses(place, text, Whose.PERSONA):
            raise ReplyHeldBack
