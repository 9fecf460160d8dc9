"""A persona's messages on their way into the channel."""

from __future__ import annotations

from datetime import timedelta

from bot.adapters.sql_store import SqlStore
from bot.core.events import MessageEdited, MessagesDeleted
from tests.adapters.sql_store.helpers import NOON, TAVERN, Clock, Stage, changed
from tests.records import unanswered_turns

LATER = NOON + timedelta(hours=1)


async def test_a_reply_is_stored_with_its_rows_and_the_mark_on_its_question(
    store: SqlStore, stage: Stage, clock: Clock
) -> None:
    asked = await stage.say("Mira?", 1)
    turn, rows = await store.turns.commit_reply(stage.spoken("a\nb"), ["a", "b"], [asked.id])
    assert [(row.part, row.text, row.turn_id, row.place_id) for row in rows] == [
        (0, "a", turn.id, TAVERN.id),
        (1, "b", turn.id, TAVERN.id),
    ]
    assert {row.speaker for row in rows} == {"Mira"}
    assert rows[0].nonce != rows[1].nonce
    assert max(len(row.nonce) for row in rows) <= 25
    assert rows[0].created_at == clock.now
    assert list(rows) == await store.turns.open_outbox()
    assert (await store.turns.by_ids([asked.id]))[0].answered_by == turn.id
    assert (await stage.memory_of(turn)).text == "a\nb"


async def test_a_sent_row_is_closed_and_its_message_leads_to_the_turn(store: SqlStore, stage: Stage) -> None:
    turn, (one, two) = await store.turns.commit_reply(stage.spoken("a\nb"), ["a", "b"], [])
    await store.turns.sent(one.id, 101)
    await store.turns.sent(one.id, 101)
    assert await store.turns.open_outbox() == [two]
    await store.turns.sent(two.id, 102)
    found = await store.turns.by_message(102)
    assert found is not None
    assert (found.id, found.message_ids) == (turn.id, (101, 102))
    assert await store.turns.open_outbox() == []


async def test_a_turn_of_which_nothing_was_sent_is_removed_and_its_question_is_open_again(
    store: SqlStore, stage: Stage
) -> None:
    asked = await stage.say("Mira?", 1)
    turn, (one, two) = await store.turns.commit_reply(stage.spoken("a\nb"), ["a", "b"], [asked.id])
    await store.turns.abandon(one.id)
    assert (await store.turns.by_ids([turn.id]))[0].text == "a\nb"
    await store.turns.abandon(two.id)
    assert (await store.turns.by_ids([turn.id]))[0].text == ""
    assert await store.turns.open_outbox() == []
    assert await unanswered_turns(store, stage.scene.id, NOON) == [asked]


async def test_a_notice_in_place_of_a_removed_reply_settles_the_question(
    store: SqlStore, stage: Stage
) -> None:
    asked = await stage.say("Mira?", 1)
    _, (row,) = await store.turns.commit_reply(stage.spoken("a"), ["a"], [asked.id])
    await store.turns.abandon(row.id)
    await store.turns.settle([asked.id])
    assert await unanswered_turns(store, stage.scene.id, NOON) == []


async def test_a_turn_that_was_partly_sent_stays(store: SqlStore, stage: Stage) -> None:
    asked = await stage.say("Mira?", 1)
    turn, (one, two) = await store.turns.commit_reply(stage.spoken("a\nb"), ["a", "b"], [asked.id])
    await store.turns.sent(one.id, 101)
    await store.turns.abandon(two.id)
    await store.turns.abandon(one.id)
    assert (await store.turns.by_ids([turn.id]))[0].text == "a\nb"
    assert (await store.turns.by_ids([asked.id]))[0].answered_by == turn.id


async def test_unknown_rows_are_no_matter(store: SqlStore, stage: Stage) -> None:
    await store.turns.sent(404, 1)
    await store.turns.abandon(404)
    assert await store.turns.by_message(1) is None


async def test_one_message_of_several_can_be_edited_and_deleted(store: SqlStore, stage: Stage) -> None:
    turn, rows = await store.turns.commit_reply(stage.spoken("a\nb\nc"), ["a", "b", "c"], [])
    for row, message_id in zip(rows, (101, 102, 103), strict=True):
        await store.turns.sent(row.id, message_id)
    assert await store.turns.commit([MessageEdited(TAVERN.id, 102, "b", LATER)]) == [None]
    (edited,) = await store.turns.commit([MessageEdited(TAVERN.id, 102, "B", LATER)])
    assert [each.text for each in changed(edited).turns] == ["a\nB\nc"]
    (cut,) = await store.turns.commit([MessagesDeleted(TAVERN.id, (101,))])
    assert not changed(cut).removed
    assert [(each.text, each.message_ids) for each in changed(cut).turns] == [("B\nc", (102, 103))]
    (gone,) = await store.turns.commit([MessagesDeleted(TAVERN.id, (102, 103))])
    assert changed(gone).removed
    assert [(each.id, each.text) for each in changed(gone).turns] == [(turn.id, "")]


async def test_a_persona_message_of_one_part_is_edited_and_deleted_whole(
    store: SqlStore, stage: Stage
) -> None:
    _, (row,) = await store.turns.commit_reply(stage.spoken("a"), ["a"], [])
    await store.turns.sent(row.id, 101)
    (edited,) = await store.turns.commit([MessageEdited(TAVERN.id, 101, "A", LATER)])
    assert [each.text for each in changed(edited).turns] == ["A"]
    (gone,) = await store.turns.commit([MessagesDeleted(TAVERN.id, (101,))])
    assert changed(gone).removed


async def test_a_forgotten_turn_is_not_sent_any_more(store: SqlStore, stage: Stage) -> None:
    turn, (one, _) = await store.turns.commit_reply(stage.spoken("a\nb"), ["a", "b"], [])
    await store.turns.sent(one.id, 101)
    await store.memories.remove([(await stage.memory_of(turn)).id])
    assert await store.turns.open_outbox() == []
