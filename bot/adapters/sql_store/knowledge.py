"""The store of what is known of persons, places and things."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store import scratchpads
from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.entity_rows import entities_of, select_entities
from bot.adapters.sql_store.forgetting import queue_erasures
from bot.adapters.sql_store.knowledge_tables import ANSWERED, REFLECTION, entities, memory_subjects
from bot.adapters.sql_store.memory_rows import SELECT_MEMORIES, memories_by_ids, select_memories
from bot.adapters.sql_store.standing import select_always
from bot.adapters.sql_store.tables import audience_members, memories, memory_sources, turns
from bot.adapters.sql_store.turn_rows import LIVING, SELECT_TURNS, turn_of
from bot.core.knowledge import Always, Entity, KnownFact
from bot.core.types import Memory, MemoryDraft, Scratchpad, Turn
from bot.core.vectors import Vector

_REVISIONS = 25
"""How far back notes can be restored."""


class SqlKnowledge:
    """Fulfils `bot.core.knowledge.KnowledgeStore`."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def entities(self, story_id: int) -> list[Entity]:
        """See the port."""
        which = entities.c.story_id == story_id
        return await self._database.read(lambda connection: select_entities(connection, which))

    async def facts_about(
        self, entity_ids: Collection[int], *, present_only: bool, limit: int = 200
    ) -> list[KnownFact]:
        """See the port."""

        def work(connection: Connection) -> list[KnownFact]:
            ids: set[int] = set()
            for entity_id in sorted(set(entity_ids)):
                which = (
                    sa.select(memories.c.id)
                    .join(memory_subjects, memory_subjects.c.memory_id == memories.c.id)
                    .where(memory_subjects.c.entity_id == entity_id)
                    .order_by(memories.c.id.desc())
                    .limit(limit)
                )
                if present_only:
                    which = which.where(memories.c.superseded_by.is_(None))
                ids.update(connection.execute(which).scalars())
            return _known(connection, ids)

        return await self._database.read(work, snapshot=True)

    async def fact(self, memory_id: int) -> KnownFact | None:
        """See the port."""

        def work(connection: Connection) -> KnownFact | None:
            return next(iter(_known(connection, [memory_id])), None)

        return await self._database.read(work, snapshot=True)

    async def reword(self, memory_id: int, text: str) -> Memory | None:
        """See the port."""
        now = self._database.now()

        def work(connection: Connection) -> Memory | None:
            own = sa.and_(memories.c.id == memory_id, memories.c.turn_id.is_(None))
            anew = {"text": text, "indexed_by": None, "emotion": None, "emotion_source": None}
            changed = sa.update(memories).where(own).values(anew).returning(memories.c.space_id)
            space_id = connection.execute(changed).scalar()
            if space_id is None:
                return None
            queue_erasures(connection, [(memory_id, int(space_id))], now)
            return next(iter(memories_by_ids(connection, [memory_id])), None)

        return await self._database.write(work)

    async def always(self, story_id: int, *, persona_id: int | None = None) -> Always:
        """See the port."""
        return await self._database.read(
            lambda connection: select_always(connection, story_id, persona_id), snapshot=True
        )

    async def feelings(
        self, story_id: int, persona_id: int, owner_ids: Collection[int], *, limit: int
    ) -> dict[int, list[Vector]]:
        """See the port."""
        answer = turns.alias("answers")

        def work(connection: Connection) -> dict[int, list[Vector]]:
            found: dict[int, list[Vector]] = {}
            for owner_id in sorted(set(owner_ids)):
                which = (
                    sa.select(memories.c.emotion)
                    .join(turns, turns.c.id == memories.c.turn_id)
                    .join(answer, answer.c.id == turns.c.answered_by)
                    .where(
                        turns.c.owner_id == owner_id,
                        turns.c.story_id == story_id,
                        ANSWERED,
                        answer.c.persona_id == persona_id,
                        memories.c.emotion.is_not(None),
                        LIVING,
                    )
                    .order_by(turns.c.id.desc())
                    .limit(limit)
                )
                felt = connection.execute(which).scalars().all()
                if felt:
                    found[owner_id] = list(felt)[::-1]
            return found

        return await self._database.read(work, snapshot=True)

    async def restore_notes(
        self, before: Scratchpad, revision_id: int, snapshots: Sequence[MemoryDraft]
    ) -> Scratchpad | None:
        """See the port."""
        now = self._database.now()
        later = sa.and_(turns.c.scene_id == before.scene_id, turns.c.covered_by > revision_id)

        def work(connection: Connection) -> Scratchpad | None:
            found = scratchpads.select_revisions(connection, before.scene_id, _REVISIONS)
            old = next((one for one in found if one.revision_id == revision_id), None)
            if old is None:
                return None
            new = scratchpads.Rewrite(old.lines, (), snapshots)
            after = scratchpads.rewrite(connection, before, new, now)
            if after is not None:
                connection.execute(sa.update(turns).where(later).values(covered_by=None))
            return after

        return await self._database.write(work)

    async def felt_in(self, scene_id: int, *, limit: int) -> list[Memory]:
        """See the port."""
        felt = sa.and_(
            memories.c.scene_id == scene_id, memories.c.turn_id.is_not(None), memories.c.emotion.is_not(None)
        )
        newest = SELECT_MEMORIES.where(felt).order_by(memories.c.id.desc()).limit(limit)
        found = await self._database.read(
            lambda connection: select_memories(connection, newest), snapshot=True
        )
        return found[::-1]

    async def unreflected(self, story_id: int, persona_id: int, *, limit: int) -> list[Memory]:
        """See the port."""
        heard = sa.select(audience_members.c.audience_id).where(audience_members.c.persona_id == persona_id)
        here = sa.and_(memories.c.story_id == story_id, memories.c.audience_id.in_(heard))
        last = (
            sa.select(sa.func.max(memory_sources.c.turn_id))
            .join(memories, memories.c.id == memory_sources.c.memory_id)
            .where(memories.c.story_id == story_id, (memories.c.audience_id + 0).in_(heard), REFLECTION)
            .scalar_subquery()
        )
        since = sa.and_(here, memories.c.emotion.is_not(None), memories.c.turn_id > sa.func.coalesce(last, 0))
        newest = SELECT_MEMORIES.where(since).order_by(memories.c.id.desc()).limit(limit)
        found = await self._database.read(
            lambda connection: select_memories(connection, newest), snapshot=True
        )
        return found[::-1]

    async def answered_by(self, turn_id: int) -> list[Turn]:
        """See the port."""
        which = SELECT_TURNS.where(turns.c.answered_by == turn_id, ANSWERED, LIVING)

        def work(connection: Connection) -> list[Turn]:
            return [turn_of(row) for row in connection.execute(which.order_by(turns.c.id))]

        return await self._database.read(work)

    async def around(self, turn_id: int, *, before: int, after: int) -> list[Turn]:
        """See the port."""
        scene = sa.select(turns.c.scene_id).where(turns.c.id == turn_id, LIVING).scalar_subquery()
        here = sa.and_(turns.c.scene_id == scene, LIVING)
        earlier = (
            SELECT_TURNS.where(here, turns.c.id <= turn_id).order_by(turns.c.id.desc()).limit(before + 1)
        )
        later = SELECT_TURNS.where(here, turns.c.id > turn_id).order_by(turns.c.id).limit(after)

        def work(connection: Connection) -> list[Turn]:
            found = [turn_of(row) for row in connection.execute(earlier)][::-1]
            return [*found, *(turn_of(row) for row in connection.execute(later))]

        return await self._database.read(work, snapshot=True)


def _known(connection: Connection, memory_ids: Collection[int]) -> list[KnownFact]:
    about = entities_of(connection, memory_ids)
    found = memories_by_ids(connection, about.keys())
    return [KnownFact(memory, about[memory.id]) for memory in found]
