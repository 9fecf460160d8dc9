"""While the database takes nothing: a line in the log, a notice in each place, a check before each try."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from bot.core.stores import SettingsStore
from bot.core.types import Place
from bot.engine.notices import Notices
from bot.errors import StorageError

log = logging.getLogger(__name__)

NOT_WRITING: Final = (
    "I cannot write anything down just now, so nobody answers here. What is said is not lost, and I go on by "
    "myself when it works again. Whoever runs me finds the reason in the log."
)
_SLOT: Final = "storage:checked"


class StorageTrouble:
    """Knows whether the last write failed. Everything that writes for a member tells it."""

    def __init__(self, *, store: SettingsStore, notices: Notices, now: Callable[[], datetime]) -> None:
        self._store = store
        self._notices = notices
        self._now = now
        self.failure = ""
        """What is wrong and what to do, for the owner; empty when the last write went well."""

    def failed(self, problem: StorageError) -> None:
        """A write failed: said in the log when it begins."""
        if not self.failure:
            log.error("Nothing can be stored, and everything waits: %s", problem)
        self.failure = str(problem)

    def works(self) -> None:
        """A write went well."""
        if self.failure:
            log.info("The database takes what waited; everything goes on")
            self.failure = ""

    def tell(self, place: Place, *, reply_to: int | None = None) -> None:
        """Say in a place, once for all who speak there, why nobody answers."""
        self._notices.hint(place, NOT_WRITING, reply_to=reply_to)

    async def check(self) -> None:
        """After a failure: write something, before work is begun in vain. StorageError when that fails."""
        if self.failure:
            await self._store.set_value(_SLOT, self._now().isoformat())
            self.works()
