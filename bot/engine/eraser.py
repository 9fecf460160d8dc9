"""Erases members, channels and guilds from the stores: first the rows, then every byte of them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime

from bot.core.privacy import Erased, Owned, PrivacyLedger, PrivacyStore
from bot.engine.indexing import Indexer

log = logging.getLogger(__name__)

RemoveCopies = Callable[[], Awaitable[None]]
"""Removes the copies of the database that lie beside it."""


async def no_copies() -> None:
    """Where none are made."""


class Eraser:
    """The part of forgetting that needs no running scenes; `python -m bot forget` uses it alone.

    The ledger is written first: an erasure that a crash cuts short is done at the next start.
    """

    def __init__(
        self,
        *,
        store: PrivacyStore,
        ledger: PrivacyLedger,
        indexer: Indexer,
        now: Callable[[], datetime],
        remove_copies: RemoveCopies = no_copies,
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._indexer = indexer
        self._now = now
        self._remove_copies = remove_copies

    async def member_rows(self, member_id: int, owned: Owned, *, direct_id: int = 0) -> Erased:
        """Take a member out of the database for good. `bytes_of` must follow."""
        at = max(self._now(), owned.newest) if owned.newest else self._now()
        number = await self._ledger.erased(member_id, at=at)
        return await self._store.erase(
            member_id,
            number=number,
            space_id=direct_id,
            unremembered=self._ledger.opted_out(member_id),
        )

    async def space_rows(self, space_id: int) -> Erased:
        """Take a guild out of the database for good. `bytes_of` must follow."""
        number = await self._ledger.erased(space_id, at=self._now())
        return await self._store.erase_space(space_id, number=number)

    async def bytes_of(self, erased: Erased) -> None:
        """On return no byte of what was erased is left in the database, its copies or the index."""
        await self._remove_copies()
        await self._indexer.erase_now(erased.space_ids, erased.dropped_spaces)

    async def catch_up(self) -> int:
        """Erase again what the ledger knows and an older database, a backup, brought back; how many."""
        applied = await self._store.applied()
        if self._ledger.newest <= applied:
            return 0
        found = [
            await self._store.erase(member_id, number=0)
            for member_id in await self._store.known_members()
            if self._ledger.is_pending(member_id, after=applied)
        ]
        found += [
            await self._store.erase_space(space_id, number=0)
            for space_id in await self._store.known_spaces()
            if self._ledger.is_pending(space_id, after=applied)
        ]
        if found:
            log.info("%s erasures are done again: the database is older than they are", len(found))
            await self.bytes_of(_together(found))
        await self._store.set_applied(self._ledger.newest)
        return len(found)


def _together(erasures: list[Erased]) -> Erased:
    return Erased(
        space_ids=tuple({space_id for erased in erasures for space_id in erased.space_ids}),
        dropped_spaces=tuple({space_id for erased in erasures for space_id in erased.dropped_spaces}),
    )


Progress = Callable[[str], None]
"""Told in a few words how far something is."""


def silent(_: str) -> None:
    """Progress that nobody follows."""
