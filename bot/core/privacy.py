"""What the privacy commands ask of the outside: a member's rows, and a ledger that no backup undoes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Owned:
    """How much of a member is kept, in all servers and direct messages together."""

    turns: int = 0
    replies: int = 0
    """Personas' turns that answered the member."""
    aliases: int = 0
    memories: int = 0
    """Facts and the like that come from the member's turns or name the member."""
    notes: int = 0
    """Lines of scratchpads, in every revision."""
    samples: int = 0
    personas: int = 0
    """Personas that the member made: those of direct messages go, others lose the member's id."""
    usage: int = 0
    """Sums of what answers to the member cost, by day and persona."""
    space_ids: tuple[int, ...] = ()
    """Servers and direct messages in which the member is known."""
    newest: datetime | None = None
    """When the member last said something that was kept."""

    @property
    def nothing(self) -> bool:
        """Whether the member is unknown here."""
        return self == Owned()


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure took out of the database, for the live copies and the index to follow."""

    turns: int = 0
    memory_ids: tuple[int, ...] = ()
    """Memories that are gone or must be read again."""
    place_ids: tuple[int, ...] = ()
    """Places in which something may have changed."""
    space_ids: tuple[int, ...] = ()
    """Spaces whose index may hold bytes that must go."""
    dropped_spaces: tuple[int, ...] = ()
    """Direct messages (or a guild) that are gone as a whole."""
    dropped_places: tuple[int, ...] = ()


Export = Mapping[str, Sequence[Mapping[str, object]]]
"""Records by topic, as plain values that JSON can hold."""


class PrivacyStore(Protocol):
    """Everything that the database knows of one member, or of one space."""

    async def owned(self, member_id: int) -> Owned:
        """What `erase` would take; nothing is changed."""

    async def erase(
        self, member_id: int, *, number: int, space_id: int = 0, unremembered: bool = False
    ) -> Erased:
        """Removes all that the member owns and all that was made of it, in every space, in one transaction.

        The member's direct messages go as a whole (`space_id` names one that is known to be theirs). The
        member's names are taken out of what others said. `number` is the ledger's, see `applied`. With
        `unremembered` all answers to members who opted out go as well: nobody knows to whom they were given.
        """

    async def erase_space(self, space_id: int, *, number: int) -> Erased:
        """Removes a guild or direct message with all that belongs to it, settings included."""

    async def erase_place(self, place_id: int) -> Erased:
        """Removes one channel with its stories and all that was said there."""

    async def erase_before(self, space_id: int, moment: datetime) -> Erased:
        """Removes what was said in a space before a moment, and all that was made of it."""

    async def count_before(self, space_id: int, moment: datetime) -> int:
        """How many turns and memories `erase_before` would take, about."""

    async def applied(self) -> int:
        """The number of the ledger's newest entry that this database has followed."""

    async def set_applied(self, number: int) -> None:
        """The database now agrees with the ledger up to this entry. It never goes back."""

    async def known_members(self) -> list[int]:
        """The ids of all members of whom anything is kept."""

    async def known_spaces(self) -> list[int]:
        """The ids of all guilds and direct messages of which anything is kept."""

    async def export(self, member_id: int) -> Export:
        """All that is kept about a member."""


class PrivacyLedger(Protocol):
    """Who opted out and who was erased, as keyed hashes, in a file that no backup brings back.

    Reading is from memory; writing is on the disk on return.
    """

    def opted_out(self, member_id: int) -> bool:
        """Whether what this member says must not be written."""

    @property
    def anyone_out(self) -> bool:
        """Whether anybody opted out at all."""

    def erased_at(self, some_id: int) -> datetime | None:
        """When the member (or space) was last erased: nothing said until then may be stored again."""

    def is_pending(self, some_id: int, *, after: int) -> bool:
        """Whether this member or space has an erasure with a number above `after`."""

    @property
    def newest(self) -> int:
        """The number of the newest erasure; 0 when there was none."""

    async def opt_out(self, member_id: int) -> bool:
        """False when it was so already."""

    async def opt_in(self, member_id: int) -> bool:
        """False when it was so already."""

    async def erased(self, some_id: int, *, at: datetime) -> int:
        """Notes that a member or a space was erased; the entry's number, which grows with every entry."""


class MemoryLedger:
    """A `PrivacyLedger` that ends with the process: for a run that keeps nothing, and for tests."""

    def __init__(self) -> None:
        self._out: set[int] = set()
        self._erased: dict[int, tuple[int, datetime]] = {}

    def opted_out(self, member_id: int) -> bool:
        return member_id in self._out

    @property
    def anyone_out(self) -> bool:
        return bool(self._out)

    def erased_at(self, some_id: int) -> datetime | None:
        found = self._erased.get(some_id)
        return found[1] if found else None

    def is_pending(self, some_id: int, *, after: int) -> bool:
        return some_id in self._erased and self._erased[some_id][0] > after

    @property
    def newest(self) -> int:
        return max((number for number, _ in self._erased.values()), default=0)

    async def opt_out(self, member_id: int) -> bool:
        if member_id in self._out:
            return False
        self._out.add(member_id)
        return True

    async def opt_in(self, member_id: int) -> bool:
        if member_id not in self._out:
            return False
        self._out.discard(member_id)
        return True

    async def erased(self, some_id: int, *, at: datetime) -> int:
        number = max(self.newest + 1, int(at.timestamp() * 1000))
        self._erased[some_id] = (number, at)
        return number
