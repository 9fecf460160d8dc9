"""Writes down what moderators do, and tells it to the guild's log channel when there is one."""

from __future__ import annotations

import logging
from typing import Final

from bot.core.trust import DETAIL_LIMIT, AuditStore, Channels, ModeratorAction
from bot.core.types import Place
from bot.engine.notices import Notices
from bot.engine.options import Options
from bot.errors import StorageError

log = logging.getLogger(__name__)

PAGE: Final = 20
ENDS: Final = 60
"""Characters of a text before and after a change that the log shows."""


class Audit:
    """The log of moderators' actions. Details are short, and hold neither secrets nor members' words."""

    def __init__(self, *, store: AuditStore, options: Options, channels: Channels, notices: Notices) -> None:
        self._store = store
        self._options = options
        self._channels = channels
        self._notices = notices

    async def note(self, place: Place, actor_id: int, action: str, detail: str = "") -> None:
        """Something was done. A log that cannot be written is told to the owner and undoes nothing.

        In a direct message nobody moderates anybody, so nothing is noted there.
        """
        if not place.guild_id:
            return
        line = ModeratorAction(place.space_id, place.id, actor_id, action, one_line(detail, DETAIL_LIMIT))
        try:
            await self._store.add(line)
        except StorageError as problem:
            log.error("What a moderator did in server %s is not in its log: %s", place.space_id, problem)
        await self._tell(place, line)

    async def newest(self, space_id: int, before_id: int = 0) -> list[ModeratorAction]:
        """A page of the log, newest first."""
        return await self._store.newest(space_id, PAGE, before_id)

    async def _tell(self, place: Place, line: ModeratorAction) -> None:
        await self._options.load(place.space_id)
        target = log_channel(place, self._options, self._channels)
        if target is not None:
            self._notices.plain(target, told(line))


def log_channel(place: Place, options: Options, channels: Channels) -> Place | None:
    """The channel that the setting names, when it is one of the same server that can be seen."""
    channel_id = options.known(place.space_id)["log_channel"]
    if not isinstance(channel_id, int) or not channel_id:
        return None
    target = Place(id=channel_id, guild_id=place.guild_id, name="log")
    if channels.about(target).known:  # never a channel of another server
        return target
    log.warning("Server %s: its log channel %s cannot be seen", place.space_id, channel_id)
    return None


def told(line: ModeratorAction) -> str:
    """One line for people."""
    who = f"<@{line.actor_id}>" if line.actor_id else "somebody who was forgotten"
    detail = f": {line.detail}" if line.detail else ""
    return f"`{line.action}` by {who} in <#{line.place_id}>{detail}"


def change(before: object, after: object) -> str:
    """What a value was and is, each on one short line."""
    return f"{one_line(str(before), ENDS) or 'nothing'} → {one_line(str(after), ENDS) or 'nothing'}"


def one_line(text: str, limit: int) -> str:
    """The text without line breaks, cut with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
