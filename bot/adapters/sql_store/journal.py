"""The journal's group commit: new, edited and deleted messages in the order they came."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.batches import portions
from bot.adapters.sql_store.forgetting import Words, reword_turn, wipe_turns
from bot.adapters.sql_store.outbox import Part, parts_of, reword_part
from bot.adapters.sql_store.tables import places, scenes, tombstones, turn_messages, turns
from bot.adapters.sql_store.turn_rows import LIVING, SELECT_TURNS, insert_turns, turn_of, turns_by_ids
from bot.core.events import MessageEdited, MessagesDeleted
from bot.core.stores import Changed, JournalEntry, JournalOutcome, PostEntry, Recorded
from bot.core.types import Turn, TurnDraft

_TOMBSTONES_LAST = timedelta(days=1)


def commit(connection: Connection, entries: Sequence[JournalEntry], now: datetime) -> list[JournalOutcome]:
    """One outcome per entry, in order. Neighbouring new messages are stored by the same few statements."""
    outcomes: list[JournalOutcome] = []
    for group in _groups(entries):
        first = group[0]
        if isinstance(first, MessageEdited):
            outcomes.append(_edit(connection, first, now))
        elif isinstance(first, MessagesDeleted):
            outcomes.append(_delete(connection, first, now))
        else:
            posts = [entry for entry in group if isinstance(entry, PostEntry)]
            outcomes.extend(_record(connection, [post.draft for post in posts]))
            _advance(connection, [post.draft for post in posts if post.seen])
    return outcomes


def _groups(entries: Sequence[JournalEntry]) -> Iterator[list[JournalEntry]]:
    for posts, group in groupby(entries, key=lambda entry: isinstance(entry, PostEntry)):
        if posts:
            yield list(group)
        else:
            yield from ([entry] for entry in group)


# ---------------------------------------------------------------- new messages
def _record(connection: Connection, drafts: Sequence[TurnDraft]) -> list[JournalOutcome]:
    known, dead = _met_before(connection, [id_ for draft in drafts for id_ in draft.message_ids])
    fresh: list[TurnDraft] = []
    places_in_fresh: dict[int, int] = {}  # message id to the place in `fresh`
    plan: list[tuple[str, int]] = []
    for draft in drafts:
        ids = draft.message_ids
        if any(id_ in dead for id_ in ids):
            plan.append(("dead", 0))
        elif old := next((known[id_] for id_ in ids if id_ in known), None):
            plan.append(("known", old))
        elif (
            twin := next((places_in_fresh[id_] for id_ in ids if id_ in places_in_fresh), None)
        ) is not None:
            plan.append(("twin", twin))
        else:
            places_in_fresh.update(dict.fromkeys(ids, len(fresh)))
            plan.append(("fresh", len(fresh)))
            fresh.append(draft)
    stored = insert_turns(connection, fresh)
    old_ids = [which for how, which in plan if how == "known"]
    olds = {turn.id: turn for turn in turns_by_ids(connection, old_ids)}
    return [_outcome(how, which, stored, olds) for how, which in plan]


def _outcome(how: str, which: int, stored: Sequence[Turn], olds: dict[int, Turn]) -> JournalOutcome:
    if how == "dead":
        return None
    if how == "known":
        return Recorded(olds[which], fresh=False)
    return Recorded(stored[which], fresh=how == "fresh")


def _met_before(connection: Connection, message_ids: Collection[int]) -> tuple[dict[int, int], set[int]]:
    """Message ids that belong to turns already, and those whose deletion came before themselves."""
    known: dict[int, int] = {}
    dead: set[int] = set()
    for some in portions(message_ids):
        both = sa.union_all(
            sa.select(turn_messages.c.message_id, turn_messages.c.turn_id).where(
                turn_messages.c.message_id.in_(some)
            ),
            sa.select(tombstones.c.message_id, sa.literal(0)).where(tombstones.c.message_id.in_(some)),
        )
        for message_id, turn_id in connection.execute(both):
            if turn_id:
                known[message_id] = turn_id
            else:
                dead.add(message_id)
    return known, dead


def _advance(connection: Connection, drafts: Sequence[TurnDraft]) -> None:
    seen: dict[int, int] = {}
    for draft in drafts:
        if draft.message_ids:
            seen[draft.place_id] = max(seen.get(draft.place_id, 0), *draft.message_ids)
    if seen:
        connection.execute(
            sa.update(places)
            .where(places.c.id == sa.bindparam("place"), places.c.seen_until < sa.bindparam("seen"))
            .values(seen_until=sa.bindparam("seen")),
            [{"place": place, "seen": message} for place, message in seen.items()],
        )


# ---------------------------------------------------------------- edits and deletions
def _edit(connection: Connection, event: MessageEdited, now: datetime) -> JournalOutcome:
    """None also for an edit that changes no word (Discord sends one when a link's preview appears) and for
    one older than an edit already known. An edit that leaves no text is a deletion, and so is one whose words
    must not be written."""
    turn = _turn_of_message(connection, event.message_id)
    if turn is None or (turn.edited_at is not None and event.edited_at < turn.edited_at):
        return None
    if not event.text.strip():
        return _remove(connection, [turn], {event.message_id}, now)
    parts = _parts(connection, turn)
    if Part(event.message_id, event.text) in parts:
        return None
    text = event.text
    if parts:
        text = reword_part(connection, turn.id, event.message_id, event.text)
    if text == turn.text:
        return None
    if not event.written:
        return _remove(connection, [turn], {event.message_id}, now)
    return _reword(connection, turn.id, text, event.edited_at, now)


def _delete(connection: Connection, event: MessagesDeleted, now: datetime) -> JournalOutcome:
    known, _ = _met_before(connection, event.message_ids)
    _bury(connection, event.place_id, set(event.message_ids) - known.keys(), now)
    living = turns_by_ids(connection, known.values(), LIVING)
    return _remove(connection, living, set(event.message_ids), now) if living else None


def _remove(connection: Connection, found: Sequence[Turn], messages: set[int], now: datetime) -> Changed:
    """Turns lose these messages: a persona's turn keeps the words of its other messages, all others go."""
    gone: list[Turn] = []
    left: list[Changed] = []
    for turn in found:
        rest = [part for part in _parts(connection, turn) if part.message_id not in messages]
        if not rest:
            gone.append(turn)
            continue
        for message in messages & set(turn.message_ids):
            _lose_message(connection, turn.place_id, message, now)
            reword_part(connection, turn.id, message, "")
        left.append(
            _reword(connection, turn.id, "\n".join(part.text for part in rest), turn.edited_at or now, now)
        )
    memory_ids = wipe_turns(connection, [turn.id for turn in gone], now) if gone else ()
    wiped = turns_by_ids(connection, [turn.id for turn in gone])
    changed = [*wiped, *(turn for each in left for turn in each.turns)]
    return Changed(
        turns=tuple(sorted(changed, key=lambda turn: turn.id)),
        removed=bool(gone),
        scene_ids=tuple(sorted({turn.scene_id for turn in changed})),
        memory_ids=tuple(sorted({*memory_ids, *(id_ for each in left for id_ in each.memory_ids)})),
    )


def _reword(connection: Connection, turn_id: int, text: str, edited_at: datetime, now: datetime) -> Changed:
    memory_ids = reword_turn(connection, Words(turn_id, text, edited_at), now)
    changed = turns_by_ids(connection, [turn_id])
    return Changed(
        turns=tuple(changed),
        removed=False,
        scene_ids=tuple(turn.scene_id for turn in changed),
        memory_ids=memory_ids,
    )


def _turn_of_message(connection: Connection, message_id: int) -> Turn | None:
    which = sa.select(turn_messages.c.turn_id).where(turn_messages.c.message_id == message_id)
    found = connection.execute(SELECT_TURNS.where(turns.c.id == which.scalar_subquery(), LIVING))
    row = found.first()
    return None if row is None else turn_of(row)


def _parts(connection: Connection, turn: Turn) -> list[Part]:
    """Only what a persona said may stand in several messages of known text."""
    return [] if turn.persona_id is None else parts_of(connection, turn.id)


def _lose_message(connection: Connection, place_id: int, message_id: int, now: datetime) -> None:
    connection.execute(sa.delete(turn_messages).where(turn_messages.c.message_id == message_id))
    _bury(connection, place_id, {message_id}, now)


def _bury(connection: Connection, place_id: int, message_ids: set[int], now: datetime) -> None:
    """Remembers deletions that came before their messages, so that a back-fill cannot bring those back."""
    if not message_ids:
        return
    live = sa.select(scenes.c.id).where(scenes.c.place_id == place_id, scenes.c.active)
    if connection.execute(live).first() is None:
        return
    connection.execute(sa.delete(tombstones).where(tombstones.c.deleted_at < now - _TOMBSTONES_LAST))
    connection.execute(
        upsert(tombstones).on_conflict_do_nothing(),
        [{"message_id": message, "deleted_at": now} for message in sorted(message_ids)],
    )
