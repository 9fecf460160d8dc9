"""What personas say, message by message: committed before it is sent, closed when it was."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.forgetting import wipe_turns
from bot.adapters.sql_store.tables import outbox, turn_messages, turns
from bot.adapters.sql_store.turn_rows import insert_turns
from bot.core.types import OutboxRow, Turn, TurnDraft


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a persona's turn that stands in the channel or is on its way there."""

    message_id: int | None
    text: str


def store_reply(
    connection: Connection,
    draft: TurnDraft,
    parts: Sequence[str],
    answers: Collection[int],
    now: datetime,
) -> tuple[Turn, tuple[OutboxRow, ...]]:
    """The turn, one open row per part, and the mark on the turns that it answers."""
    (turn,) = insert_turns(connection, [draft])
    rows = [
        {
            "turn_id": turn.id,
            "place_id": turn.place_id,
            "part": part,
            "text": text,
            "nonce": secrets.token_urlsafe(12),
            "created_at": now,
        }
        for part, text in enumerate(parts)
    ]
    if rows:
        insert = sa.insert(outbox).returning(outbox.c.id, sort_by_parameter_order=True)
        ids = connection.execute(insert, rows).scalars().all()
        speech = {"speaker": turn.speaker, "persona_id": turn.persona_id}
        sent = tuple(OutboxRow(id=id_, **row, **speech) for id_, row in zip(ids, rows, strict=True))  # type: ignore[arg-type]
    else:
        sent = ()
    mark_answered(connection, answers, turn.id)
    return turn, sent


def mark_answered(connection: Connection, turn_ids: Collection[int], answered_by: int) -> None:
    """A notice (-1) never hides an answer that was given before."""
    for some in portions(turn_ids):
        mark = sa.update(turns).where(turns.c.id.in_(some)).values(answered_by=answered_by)
        if answered_by < 0:
            mark = mark.where(turns.c.answered_by.is_(None))
        connection.execute(mark)


def open_rows(connection: Connection) -> list[OutboxRow]:
    """Rows that nobody closed, oldest first."""
    found = connection.execute(
        sa.select(outbox, turns.c.speaker, turns.c.persona_id)
        .join_from(outbox, turns)
        .where(outbox.c.closed_at.is_(None))
        .order_by(outbox.c.id)
    )
    return [
        OutboxRow(
            id=row.id,
            turn_id=row.turn_id,
            place_id=row.place_id,
            part=row.part,
            text=row.text,
            speaker=row.speaker,
            persona_id=row.persona_id,
            nonce=row.nonce,
            created_at=row.created_at,
            message_id=row.message_id,
        )
        for row in found
    ]


def close_sent(connection: Connection, outbox_id: int, message_id: int, now: datetime) -> None:
    """The row became a message. Its text stays where the turn has several: an edit needs the other parts."""
    turn_id = _turn_id(connection, outbox_id)
    if turn_id is None:
        return
    siblings = sa.select(sa.func.count()).where(outbox.c.turn_id == turn_id).scalar_subquery()
    kept = sa.case((siblings > 1, outbox.c.text), else_="")
    connection.execute(
        sa.update(outbox)
        .where(outbox.c.id == outbox_id)
        .values(message_id=message_id, closed_at=now, text=kept)
    )
    connection.execute(
        upsert(turn_messages).on_conflict_do_nothing(), [{"message_id": message_id, "turn_id": turn_id}]
    )


def close_unsent(connection: Connection, outbox_id: int, now: datetime) -> None:
    """The row will never be sent. When nothing of its turn was or will be, the turn goes, and what it
    answered waits for an answer again."""
    turn_id = _turn_id(connection, outbox_id)
    if turn_id is None:
        return
    unsent = sa.and_(outbox.c.id == outbox_id, outbox.c.message_id.is_(None))
    connection.execute(sa.update(outbox).where(unsent).values(text="", closed_at=now))
    alive = sa.or_(outbox.c.message_id.is_not(None), outbox.c.closed_at.is_(None))
    left = connection.execute(sa.select(outbox.c.id).where(outbox.c.turn_id == turn_id, alive).limit(1))
    if left.first() is None:
        connection.execute(
            sa.update(turns)
            .where(turns.c.answered_by == turn_id, turns.c.answered_by > 0)
            .values(answered_by=None)
        )
        wipe_turns(connection, [turn_id], now)


def parts_of(connection: Connection, turn_id: int) -> list[Part]:
    """The messages of a persona's turn, said or still to be said, in order; none when it was a single one."""
    found = connection.execute(
        sa.select(outbox.c.message_id, outbox.c.text)
        .where(outbox.c.turn_id == turn_id, outbox.c.text != "")
        .order_by(outbox.c.part)
    )
    return [Part(row.message_id, row.text) for row in found]


def reword_part(connection: Connection, turn_id: int, message_id: int, text: str) -> str:
    """Gives one message other words; the whole text of its turn now."""
    changed = connection.execute(
        sa.update(outbox)
        .where(outbox.c.turn_id == turn_id, outbox.c.message_id == message_id)
        .values(text=text)
    )
    if changed.rowcount == 0:
        return text
    return "\n".join(part.text for part in parts_of(connection, turn_id))


def _turn_id(connection: Connection, outbox_id: int) -> int | None:
    found = connection.execute(sa.select(outbox.c.turn_id).where(outbox.c.id == outbox_id))
    return found.scalar()
