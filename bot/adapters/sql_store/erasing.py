"""Takes a member, a channel, a guild or a span of time out of every table at once."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.audit import unname_actions
from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.forgetting import (
    drop_lines,
    next_change,
    queue_erasures,
    remove_memories,
    wipe_turns,
)
from bot.adapters.sql_store.knowledge_tables import entities, triggers
from bot.adapters.sql_store.member_rows import MemberRows
from bot.adapters.sql_store.spending import forget_spending
from bot.adapters.sql_store.spending_tables import usage_notices
from bot.adapters.sql_store.tables import (
    aliases,
    memories,
    metadata,
    options,
    outbox,
    places,
    scenes,
    stored_values,
    stories,
    style_samples,
    turn_messages,
    turns,
)
from bot.adapters.sql_store.trust_tables import moderator_actions
from bot.core.names import fold
from bot.core.privacy import Erased
from bot.core.redaction import Names
from bot.core.types import MemoryKind

_MAKERS = ("created_by", "added_by", "actor_id")
"""Columns that say who made or did a thing that stays."""
_PASSING = (MemoryKind.SNAPSHOT.value, MemoryKind.FACT.value, MemoryKind.REFLECTION.value)
_SCENE_TEXTS = (scenes.c.name, scenes.c.location, scenes.c.situation, scenes.c.story_time)


def erase_rows(connection: Connection, member_id: int, found: MemberRows, now: datetime) -> Erased:
    """Removes these rows and the member's id and names from those that stay."""
    said = found.turn_ids | found.reply_ids
    touched = _places_of(connection, said, found.alias_scenes)
    gone = set(wipe_turns(connection, said, now)) if said else set()
    _drop_turns(connection, said)
    drop_lines(connection, found.line_ids)
    remove_memories(connection, found.memory_ids - gone, now)
    for some in portions(found.sample_ids):
        connection.execute(sa.delete(style_samples).where(style_samples.c.id.in_(some)))
    reworded = _drop_triggers(connection, found.trigger_ids, now)
    for some in portions(found.entity_ids):
        connection.execute(sa.delete(entities).where(entities.c.id.in_(some)))
    for space_id, names in found.names.items():
        if names:
            reworded |= _redact(connection, space_id, names, now)
    unname_actions(connection, found.names)
    connection.execute(sa.delete(aliases).where(aliases.c.owner_id == member_id))
    forget_spending(connection, member_id)
    _unsign(connection, member_id)
    for space_id in found.direct:
        drop_space(connection, space_id)
    inside = sa.select(places.c.id, places.c.space_id).where(places.c.space_id.in_(found.spaces))
    rows = connection.execute(inside).all()
    return Erased(
        turns=len(said),
        memory_ids=tuple(sorted(gone | found.memory_ids | reworded)),
        place_ids=tuple(sorted({row.id for row in rows})),
        space_ids=tuple(sorted(found.spaces)),
        dropped_spaces=tuple(sorted(found.direct)),
        dropped_places=tuple(sorted(touched - {row.id for row in rows} | found.direct)),
    )


def drop_space(connection: Connection, space_id: int) -> None:
    """Everything of a guild or direct message; its index must be dropped as well."""
    connection.execute(sa.delete(places).where(places.c.space_id == space_id))
    for table in metadata.sorted_tables:
        if "space_id" in table.c and table is not places:
            connection.execute(sa.delete(table).where(table.c.space_id == space_id))
    connection.execute(sa.delete(stored_values).where(stored_values.c.key == f"proxies:{space_id}"))


def drop_place(connection: Connection, place_id: int, now: datetime) -> Erased:
    """One channel: its stories, scenes and turns, and its settings."""
    place = connection.execute(sa.select(places).where(places.c.id == place_id)).first()
    if place is None:
        return Erased()
    keys = sa.select(memories.c.id, memories.c.space_id).where(memories.c.place_id == place_id)
    rows = [(memory_id, space_id) for memory_id, space_id in connection.execute(keys)]
    said = sa.select(sa.func.count()).where(turns.c.place_id == place_id)
    count = int(connection.execute(said).scalar_one())
    connection.execute(sa.delete(places).where(places.c.id == place_id))
    connection.execute(sa.delete(options).where(options.c.place_id == place_id))
    connection.execute(sa.delete(usage_notices).where(usage_notices.c.place_id == place_id))
    queue_erasures(connection, rows, now)
    return Erased(
        turns=count,
        memory_ids=tuple(memory_id for memory_id, _ in rows),
        space_ids=(place.space_id,),
        dropped_places=(place_id,),
    )


def count_before(connection: Connection, space_id: int, moment: datetime) -> int:
    """How many turns and memories `drop_before` would take."""
    said = sa.select(sa.func.count()).where(turns.c.space_id == space_id, turns.c.created_at < moment)
    learned = sa.select(sa.func.count()).where(
        memories.c.space_id == space_id, memories.c.created_at < moment, memories.c.kind.in_(_PASSING)
    )
    done = sa.select(sa.func.count()).where(
        moderator_actions.c.space_id == space_id, moderator_actions.c.created_at < moment
    )
    return sum([int(connection.execute(count).scalar_one()) for count in (said, learned, done)])


