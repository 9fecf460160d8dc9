"""The store of long-term memories, and the work that the search index still has to do."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.native_memory import return_free_memory
from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.forgetting import remove_memories
from bot.adapters.sql_store.memory_rows import (
    SELECT_MEMORIES,
    insert_memories,
    memories_by_ids,
    select_memories,
)
from bot.adapters.sql_store.tables import (
    audience_members,
    audiences,
    erasures,
    memories,
    memory_sources,
    turns,
)
from bot.adapters.sql_store.trigger_rows import select_triggers
from bot.core.types import Memory, MemoryDraft, MemoryKind
from bot.core.vectors import Vector

_MANY = 1000
_HEADS = "head:%"  # sources of the small head, which any other source is better than
_FACTS = (
    sa.select(memory_sources.c.turn_id, memories.c.id)
    .join_from(memory_sources, memories, memories.c.id == memory_sources.c.memory_id)
    .where(memories.c.kind == MemoryKind.FACT.value)
)
_LEAVING = sa.select(erasures.c.memory_id).where(erasures.c.erased_at.is_(None))
_LOOK_AHEAD = 20_000
"""Among so many that wait, those of the same space are found."""


class SqlMemories:
    """Fulfils `bot.core.stores.MemoryStore`."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def by_ids(self, memory_ids: Collection[int]) -> list[Memory]:
        """Ascending by id; those that are gone are left out."""
        return await self._database.read(
            lambda connection: memories_by_ids(connection, memory_ids), snapshot=True
        )

    async def of_story(self, story_id: int, *, after_id: int = 0, limit: int = 2000) -> list[Memory]:
        """See the port."""
        which = sa.and_(memories.c.story_id == story_id, memories.c.id > after_id)
        page = SELECT_MEMORIES.where(which).order_by(memories.c.id).limit(limit)
        found = await self._database.read(lambda connection: select_memories(connection, page), snapshot=True)
        if (
            len(found) >= _MANY
        ):  # a story is read from its beginning: thousands of rows were held for a moment
            await asyncio.to_thread(return_free_memory)
        return found

    async def of_turns(self, turn_ids: Collection[int]) -> dict[int, int]:
        """Turn id to the id of the memory made with it; turns that are gone are left out."""

        def work(connection: Connection) -> dict[int, int]:
            found: dict[int, int] = {}
            for some in portions(turn_ids):
                which = sa.select(memories.c.turn_id, memories.c.id).where(memories.c.turn_id.in_(some))
                found.update((turn, memory) for turn, memory in connection.execute(which))
            return found

        return await self._database.read(work)

    async def replaced_facts(self, turn_ids: Collection[int]) -> dict[int, list[Memory]]:
        """See the port."""

        def work(connection: Connection) -> dict[int, list[Memory]]:
            ended: set[int] = set()
            for some in portions(turn_ids):
                which = _FACTS.where(
                    memory_sources.c.turn_id.in_(some), memories.c.superseded_by.is_not(None)
                )
                ended.update(row.turn_id for row in connection.execute(which))
            made: dict[int, list[int]] = {}
            for some in portions(ended):
                for turn_id, fact_id in connection.execute(_FACTS.where(memory_sources.c.turn_id.in_(some))):
                    made.setdefault(turn_id, []).append(fact_id)
            ids = {fact_id for facts in made.values() for fact_id in facts}
            facts = {fact.id: fact for fact in memories_by_ids(connection, ids)}
            return {turn_id: [facts[fact_id] for fact_id in found] for turn_id, found in made.items()}

        return await self._database.read(work, snapshot=True)

    async def audiences_with(self, persona_id: int) -> tuple[int, ...]:
        """Ids of the sets of witnesses that this persona belongs to, ascending."""
        which = sa.select(audience_members.c.audience_id).where(audience_members.c.persona_id == persona_id)

        def work(connection: Connection) -> tuple[int, ...]:
            return tuple(connection.execute(which.order_by(audience_members.c.audience_id)).scalars())

        return await self._database.read(work)

    async def audiences_of(self, story_id: int) -> tuple[int, ...]:
        """See the port. Ascending."""
        made = sa.exists().where(memories.c.story_id == story_id, memories.c.audience_id == audiences.c.id)
        which = sa.select(audiences.c.id).where(made).order_by(audiences.c.id)

        def work(connection: Connection) -> tuple[int, ...]:
            return tuple(connection.execute(which).scalars())

        return await self._database.read(work)

    async def add(
        self, drafts: Sequence[MemoryDraft], *, made_of: Mapping[int, str] | None = None
    ) -> list[Memory]:
        """See the port. Stores them in order. ValueError for kind `turn`."""
        read = dict(made_of or {})

        def work(connection: Connection) -> list[Memory]:
            now = {memory.id: memory.text for memory in memories_by_ids(connection, read)}
            return insert_memories(connection, drafts) if now == read else []

        return await self._database.write(work)

    async def remove(self, memory_ids: Collection[int]) -> None:
        """See the port; with a turn's text go the lines, memories and samples that name the turn."""
        now = self._database.now()
        await self._database.write(lambda connection: remove_memories(connection, memory_ids, now))

    # ------------------------------------------------------------ the index's work
    async def to_index(self, encoder_id: str, limit: int) -> list[Memory]:
        """See the port. A memory whose old key must still be erased comes only after that."""

        def work(connection: Connection) -> list[Memory]:
            waiting: set[tuple[int, int]] = set()
            for condition, age in _not_indexed_by(encoder_id):
                some = sa.select(memories.c.id, memories.c.space_id).where(
                    condition, memories.c.id.not_in(_LEAVING)
                )
                rows = connection.execute(some.order_by(age).limit(_LOOK_AHEAD))
                waiting.update((memory_id, space_id) for memory_id, space_id in rows)
            return memories_by_ids(connection, _of_few_spaces(sorted(waiting), limit))

        return await self._database.read(work, snapshot=True)

    async def count_to_index(self, encoder_id: str) -> int:
        """How many memories this encoder has not indexed yet."""

        def work(connection: Connection) -> int:
            count = 0
            for condition, _ in _not_indexed_by(encoder_id):
                found = connection.execute(sa.select(sa.func.count(memories.c.id)).where(condition))
                count += int(found.scalar_one())
            return count

        return await self._database.read(work, snapshot=True)

    async def indexed(
        self,
        encoder_id: str,
        emotions: Mapping[int, tuple[Vector, str]],
        memory_ids: Collection[int],
        triggers: Mapping[int, tuple[str, ...]] | None = None,
    ) -> None:
        """See the port (`emotions` by memory id; a head's numbers give way to any other source's). Memories
        edited since they were handed out stay unmarked."""

        def work(connection: Connection) -> None:
            now = select_triggers(connection, memory_ids) if triggers is not None else {}
            known = triggers or {}
            for some in portions(each for each in memory_ids if now.get(each) == known.get(each)):
                which = sa.and_(memories.c.id.in_(some), memories.c.id.not_in(_LEAVING))
                connection.execute(sa.update(memories).where(which).values(indexed_by=encoder_id))
            worse = sa.or_(memories.c.emotion.is_(None), memories.c.emotion_source.like(_HEADS))
            rows = _emotion_rows(emotions)
            if rows:
                which = sa.and_(memories.c.id == sa.bindparam("which"), memories.c.id.not_in(_LEAVING), worse)
                connection.execute(_set_emotion(which), rows)

        await self._database.write(work)

    async def set_emotions(
        self, emotions: Mapping[int, tuple[Vector, str]], *, said: Mapping[int, str] | None = None
    ) -> dict[int, int]:
        """See the port."""
        which = sa.select(turns.c.id, turns.c.text, memories.c.id.label("memory_id")).join_from(
            turns, memories, memories.c.turn_id == turns.c.id
        )

        def work(connection: Connection) -> dict[int, int]:
            found: dict[int, int] = {}
            for some in portions(emotions):
                for turn in connection.execute(which.where(turns.c.id.in_(some))):
                    if said is None or said.get(turn.id) == turn.text:
                        found[turn.id] = turn.memory_id
            rows = _emotion_rows({turn: emotions[turn] for turn in found})
            if rows:
                connection.execute(_set_emotion(memories.c.turn_id == sa.bindparam("which")), rows)
            return found

        return await self._database.write(work) if emotions else {}

    async def triggers(self, memory_ids: Collection[int]) -> dict[int, tuple[str, ...]]:
        """See the port."""
        return await self._database.read(lambda connection: select_triggers(connection, memory_ids))

    async def to_erase(self, limit: int) -> list[tuple[int, int]]:
        """See the port; erase these before indexing anew."""
        which = (
            sa.select(erasures.c.space_id, erasures.c.memory_id)
            .where(erasures.c.erased_at.is_(None))
            .order_by(erasures.c.memory_id)
            .limit(limit)
        )

        def work(connection: Connection) -> list[tuple[int, int]]:
            return [(space, memory) for space, memory in connection.execute(which)]

        return await self._database.read(work)

    async def erased(self, memory_ids: Collection[int]) -> None:
        """The keys left the index; their bytes now wait for a rewrite."""
        now = self._database.now()

        def work(connection: Connection) -> None:
            for some in portions(memory_ids):
                which = sa.and_(erasures.c.memory_id.in_(some), erasures.c.erased_at.is_(None))
                connection.execute(sa.update(erasures).where(which).values(erased_at=now))

        await self._database.write(work)

    async def to_rewrite(self) -> list[tuple[int, datetime]]:
        """(space id, when the first of its waiting removals was asked for), longest waiting first."""
        since = sa.func.min(erasures.c.since, type_=erasures.c.since.type)
        which = (
            sa.select(erasures.c.space_id, since)
            .where(erasures.c.erased_at.is_not(None))
            .group_by(erasures.c.space_id)
            .order_by(since)
        )

        def work(connection: Connection) -> list[tuple[int, datetime]]:
            return [(space, time) for space, time in connection.execute(which)]

        return await self._database.read(work)

    async def rewritten(self, space_id: int, before: datetime) -> None:
        """The table was written anew as it stood at `before`: removals erased until then are done."""
        done = sa.and_(erasures.c.space_id == space_id, erasures.c.erased_at <= before)

        def work(connection: Connection) -> None:
            connection.execute(sa.delete(erasures).where(done))

        await self._database.write(work)

    async def restart_index(self) -> int:
        """See the port."""

        def work(connection: Connection) -> int:
            marked = memories.c.indexed_by.is_not(None)
            connection.execute(sa.update(memories).where(marked).values(indexed_by=None))
            return int(connection.execute(sa.select(sa.func.count(memories.c.id))).scalar_one())

        return await self._database.write(work)


