"""What members decide about themselves: being forgotten, not being remembered, seeing what is kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime

from bot.core.events import MessagePosted
from bot.core.privacy import Erased, Export, Owned, PrivacyLedger, PrivacyStore
from bot.core.types import Place
from bot.engine.delivery import Delivery
from bot.engine.eraser import Eraser, Progress, silent
from bot.engine.jobs import Jobs, Service
from bot.engine.journal import Journal
from bot.engine.live import LiveScenes
from bot.engine.options import Options
from bot.engine.places import Places
from bot.engine.story_words import StoryWords
from bot.errors import UserFacing

log = logging.getLogger(__name__)

STOP_SECONDS = 30.0
"""How long the places may take to come to a stop before an erasure."""
SENDING_SECONDS = 10.0
"""How long an erasure waits for messages that are on their way to Discord."""
_BUSY = "I could not stop what is going on just now, so nothing was erased. Please try again in a minute."


class Privacy:
    """Erases in a running bot: nobody sees, and no reply or note is made from, what is being erased."""

    def __init__(
        self,
        *,
        store: PrivacyStore,
        ledger: PrivacyLedger,
        eraser: Eraser,
        journal: Journal,
        places: Places,
        live: LiveScenes,
        options: Options,
        words: StoryWords,
        delivery: Delivery,
        notes: Service,
        counted: Callable[[], Awaitable[None]],
        jobs: Jobs,
    ) -> None:
        """`notes` has turns summarised; `counted` returns when what was spent until now is stored."""
        self._store = store
        self._ledger = ledger
        self._eraser = eraser
        self._journal = journal
        self._places = places
        self._live = live
        self._options = options
        self._words = words
        self._delivery = delivery
        self._notes = notes
        self._counted = counted
        self._jobs = jobs
        self._one_at_a_time = asyncio.Lock()
        self._leaving: set[int] = set()
        self._listeners: list[Callable[[int], None]] = []

    # ------------------------------------------------------------ guards
    def may_store(self, event: MessagePosted) -> bool:
        """False for what a member said who is being forgotten now, or was afterwards."""
        if event.author_id in self._leaving:
            return False
        erased_at = self._ledger.erased_at(event.author_id)
        return erased_at is None or event.created_at > erased_at

    def is_out(self, member_id: int) -> bool:
        """Whether the member opted out: what they say is never written."""
        return self._ledger.opted_out(member_id)

    @property
    def anyone_out(self) -> bool:
        """Whether anybody opted out."""
        return self._ledger.anyone_out

    async def opt_out(self, member_id: int) -> bool:
        """From now on nothing of the member is written; False when it was so already."""
        return await self._ledger.opt_out(member_id)

    async def opt_in(self, member_id: int) -> bool:
        """The member is remembered again from now on; False when it was so already."""
        return await self._ledger.opt_in(member_id)

    def on_forgotten(self, tell: Callable[[int], None]) -> None:
        """Have a copy of members' names elsewhere told whom to let go of."""
        self._listeners.append(tell)

    async def catch_up(self) -> None:
        """Before anything is loaded: forget again whom a backup brought back."""
        await self._eraser.catch_up()

    # ------------------------------------------------------------ asking
    async def owned(self, member_id: int) -> Owned:
        """How much is kept of a member, everywhere."""
        return await self._store.owned(member_id)

    async def export(self, member_id: int) -> Export:
        """All that is kept about a member, everywhere."""
        await self._journal.flushed()
        return await self._store.export(member_id)

    # ------------------------------------------------------------ erasing
    async def forget(self, member_id: int, *, direct_id: int = 0, progress: Progress = silent) -> Owned:
        """Forget a member everywhere; what there was. On return the bytes are gone.

        It goes on to its end when the one who asked is gone. `direct_id` is the direct message, if any, in
        which was asked. UserFacing when a place does not come to a stop; nothing was erased then.
        """
        work = self._jobs.run(self._forget(member_id, direct_id, progress), name="forget a member")
        return await work

    async def _forget(self, member_id: int, direct_id: int, progress: Progress) -> Owned:
        async with self._one_at_a_time:
            self._leaving.add(member_id)
            try:
                await self._journal.flushed()
                owned = await self._store.owned(member_id)
                progress("stopping replies")
                spaces = {*owned.space_ids, direct_id} - {0}
                if self.is_out(member_id):  # nobody knows where answers were given that name nobody
                    spaces |= self._places.awake_spaces()
                erased = await self._rows(
                    spaces,
                    lambda: self._eraser.member_rows(member_id, owned, direct_id=direct_id),
                    leaving=member_id,
                )
                self._live.without_member(member_id)
                progress("writing the database and the index anew")
                await self._eraser.bytes_of(erased)
            finally:
                for tell in self._listeners:  # at last: they may have heard the member meanwhile
                    tell(member_id)
                self._leaving.discard(member_id)
        log.info("A member was forgotten: %s turns", erased.turns)
        return owned

    async def purge(self, space_id: int, *, progress: Progress = silent) -> int:
        """Forget a guild as a whole, its personas and settings too; how many turns there were."""
        return await self._jobs.run(self._purge(space_id, progress), name="purge a server")

    async def _purge(self, space_id: int, progress: Progress) -> int:
        async with self._one_at_a_time:
            await self._journal.flushed()
            progress("stopping replies")
            erased = await self._rows({space_id}, lambda: self._eraser.space_rows(space_id))
            progress("writing the database and the index anew")
            await self._eraser.bytes_of(erased)
        log.info("Server %s was purged: %s turns", space_id, erased.turns)
        return erased.turns

    async def forget_place(self, place: Place) -> None:
        """Forget a channel that is gone. The bytes leave with the next rewrite, within a day."""

        async def work() -> None:
            async with self._one_at_a_time:
                await self._journal.flushed()
                erased = await self._rows({place.space_id}, lambda: self._store.erase_place(place.id))
            log.info("Place %s is gone and forgotten: %s turns", place.id, erased.turns)

        await self._jobs.run(work(), name="forget a channel")

    async def expire(self, space_id: int, moment: datetime) -> int:
        """Forget what was said in a space before a moment; how many turns. The bytes leave within a day."""
        if not await self._store.count_before(space_id, moment):
            return 0

        async def work() -> int:
            async with self._one_at_a_time:
                await self._journal.flushed()
                erased = await self._rows({space_id}, lambda: self._store.erase_before(space_id, moment))
            log.info("Space %s: the time of %s turns was up", space_id, erased.turns)
            return erased.turns

        return await self._jobs.run(work(), name="retention")

    async def _rows(
        self, spaces: set[int], erase: Callable[[], Awaitable[Erased]], *, leaving: int = 0
    ) -> Erased:
        """Erase while nothing of these spaces is under way, and let every live copy follow."""
        try:
            held = self._places.held(spaces, within=STOP_SECONDS, leaving=leaving)
            async with self._notes.stopped(), held as place_ids:
                await self._delivery.quiet(place_ids, SENDING_SECONDS)
                await self._counted()
                erased = await erase()
                for place_id in erased.dropped_places:
                    self._live.forget(place_id)
                for space_id in erased.dropped_spaces:
                    self._options.forget(space_id)
                self._words.drop()
        except TimeoutError as problem:
            raise UserFacing(_BUSY) from problem
        return erased
