"""Short lines in the bot's own name: one instead of an answer, never a stream of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from bot.core.ports import Messenger
from bot.core.turn_taking import Reason
from bot.core.types import Place, Turn
from bot.engine.jobs import Jobs
from bot.errors import DeliveryError

log = logging.getLogger(__name__)

QUIET = timedelta(minutes=30)
"""The same hint is not given again in a place before this has passed."""
KEPT = timedelta(days=1)
"""For so long it is known which hints were given."""
AGAIN_AFTER = (1.0, 5.0, 15.0, 30.0)
"""What Discord does not take is said again after so many seconds: Discord knows a doubled one for minutes."""
UNEXPECTED = (
    "*Something went wrong; nothing is lost. The bot's owner finds it in the log (reference {reference}).*"
)
TROUBLE = "*Something went wrong here. The bot's owner finds it in the log (reference {reference}).*"
TROUBLE_QUIET = timedelta(minutes=5)
"""Of what went wrong unexpectedly, a place is told once in this time: one fault often brings many."""
NOT_TAKEN = "*Discord did not take my answer. Please say it again.*"
NO_SCENE = "There is no active scene here. A moderator starts one with `/scene start`."
ASLEEP = "The personas are asleep: a moderator stopped all replies. `/persona wake` brings them back."
AGE_RESTRICTED = (
    "That persona is age-restricted: it speaks only in channels that are marked so in Discord "
    "(Edit Channel → Age-Restricted Channel), and in their threads."
)
PAUSED = "The scene is paused: nothing is recorded or answered until `/scene resume`."
_HINTS = {
    Reason.OFF_BUT_ADDRESSED: "Replies are switched off here; `/settings set reply_mode` changes that.",
    Reason.NOBODY_HERE: "No persona is in this scene. A moderator brings one in with `/scene cast add`.",
    Reason.ASLEEP: ASLEEP,
    Reason.AGE_RESTRICTED: AGE_RESTRICTED,
    Reason.NOT_HERE: "That persona is no longer in this scene. `/scene show` tells who is.",
}


class Notices:
    """Sends notices in the background, some times if need be; one that cannot be sent is only logged."""

    def __init__(self, *, messenger: Messenger, now: Callable[[], datetime], pause: float = 1.0) -> None:
        """`pause` stretches the times after which a notice is sent again."""
        self._messenger = messenger
        self._now = now
        self._pause = pause
        self._closing = asyncio.Event()
        self._jobs = Jobs()
        self._given: dict[tuple[int, str], datetime] = {}

    def plain(self, place: Place, text: str, *, reply_to: int | None = None) -> None:
        """Say this now."""
        self._jobs.start(self._send(place, text, reply_to), name=f"notice in {place.id}")

    def hint(self, place: Place, text: str, *, reply_to: int | None = None, quiet: timedelta = QUIET) -> None:
        """Say this unless it was said here within `quiet` (at most a day)."""
        if self.given(place, text, within=quiet):
            return
        now = self._now()
        self._given = {old: when for old, when in self._given.items() if now - when < KEPT}
        self._given[place.id, text] = now
        self.plain(place, text, reply_to=reply_to)

    def trouble(self, place: Place, number: str, *, reply_to: int | None = None) -> None:
        """Say that something failed in a way nobody foresaw; the log holds it under this reference."""
        if not self.given(place, TROUBLE, within=TROUBLE_QUIET):
            self._given[place.id, TROUBLE] = self._now()
            self.plain(place, TROUBLE.format(reference=number), reply_to=reply_to)

    def not_taken(self, place: Place, reply_to: int) -> None:
        """Say that a persona's answer could not be posted."""
        self.plain(place, NOT_TAKEN, reply_to=reply_to)

    def given(self, place: Place, text: str, *, within: timedelta) -> bool:
        """Whether this hint was given here lately."""
        when = self._given.get((place.id, text))
        return when is not None and self._now() - when < within

    def unanswerable(self, place: Place, reason: Reason, turn: Turn) -> None:
        """Say why nobody answers a turn that asked for an answer."""
        self.hint(place, _HINTS[reason], reply_to=turn.last_message)

    def cooldown(self, place: Place, turn: Turn, seconds: float) -> None:
        """Tell a member, once, to wait a little."""
        text = f"One message at a time, please: the next answer comes {seconds:g} s after the last."
        self.plain(place, text, reply_to=turn.last_message)

    def too_often(self, place: Place, turn: Turn, rate: int) -> None:
        """Tell a member, once, that this is more than is answered."""
        text = f"I answer a member at most {rate} times a minute. What you say is still recorded."
        self.plain(place, text, reply_to=turn.last_message)

    async def _send(self, place: Place, text: str, reply_to: int | None) -> None:
        """A notice to a message goes out once, however often it is sent (see Messenger.notice)."""
        for wait in (*AGAIN_AFTER, None):
            try:
                await self._messenger.notice(place, text, reply_to=reply_to)
                return
            except DeliveryError as problem:
                log.warning("Place %s does not take a notice: %s", place.id, problem)
                doubled = problem.uncertain and reply_to is None
                if wait is None or doubled or problem.refused or self._closing.is_set():
                    return
                await self._rest(wait * self._pause)

    async def _rest(self, seconds: float) -> None:
        """Wait, but not while everything ends."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    @property
    def busy(self) -> bool:
        """Whether something is still on its way."""
        return self._jobs.busy

    async def close(self, grace: float) -> None:
        """Let the last ones go out."""
        self._closing.set()
        await self._jobs.close(grace)
