"""What moderators did, which channels share memories, what a channel is: values and stores of trust."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from bot.core.types import Place

DETAIL_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class ModeratorAction:
    """Something a moderator or game master did: never a secret, never the words of a member."""

    space_id: int
    place_id: int
    """Where the command was used."""
    actor_id: int
    """0 once that member was forgotten."""
    action: str
    """The name of the command, e.g. `persona delete`."""
    detail: str = ""
    """What changed, before and after, at most `DETAIL_LIMIT` characters."""
    created_at: datetime | None = None
    id: int = 0


class AuditStore(Protocol):
    """The log of what moderators did. It ends with the guild, and with `retention_days`."""

    async def add(self, action: ModeratorAction) -> ModeratorAction:
        """Stored, with its id and time."""

    async def newest(self, space_id: int, limit: int, before_id: int = 0) -> list[ModeratorAction]:
        """Newest first; those older than `before_id` when it is given."""


@dataclass(frozen=True, slots=True)
class Link:
    """A moderator let the memories of one channel feed another of the same guild."""

    place_id: int
    """Where they may be recalled."""
    source_id: int
    """Where they were made."""
    space_id: int
    created_by: int = 0
    created_at: datetime | None = None


class LinkStore(Protocol):
    """Links between channels. They go with either channel."""

    async def add(self, link: Link) -> bool:
        """False when there is one already. StorageError when a place never had a scene."""

    async def remove(self, place_id: int, source_id: int) -> bool:
        """False when there was none."""

    async def into(self, place_id: int) -> list[Link]:
        """Those that feed a place, oldest first."""

    async def of_space(self, space_id: int) -> list[Link]:
        """All of a guild, oldest first."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What Discord says of a channel now. Of what is not known the careful thing is assumed."""

    known: bool = False
    """Whether it is a channel of the guild that it is said to be of."""
    for_everyone: bool = False
    """Whether every member of the guild may read it."""
    age_restricted: bool = False


class Channels(Protocol):
    """What channels are. Never waits: it looks at what the connection knows."""

    def about(self, place: Place) -> Surroundings:
        """Of a thread: as its channel is; a private thread is for those in it."""

    def for_moderators(self, guild_id: int) -> int:
        """The channel in which Discord itself tells a guild's moderators something; 0 when there is none, or
        the bot may not write there."""


class NoChannels:
    """Where nothing is known of channels: the console, and tests that need none."""

    def __init__(self, *, age_restricted: bool = False) -> None:
        self._all = Surroundings(age_restricted=age_restricted)

    def about(self, place: Place) -> Surroundings:
        """Nothing is known but, where somebody plays alone on a machine of their own, the age."""
        return self._all

    def for_moderators(self, guild_id: int) -> int:
        """There is none."""
        return 0