def drop_before(connection: Connection, space_id: int, moment: datetime, now: datetime) -> Erased:
    """What was said in a space before a moment and what was learned then; pinned notes stay."""
    old = sa.select(turns.c.id).where(turns.c.space_id == space_id, turns.c.created_at < moment)
    said = set(connection.execute(old).scalars())
    learned = sa.select(memories.c.id).where(
        memories.c.space_id == space_id, memories.c.created_at < moment, memories.c.kind.in_(_PASSING)
    )
    made = set(connection.execute(learned).scalars())
    done = moderator_actions.c.space_id == space_id, moderator_actions.c.created_at < moment
    connection.execute(sa.delete(moderator_actions).where(*done))
    if not said and not made:
        return Erased()
    place_ids = _places_of(connection, said, ())
    gone = set(wipe_turns(connection, said, now))
    _drop_turns(connection, said)
    remove_memories(connection, made - gone, now)
    return Erased(
        turns=len(said),
        memory_ids=tuple(sorted(gone | made)),
        place_ids=tuple(sorted(place_ids)),
        space_ids=(space_id,),
    )


# ---------------------------------------------------------------- parts
def _places_of(connection: Connection, turn_ids: Collection[int], scene_ids: Collection[int]) -> set[int]:
    found: set[int] = set()
    for some in portions(turn_ids):
        said = sa.select(turns.c.place_id).distinct().where(turns.c.id.in_(some))
        found.update(connection.execute(said).scalars())
    for some in portions(scene_ids):
        played = sa.select(scenes.c.place_id).distinct().where(scenes.c.id.in_(some))
        found.update(connection.execute(played).scalars())
    return found


def _drop_turns(connection: Connection, turn_ids: Collection[int]) -> None:
    """The rows themselves, after `wipe_turns`; nothing points at them or their messages any more."""
    for some in portions(turn_ids):
        messages = sa.select(turn_messages.c.message_id).where(turn_messages.c.turn_id.in_(some))
        connection.execute(sa.update(turns).where(turns.c.reply_to.in_(messages)).values(reply_to=None))
        connection.execute(sa.update(turns).where(turns.c.answered_by.in_(some)).values(answered_by=-1))
    for some in portions(turn_ids):
        connection.execute(sa.delete(turns).where(turns.c.id.in_(some)))


def _unsign(connection: Connection, member_id: int) -> None:
    for table in metadata.sorted_tables:
        for name in _MAKERS:
            if name in table.c:
                signed = table.c[name] == member_id
                connection.execute(sa.update(table).where(signed).values({name: 0}))


def _redact(connection: Connection, space_id: int, names: Names, now: datetime) -> set[int]:
    """Takes the names out of turns, open messages and scenes that stay; memories to be encoded again."""
    number = next_change(connection)
    changed: dict[int, str] = {}
    for name in names.all:
        naming = sa.select(turns.c.id, turns.c.text).where(
            turns.c.space_id == space_id, sa.func.instr(turns.c.text, name) > 0
        )
        for row in connection.execute(naming):
            if (text := names.out_of(row.text)) != row.text:
                changed[row.id] = text
    for turn_id, text in changed.items():
        connection.execute(sa.update(turns).where(turns.c.id == turn_id).values(text=text, changed=number))
    _redact_parts(connection, names, changed)
    _redact_scenes(connection, space_id, names)
    return _encode_again(connection, memories.c.turn_id, changed, now)


def _redact_parts(connection: Connection, names: Names, turn_ids: Collection[int]) -> None:
    for some in portions(turn_ids):
        parts = sa.select(outbox.c.id, outbox.c.text).where(outbox.c.turn_id.in_(some))
        for part_id, text in connection.execute(parts).all():
            new = names.out_of(text)
            connection.execute(sa.update(outbox).where(outbox.c.id == part_id).values(text=new))


def _redact_scenes(connection: Connection, space_id: int, names: Names) -> None:
    which = sa.select(scenes.c.id, *_SCENE_TEXTS).where(scenes.c.space_id == space_id)
    for row in connection.execute(which).all():
        new = {column.name: names.out_of(row._mapping[column.name]) for column in _SCENE_TEXTS}
        if any(text != row._mapping[key] for key, text in new.items()):
            connection.execute(sa.update(scenes).where(scenes.c.id == row.id).values(**new))
    told = sa.select(stories.c.id, stories.c.name).join_from(stories, places)
    for story_id, name in connection.execute(told.where(places.c.space_id == space_id)).all():
        if (new_name := names.out_of(name)) != name:
            new_name = f"{new_name} {story_id}"  # names of stories are unique in their place
            values = {"name": new_name, "folded_name": fold(new_name)}
            connection.execute(sa.update(stories).where(stories.c.id == story_id).values(**values))


def _drop_triggers(connection: Connection, trigger_ids: Collection[int], now: datetime) -> set[int]:
    """Their memories lose all keys and get those that are left anew."""
    led: set[int] = set()
    for some in portions(trigger_ids):
        to = sa.select(triggers.c.memory_id).where(triggers.c.id.in_(some))
        led.update(connection.execute(to).scalars())
        connection.execute(sa.delete(triggers).where(triggers.c.id.in_(some)))
    return _encode_again(connection, memories.c.id, led, now)


def _encode_again(
    connection: Connection, column: sa.Column[int], ids: Collection[int], now: datetime
) -> set[int]:
    found: set[int] = set()
    for some in portions(ids):
        which = column.in_(some)
        rows = connection.execute(sa.select(memories.c.id, memories.c.space_id).where(which)).all()
        queue_erasures(connection, [(row.id, row.space_id) for row in rows], now)
        connection.execute(sa.update(memories).where(which).values(indexed_by=None))
        found.update(row.id for row in rows)
    return found
