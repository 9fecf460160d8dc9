"""Turns as rows: how they are read, and how new ones are written together with their memories."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from datetime import UTC
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from bot.adapters.sql_store.audiences import audience_ids, members_key, read_key
from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.tables import audiences, memories, turn_messages, turns
from bot.core.types import MemoryKind, Turn, TurnDraft, TurnKind

_MESSAGES = (
    sa.select(sa.func.aggregate_strings(sa.cast(turn_messages.c.message_id, sa.Text), ","))
    .where(turn_messages.c.turn_id == turns.c.id)
    .scalar_subquery()
)
SELECT_TURNS = sa.select(turns, audiences.c.members, _MESSAGES.label("messages")).join_from(turns, audiences)
LIVING = turns.c.deleted_at.is_(None)
UNCOVERED = sa.and_(
    turns.c.covered_by.is_(None),
    LIVING,
    turns.c.kind != TurnKind.OUT_OF_CHARACTER.value,
    ~turns.c.unremembered,
)
"""What waits to be read for the notes."""
_SPEAKERS = (
    sa.select(turns.c.owner_id, turns.c.speaker)
    .where(turns.c.scene_id == sa.bindparam("scene_id"), turns.c.persona_id.is_(None), LIVING)
    .group_by(turns.c.owner_id, turns.c.speaker)
    .order_by(sa.func.min(turns.c.id))
)
_DRAFT_FIELDS = tuple(each.name for each in fields(TurnDraft))


def turn_of(row: Row[Any]) -> Turn:
    """A row of `SELECT_TURNS` as a turn."""
    messages = row.messages
    return Turn(
        space_id=row.space_id,
        place_id=row.place_id,
        scene_id=row.scene_id,
        story_id=row.story_id,
        owner_id=row.owner_id,
        speaker=row.speaker,
        text=row.text,
        kind=TurnKind(row.kind),
        created_at=row.created_at,
        witnesses=read_key(row.members),
        message_ids=tuple(sorted(map(int, messages.split(",")))) if messages else (),
        persona_id=row.persona_id,
        mentions_bot=row.mentions_bot,
        reply_to=row.reply_to,
        proxied=row.proxied,
        unremembered=row.unremembered,
        id=row.id,
        edited_at=row.edited_at,
        answered_by=row.answered_by,
        covered_by=row.covered_by,
    )


def turns_by_ids(
    connection: Connection, turn_ids: Collection[int], which: sa.ColumnElement[bool] | None = None
) -> list[Turn]:
    """These turns by id, deleted ones too (their text is empty) unless `which` leaves them out."""
    chosen = SELECT_TURNS if which is None else SELECT_TURNS.where(which)
    found: list[Turn] = []
    for some in portions(turn_ids):
        rows = connection.execute(chosen.where(turns.c.id.in_(some)).order_by(turns.c.id))
        found.extend(turn_of(row) for row in rows)
    return found


def speakers_of(connection: Connection, scene_id: int) -> list[tuple[int, str]]:
    """(owner id, name) of the members who spoke in a scene, in the order they first did."""
    found = connection.execute(_SPEAKERS, {"scene_id": scene_id})
    return [(owner_id, name) for owner_id, name in found]


def insert_turns(connection: Connection, drafts: Sequence[TurnDraft]) -> list[Turn]:
    """Stores turns, their message ids and their memories; ids grow in the order given."""
    if not drafts:
        return []
    audience = audience_ids(connection, [draft.witnesses for draft in drafts])
    insert = sa.insert(turns).returning(turns.c.id, sort_by_parameter_order=True)
    rows = [_turn_row(draft, audience[members_key(draft.witnesses)]) for draft in drafts]
    ids = connection.execute(insert, rows).scalars().all()
    stored = [_stored(draft, turn_id) for draft, turn_id in zip(drafts, ids, strict=True)]
    messages = [
        {"message_id": message, "turn_id": turn.id} for turn in stored for message in turn.message_ids
    ]
    if messages:
        connection.execute(sa.insert(turn_messages), messages)
    made = [
        _memory_row(turn, row["audience_id"])
        for turn, row in zip(stored, rows, strict=True)
        if not turn.unremembered
    ]
    if made:
        connection.execute(sa.insert(memories), made)
    return stored


def _turn_row(draft: TurnDraft, audience_id: int) -> dict[str, Any]:
    return {
        "space_id": draft.space_id,
        "place_id": draft.place_id,
        "scene_id": draft.scene_id,
        "story_id": draft.story_id,
        "owner_id": draft.owner_id,
        "persona_id": draft.persona_id,
        "audience_id": audience_id,
        "kind": draft.kind.value,
        "mentions_bot": draft.mentions_bot,
        "proxied": draft.proxied,
        "unremembered": draft.unremembered,
        "reply_to": draft.reply_to,
        "created_at": draft.created_at,
        "speaker": draft.speaker,
        "text": draft.text,
    }


def _memory_row(turn: Turn, audience_id: int) -> dict[str, Any]:
    return {
        "kind": MemoryKind.TURN.value,
        "space_id": turn.space_id,
        "place_id": turn.place_id,
        "story_id": turn.story_id,
        "scene_id": turn.scene_id,
        "turn_id": turn.id,
        "audience_id": audience_id,
        "created_at": turn.created_at,
    }


def _stored(draft: TurnDraft, turn_id: int) -> Turn:
    """The turn exactly as it will be read again."""
    values = {name: getattr(draft, name) for name in _DRAFT_FIELDS}
    values["witnesses"] = tuple(sorted(set(draft.witnesses)))
    values["message_ids"] = tuple(sorted(set(draft.message_ids)))
    values["created_at"] = draft.created_at.astimezone(UTC)
    return Turn(**values, id=turn_id)
