"""Waiting for the journal ends, however much is being said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from unittest.mock import create_autospec

from bot.core.events import MessageEdited
from bot.core.stores import JournalEntry, JournalOutcome
from bot.engine.journal import Journal
from bot.engine.live import LiveScenes
from bot.engine.storage_trouble import StorageTrouble
from tests.engine.stage import RealClock

LATER = 30


class ChattyTurns:
    """A store that takes its time: while it commits, more is said; LATER times."""

    def __init__(self) -> None:
        self.commits = 0
        self.journal: Journal | None = None

    async def commit(self, entries: Sequence[JournalEntry]) -> list[JournalOutcome]:
        self.commits += 1
        await asyncio.sleep(0)
        if self.commits < LATER:
            say(self.journal)
        return [None] * len(entries)


def say(journal: Journal | None) -> None:
    assert journal is not None
    journal.submit(MessageEdited(1, 2, "more", RealClock()()))


async def test_what_was_said_before_is_waited_for_and_what_is_said_meanwhile_is_not() -> None:
    turns = ChattyTurns()
    journal = Journal(
        turns=turns,  # type: ignore[arg-type]
        live=LiveScenes(),
        tell=lambda place_id, outcome, event: None,
        trouble=create_autospec(StorageTrouble, instance=True),
        read_missed=lambda: None,
    )
    turns.journal = journal
    running = asyncio.create_task(journal.run())
    say(journal)
    async with asyncio.timeout(5):
        await journal.flushed()
    assert turns.commits <= 2
    await journal.close()
    await running
    await journal.flushed()
