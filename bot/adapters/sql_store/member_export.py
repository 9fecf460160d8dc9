"""All that is kept about one member, as plain values for a file that people can read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.member_rows import MemberRows
from bot.adapters.sql_store.spending_tables import usage_shares
from bot.adapters.sql_store.tables import (
    aliases,
    line_sources,
    memories,
    memory_sources,
    options,
    personas,
    places,
    scenes,
    scratchpad_lines,
    scratchpad_revisions,
    style_samples,
    turn_messages,
    turns,
)
from bot.adapters.sql_store.trust_tables import moderator_actions
from bot.core.privacy import Export

Record = Mapping[str, object]
EMOTIONS: Final = ("joy", "acceptance", "fear", "surprise", "sadness", "disgust", "anger", "anticipation")
_WHERE = (
    places.c.guild_id.label("server"),
    places.c.id.label("channel"),
    places.c.name.label("channel_name"),
    scenes.c.name.label("scene"),
)


def export_member(connection: Connection, member_id: int, found: MemberRows) -> Export:
    """By topic. Ids of Discord are texts: JSON's numbers are too small for them in many programs."""
    return {
        "what_you_said": _turns(connection, found.turn_ids),
        "what_personas_answered_you": _turns(connection, found.reply_ids),
        "your_aliases": _aliases(connection, member_id),
        "what_was_learned_from_or_about_you": _learned(connection, found.memory_ids),
        "notes_that_come_from_or_name_you": _notes(connection, found.line_ids),
        "sample_lines_made_from_replies_to_you": _samples(connection, found.sample_ids),
        "where_others_name_you": _mentions(connection, found),
        "personas_you_made": _personas(connection, found),
        "what_you_did_as_a_moderator": _actions(connection, member_id),
        "settings_of_your_direct_messages": _options(connection, found.direct),
        "what_answers_to_you_cost": _usage(connection, member_id),
    }


def _turns(connection: Connection, turn_ids: Collection[int]) -> list[Record]:
    columns = (*_WHERE, turns.c.id, turns.c.speaker, turns.c.text, turns.c.kind, turns.c.created_at)
    emotions = memories.c.emotion, memories.c.emotion_source
    which = sa.select(*columns, turns.c.edited_at, turns.c.deleted_at, *emotions).select_from(
        turns.join(places).join(scenes).outerjoin(memories, memories.c.turn_id == turns.c.id)
    )
    records: list[Record] = []
    for some in portions(turn_ids):
        sent = sa.select(turn_messages).where(turn_messages.c.turn_id.in_(some))
        messages: dict[int, list[str]] = {}
        for row in connection.execute(sent):
            messages.setdefault(row.turn_id, []).append(str(row.message_id))
        rows = connection.execute(which.where(turns.c.id.in_(some)).order_by(turns.c.id))
        records += [{**_record(row), "messages": messages.get(row.id, [])} for row in rows]
    return records


def _aliases(connection: Connection, member_id: int) -> list[Record]:
    which = sa.select(*_WHERE, aliases.c.name, aliases.c.avatar_url).select_from(
        aliases.join(scenes).join(places)
    )
    return _records(connection.execute(which.where(aliases.c.owner_id == member_id)))


def _learned(connection: Connection, memory_ids: Collection[int]) -> list[Record]:
    columns = (*_WHERE, memories.c.id, memories.c.kind, memories.c.subject, memories.c.text)
    more = (memories.c.created_at, memories.c.story_time, memories.c.emotion, memories.c.emotion_source)
    which = sa.select(*columns, *more).select_from(memories.join(places).join(scenes))
    records: list[Record] = []
    for some in portions(memory_ids):
        rows = connection.execute(
            which.where(memories.c.id.in_(some), memories.c.turn_id.is_(None)).order_by(memories.c.id)
        )
        named = sa.select(memory_sources).where(memory_sources.c.memory_id.in_(some))
        sources = _grouped(connection.execute(named))
        records += [{**_record(row), "from_turns": sources.get(row.id, [])} for row in rows]
    return records


