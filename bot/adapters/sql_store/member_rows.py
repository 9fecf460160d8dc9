"""Which rows belong to one member: what was said, what was made of it, and what names the member."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.knowledge_tables import entities, memory_subjects, triggers
from bot.adapters.sql_store.spending_tables import usage_shares
from bot.adapters.sql_store.tables import (
    aliases,
    line_sources,
    memories,
    memory_owners,
    memory_sources,
    personas,
    places,
    scenes,
    scratchpad_lines,
    scratchpad_revisions,
    stories,
    style_samples,
    turns,
)
from bot.adapters.sql_store.trust_tables import moderator_actions
from bot.core.redaction import Names
from bot.core.types import MemoryKind

_LEARNED = memories.c.kind != MemoryKind.TURN.value


@dataclass(slots=True)
class MemberRows:
    """Ids by table. Sets may be empty; a member of whom nothing is kept has them all empty."""

    turn_ids: set[int] = field(default_factory=set)
    reply_ids: set[int] = field(default_factory=set)
    """Personas' turns that answered the member: they take up what the member said."""
    memory_ids: set[int] = field(default_factory=set)
    line_ids: set[int] = field(default_factory=set)
    sample_ids: set[int] = field(default_factory=set)
    entity_ids: set[int] = field(default_factory=set)
    """Whom facts are about: the member, or somebody of the member's name."""
    trigger_ids: set[int] = field(default_factory=set)
    """"Bring this back when …" lines of others' memories that name the member."""
    alias_scenes: set[int] = field(default_factory=set)
    made_personas: set[int] = field(default_factory=set)
    usage_rows: int = 0
    """Sums of what answers to the member cost, by day and persona."""
    spaces: set[int] = field(default_factory=set)
    """Guilds in which the member is known."""
    direct: set[int] = field(default_factory=set)
    """Direct messages, which belong to the member as a whole."""
    newest: datetime | None = None
    """When the member's last turn was said."""
    names: dict[int, Names] = field(default_factory=dict)
    """By guild: the names that are the member's alone."""


def rows_of(connection: Connection, member_id: int, direct_id: int = 0) -> MemberRows:
    """All of them. `direct_id` is a direct message known to be the member's. Call it in a snapshot."""
    found = MemberRows()
    by_space = _said(connection, member_id, found)
    _named_as(connection, member_id, found, by_space)
    made = sa.select(personas.c.id, personas.c.space_id).where(personas.c.created_by == member_id)
    known = set(by_space)
    for persona_id, space_id in connection.execute(made):
        found.made_personas.add(persona_id)
        known.add(space_id)
    did = sa.select(moderator_actions.c.space_id).where(moderator_actions.c.actor_id == member_id)
    known.update(connection.execute(did).scalars())
    owned = sa.select(memories.c.id, memories.c.space_id).join_from(memories, memory_owners)
    for memory_id, space_id in connection.execute(owned.where(memory_owners.c.owner_id == member_id)):
        found.memory_ids.add(memory_id)
        known.add(space_id)
    paid = sa.select(usage_shares.c.space_id).where(usage_shares.c.member_id == member_id)
    for space_id in connection.execute(paid).scalars():
        found.usage_rows += 1
        known.add(space_id)
    found.direct = _direct(connection, known, direct_id)
    found.spaces = known - found.direct
    _made_of(connection, found)
    _distinguish(connection, member_id, found, by_space)
    played = sa.select(entities.c.id).where(entities.c.owner_id == member_id)
    found.entity_ids = set(connection.execute(played).scalars())
    for space_id, names in found.names.items():
        if names:
            _naming(connection, space_id, names, found)
            _known(connection, space_id, names, found)
    for some in portions(found.entity_ids):
        about = sa.select(memory_subjects.c.memory_id).where(memory_subjects.c.entity_id.in_(some))
        found.memory_ids.update(connection.execute(about).scalars())
    return found


def _said(connection: Connection, member_id: int, found: MemberRows) -> dict[int, set[str]]:
    names: dict[int, set[str]] = defaultdict(set)
    answers: set[int] = set()
    columns = (turns.c.id, turns.c.space_id, turns.c.speaker, turns.c.answered_by, turns.c.created_at)
    which = sa.select(*columns)
    for row in connection.execute(which.where(turns.c.owner_id == member_id)):
        found.turn_ids.add(row.id)
        names[row.space_id].add(row.speaker)
        found.newest = max(found.newest or row.created_at, row.created_at)
        if row.answered_by is not None and row.answered_by > 0:
            answers.add(row.answered_by)
    for some in portions(answers):
        spoken = sa.select(turns.c.id).where(turns.c.id.in_(some), turns.c.persona_id.is_not(None))
        found.reply_ids.update(connection.execute(spoken).scalars())
    return names


