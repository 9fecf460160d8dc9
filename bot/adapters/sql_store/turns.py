"""The store of turns: the journal, the outbox and what the window reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store import journal, outbox
from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.tables import turn_messages, turns
from bot.adapters.sql_store.turn_rows import SELECT_TURNS, UNCOVERED, speakers_of, turn_of, turns_by_ids
from bot.core.stores import JournalEntry, JournalOutcome
from bot.core.types import OutboxRow, Turn, TurnDraft


class SqlTurns:
    """Fulfils `bot.core.stores.TurnStore`."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def commit(self, entries: Sequence[JournalEntry]) -> list[JournalOutcome]:
        """All entries in one transaction, in order; see the port. A message whose deletion came before it
        is no turn (None). A member's turn of several messages is edited and deleted as a whole, a persona's
        message by message. Witnesses come back ascending."""
        if not entries:
            return []
        now = self._database.now()
        return await self._database.write(lambda connection: journal.commit(connection, entries, now))

    async def commit_reply(
        self, draft: TurnDraft, parts: Sequence[str], answers: Collection[int]
    ) -> tuple[Turn, tuple[OutboxRow, ...]]:
        """See the port."""
        now = self._database.now()
        return await self._database.write(
            lambda connection: outbox.store_reply(connection, draft, parts, answers, now)
        )

    async def settle(self, turn_ids: Collection[int], answered_by: int = -1) -> None:
        """See the port. -1 leaves turns alone that have an answer."""
        if turn_ids:
            await self._database.write(
                lambda connection: outbox.mark_answered(connection, turn_ids, answered_by)
            )

    async def sent(self, outbox_id: int, message_id: int) -> None:
        """See the port; the same again changes nothing."""
        now = self._database.now()
        await self._database.write(
            lambda connection: outbox.close_sent(connection, outbox_id, message_id, now)
        )

    async def abandon(self, outbox_id: int) -> None:
        """See the port. The turns that a removed turn answered are open again."""
        now = self._database.now()
        await self._database.write(lambda connection: outbox.close_unsent(connection, outbox_id, now))

    async def open_outbox(self) -> list[OutboxRow]:
        """Rows neither sent nor abandoned, oldest first."""
        return await self._database.read(outbox.open_rows)

    async def uncovered(self, scene_id: int, limit: int) -> list[Turn]:
        """See the port."""
        which = sa.and_(turns.c.scene_id == scene_id, UNCOVERED)
        return await self._select(SELECT_TURNS.where(which).order_by(turns.c.id).limit(limit))

    async def count_uncovered(self, scene_id: int) -> int:
        """How many turns `uncovered` would give without a limit."""
        count = sa.select(sa.func.count()).where(turns.c.scene_id == scene_id, UNCOVERED)

        def work(connection: Connection) -> int:
            return int(connection.execute(count).scalar_one())

        return await self._database.read(work)

    async def waiting(self) -> list[tuple[int, int, int]]:
        """See the port."""
        which = (
            sa.select(turns.c.place_id, turns.c.scene_id, sa.func.count())
            .where(UNCOVERED)
            .group_by(turns.c.place_id, turns.c.scene_id)
            .order_by(turns.c.scene_id)
        )

        def work(connection: Connection) -> list[tuple[int, int, int]]:
            return [(place, scene, count) for place, scene, count in connection.execute(which)]

        return await self._database.read(work)

    async def by_ids(self, turn_ids: Collection[int]) -> list[Turn]:
        """Ascending by id; deleted ones have an empty text."""
        return await self._database.read(lambda connection: turns_by_ids(connection, turn_ids))

    async def speakers(self, scene_id: int) -> list[tuple[int, str]]:
        """See the port."""
        return await self._database.read(lambda connection: speakers_of(connection, scene_id))

    async def by_message(self, message_id: int) -> Turn | None:
        """The turn that this Discord message belongs to; its text is empty when it was deleted."""
        which = sa.select(turn_messages.c.turn_id).where(turn_messages.c.message_id == message_id)
        found = await self._select(SELECT_TURNS.where(turns.c.id == which.scalar_subquery()))
        return found[0] if found else None

    async def _select(self, statement: sa.Select[tuple[object, ...]]) -> list[Turn]:
        def work(connection: Connection) -> list[Turn]:
            return [turn_of(row) for row in connection.execute(statement)]

        return await self._database.read(work)