def _not_indexed_by(encoder_id: str) -> list[tuple[sa.ColumnElement[bool], sa.ColumnElement[int]]]:
    """Three ranges of one index, and how to sort each by age. `!=` would read every row when nothing waits;
    so would a sort by the bare id, which SQLite prefers to walk through."""
    mark, age = memories.c.indexed_by, memories.c.id
    return [(mark.is_(None), age), (mark < encoder_id, age + 0), (mark > encoder_id, age + 0)]


def _emotion_rows(emotions: Mapping[int, tuple[Vector, str]]) -> list[dict[str, Any]]:
    return [
        {"which": which, "new_emotion": vector, "new_source": source}
        for which, (vector, source) in emotions.items()
    ]


def _set_emotion(which: sa.ColumnElement[bool]) -> sa.Update:
    return (
        sa.update(memories)
        .where(which)
        .values(emotion=sa.bindparam("new_emotion"), emotion_source=sa.bindparam("new_source"))
    )


def _of_few_spaces(waiting: Sequence[tuple[int, int]], limit: int) -> list[int]:
    """Memory ids: the oldest first, each followed by what waits of its space."""
    spaces: dict[int, list[int]] = {}
    for memory_id, space_id in waiting:
        spaces.setdefault(space_id, []).append(memory_id)
    return list(chain.from_iterable(spaces.values()))[:limit]