def _notes(connection: Connection, line_ids: Collection[int]) -> list[Record]:
    lines = scratchpad_lines.c
    which = sa.select(
        *_WHERE, lines.id, lines.section, lines.text, scratchpad_revisions.c.created_at
    ).select_from(scratchpad_lines.join(scratchpad_revisions).join(scenes).join(places))
    records: list[Record] = []
    for some in portions(line_ids):
        rows = connection.execute(which.where(lines.id.in_(some)).order_by(lines.id))
        named = sa.select(line_sources.c.line_id, line_sources.c.turn_id)
        sources = _grouped(connection.execute(named.where(line_sources.c.line_id.in_(some))))
        records += [{**_record(row), "from_turns": sources.get(row.id, [])} for row in rows]
    return records


def _samples(connection: Connection, sample_ids: Collection[int]) -> list[Record]:
    which = sa.select(personas.c.name.label("persona"), style_samples.c.text).join_from(
        style_samples, personas
    )
    records: list[Record] = []
    for some in portions(sample_ids):
        records += _records(connection.execute(which.where(style_samples.c.id.in_(some))))
    return records


def _mentions(connection: Connection, found: MemberRows) -> list[Record]:
    """Turns of others that hold one of the member's names: those words alone, not the whole turn."""
    records: list[Record] = []
    known = found.turn_ids | found.reply_ids
    for space_id, names in found.names.items():
        for name in names.all:
            which = (
                sa.select(*_WHERE, turns.c.id, turns.c.created_at)
                .select_from(turns.join(places).join(scenes))
                .where(turns.c.space_id == space_id, sa.func.instr(turns.c.text, name) > 0)
            )
            rows = connection.execute(which.order_by(turns.c.id))
            records += [{**_record(row), "name": name} for row in rows if row.id not in known]
    return records


def _personas(connection: Connection, found: MemberRows) -> list[Record]:
    """Whole cards only of those that nobody else could see."""
    which = sa.select(personas.c.id, personas.c.space_id, personas.c.name, personas.c.card)
    mine = sa.or_(personas.c.id.in_(found.made_personas), personas.c.space_id.in_(found.direct))
    return [
        {
            "server": str(row.space_id),
            "name": row.name,
            "card": row.card if row.space_id in found.direct or row.id in found.made_personas else None,
        }
        for row in connection.execute(which.where(mine).order_by(personas.c.id))
    ]


def _actions(connection: Connection, member_id: int) -> list[Record]:
    columns = [moderator_actions.c[name] for name in ("action", "detail", "created_at")]
    where = moderator_actions.c.space_id.label("server"), moderator_actions.c.place_id.label("channel")
    which = sa.select(*where, *columns).where(moderator_actions.c.actor_id == member_id)
    return _records(connection.execute(which.order_by(moderator_actions.c.id)))


def _options(connection: Connection, space_ids: Collection[int]) -> list[Record]:
    which = sa.select(options.c.key, options.c.value).where(options.c.space_id.in_(space_ids))
    return _records(connection.execute(which))


def _usage(connection: Connection, member_id: int) -> list[Record]:
    shares = usage_shares.c
    counts = (shares.calls, shares.input_tokens, shares.output_tokens)
    which = sa.select(
        shares.space_id.label("server"),
        shares.day,
        personas.c.name.label("persona"),
        *counts,
        shares.cost.label("cost_in_millionths"),
    ).select_from(usage_shares.outerjoin(personas, personas.c.id == shares.persona_id))
    rows = connection.execute(which.where(shares.member_id == member_id).order_by(shares.day))
    return _records(rows)


# ---------------------------------------------------------------- rows as values
def _records(rows: Iterable[Any]) -> list[Record]:
    return [_record(row) for row in rows]


def _record(row: Any) -> dict[str, object]:
    record = {key: _plain(key, value) for key, value in row._mapping.items() if value is not None}
    if "emotion" in record:
        record["emotion"] = dict(zip(EMOTIONS, [round(float(n), 2) for n in row.emotion], strict=True))
    return record


def _plain(key: str, value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if key in ("server", "channel") and isinstance(value, int):
        return str(value) if value else "direct messages"
    return value


def _grouped(rows: Iterable[Any]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for parent, child in rows:
        found.setdefault(parent, []).append(child)
    return found
