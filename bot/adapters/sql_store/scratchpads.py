"""Scratchpads as rows: revisions, their lines, and the turns that each line comes from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.forgetting import change_number
from bot.adapters.sql_store.memory_rows import insert_memories
from bot.adapters.sql_store.tables import line_sources, scratchpad_lines, scratchpad_revisions, turns
from bot.adapters.sql_store.trigger_rows import insert_triggers
from bot.core.types import Line, MemoryDraft, Scratchpad, Trigger

_NEWEST = (
    sa.select(scratchpad_revisions)
    .where(scratchpad_revisions.c.scene_id == sa.bindparam("scene_id"))
    .order_by(scratchpad_revisions.c.number.desc())
    .limit(sa.bindparam("most"))
)
_LINES = (
    sa.select(scratchpad_lines, line_sources.c.turn_id)
    .join_from(scratchpad_lines, line_sources)
    .where(scratchpad_lines.c.revision_id.in_(sa.bindparam("revisions", expanding=True)))
    .order_by(scratchpad_lines.c.revision_id, scratchpad_lines.c.position, line_sources.c.position)
)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What a new revision brings: its lines, the turns it covers, and memories made along the way."""

    lines: Sequence[Line]
    covers: Collection[int]
    memories: Sequence[MemoryDraft]
    triggers: Sequence[Trigger] = ()

    def turn_ids(self) -> set[int]:
        """Every turn that is covered or named."""
        named = {turn for line in self.lines for turn in line.sources}
        named.update(turn for trigger in self.triggers for turn in trigger.sources)
        return named.union(self.covers, *(memory.sources for memory in self.memories))


def select_revisions(connection: Connection, scene_id: int, limit: int) -> list[Scratchpad]:
    """The newest revisions, newest first. Call it in a snapshot."""
    as_of = change_number(connection)
    rows = connection.execute(_NEWEST, {"scene_id": scene_id, "most": limit}).all()
    lines = _select_lines(connection, [row.id for row in rows])
    return [
        Scratchpad(scene_id, row.id, row.number, tuple(lines.get(row.id, ())), row.created_at, as_of)
        for row in rows
    ]


def newest_scratchpad(connection: Connection, scene_id: int) -> Scratchpad:
    """The newest revision, or revision 0. Call it in a snapshot."""
    found = select_revisions(connection, scene_id, 1)
    return found[0] if found else Scratchpad(scene_id, as_of=change_number(connection))


def rewrite(
    connection: Connection,
    before: Scratchpad,
    new: Rewrite,
    now: datetime,
) -> Scratchpad | None:
    """The next revision with all that belongs to it, or None when `before` or a turn has changed since."""
    newest = sa.select(sa.func.max(scratchpad_revisions.c.id)).where(
        scratchpad_revisions.c.scene_id == before.scene_id
    )
    if (connection.execute(newest).scalar() or 0) != before.revision_id:
        return None
    if not _unchanged(connection, before, new.turn_ids()):
        return None
    insert = sa.insert(scratchpad_revisions).values(
        scene_id=before.scene_id, number=before.number + 1, created_at=now
    )
    revision = int(connection.execute(insert.returning(scratchpad_revisions.c.id)).scalar_one())
    _insert_lines(connection, revision, new.lines)
    for some in portions(new.covers):
        connection.execute(sa.update(turns).where(turns.c.id.in_(some)).values(covered_by=revision))
    insert_memories(connection, new.memories)
    insert_triggers(connection, new.triggers)
    as_of = change_number(connection)
    return Scratchpad(before.scene_id, revision, before.number + 1, tuple(new.lines), now, as_of)


def _unchanged(connection: Connection, before: Scratchpad, turn_ids: Collection[int]) -> bool:
    """Whether all these turns live and read as they did when `before` was read."""
    same = 0
    for some in portions(turn_ids):
        count = sa.select(sa.func.count()).where(
            turns.c.id.in_(some),
            turns.c.scene_id == before.scene_id,
            turns.c.deleted_at.is_(None),
            turns.c.changed <= before.as_of,
        )
        same += int(connection.execute(count).scalar_one())
    return same == len(set(turn_ids))


def _insert_lines(connection: Connection, revision_id: int, lines: Sequence[Line]) -> None:
    if any(not line.sources for line in lines):
        raise ValueError("a line of the scratchpad must name the turns it comes from")
    if not lines:
        return
    rows = [
        {"revision_id": revision_id, "position": position, "section": line.section, "text": line.text}
        for position, line in enumerate(lines)
    ]
    insert = sa.insert(scratchpad_lines).returning(scratchpad_lines.c.id, sort_by_parameter_order=True)
    ids = connection.execute(insert, rows).scalars().all()
    sources = [
        {"line_id": line_id, "turn_id": turn_id, "position": position}
        for line_id, line in zip(ids, lines, strict=True)
        for position, turn_id in enumerate(dict.fromkeys(line.sources))
    ]
    connection.execute(sa.insert(line_sources), sources)


def _select_lines(connection: Connection, revision_ids: Collection[int]) -> dict[int, list[Line]]:
    lines: dict[int, list[Line]] = {}
    for some in portions(revision_ids):
        found = connection.execute(_LINES, {"revisions": list(some)})
        last = 0
        for row in found:
            here = lines.setdefault(row.revision_id, [])
            if row.id == last:
                here[-1] = Line(row.section, row.text, (*here[-1].sources, row.turn_id))
            else:
                here.append(Line(row.section, row.text, (row.turn_id,)))
            last = row.id
    return lines