def _named_as(connection: Connection, member_id: int, found: MemberRows, names: dict[int, set[str]]) -> None:
    which = sa.select(aliases.c.scene_id, aliases.c.name, scenes.c.space_id).join_from(aliases, scenes)
    for scene_id, name, space_id in connection.execute(which.where(aliases.c.owner_id == member_id)):
        found.alias_scenes.add(scene_id)
        names[space_id].add(name)


def _direct(connection: Connection, space_ids: Collection[int], named: int) -> set[int]:
    """Those of the spaces that are no guild, and the one that is said to be none unless it is."""
    asked = {*space_ids, named}
    guilds = sa.select(places.c.space_id).where(places.c.space_id.in_(asked), places.c.guild_id != 0)
    private = sa.select(places.c.space_id).where(places.c.space_id.in_(asked), places.c.guild_id == 0)
    alone = set(connection.execute(private).scalars()) | ({named} if named else set())
    return alone - set(connection.execute(guilds).scalars())


def _made_of(connection: Connection, found: MemberRows) -> None:
    for some in portions(found.turn_ids | found.reply_ids):
        lines = sa.select(line_sources.c.line_id).where(line_sources.c.turn_id.in_(some))
        found.line_ids.update(connection.execute(lines).scalars())
        made = sa.select(memory_sources.c.memory_id).where(memory_sources.c.turn_id.in_(some))
        found.memory_ids.update(connection.execute(made).scalars())
        samples = sa.select(style_samples.c.id).where(style_samples.c.turn_id.in_(some))
        found.sample_ids.update(connection.execute(samples).scalars())


def _distinguish(
    connection: Connection, member_id: int, found: MemberRows, names: dict[int, set[str]]
) -> None:
    """A name that another member or a persona has as well does not tell who is meant."""
    for space_id in found.spaces & names.keys():
        said = sa.select(turns.c.speaker).where(turns.c.space_id == space_id, turns.c.owner_id != member_id)
        called = (
            sa.select(aliases.c.name)
            .join_from(aliases, scenes)
            .where(scenes.c.space_id == space_id, aliases.c.owner_id != member_id)
        )
        played = sa.select(personas.c.name).where(personas.c.space_id == space_id)
        shared = set(connection.execute(sa.union(said, called, played)).scalars())
        found.names[space_id] = Names(names[space_id], shared=shared)


def _naming(connection: Connection, space_id: int, names: Names, found: MemberRows) -> None:
    learned = sa.select(memories.c.id, memories.c.text, memories.c.subject, memories.c.speaker)
    for row in connection.execute(learned.where(memories.c.space_id == space_id, _LEARNED)):
        if names.in_text(f"{row.text}\n{row.subject}\n{row.speaker}"):
            found.memory_ids.add(row.id)
    noted = (
        sa.select(scratchpad_lines.c.id, scratchpad_lines.c.text)
        .join_from(scratchpad_lines, scratchpad_revisions)
        .join(scenes)
        .where(scenes.c.space_id == space_id)
    )
    found.line_ids.update(id_ for id_, text in connection.execute(noted) if names.in_text(text))
    sampled = sa.select(style_samples.c.id, style_samples.c.text).join_from(style_samples, personas)
    rows = connection.execute(sampled.where(personas.c.space_id == space_id))
    found.sample_ids.update(id_ for id_, text in rows if names.in_text(text))


def _known(connection: Connection, space_id: int, names: Names, found: MemberRows) -> None:
    called = (
        sa.select(entities.c.id, entities.c.name)
        .join_from(entities, stories)
        .join(places)
        .where(places.c.space_id == space_id, entities.c.persona_id == 0)
    )
    found.entity_ids.update(id_ for id_, name in connection.execute(called) if names.in_text(name))
    lines = sa.select(triggers.c.id, triggers.c.text).join_from(triggers, memories)
    rows = connection.execute(lines.where(memories.c.space_id == space_id))
    found.trigger_ids.update(id_ for id_, text in rows if names.in_text(text))
