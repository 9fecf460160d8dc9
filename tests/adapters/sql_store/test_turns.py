"""The journal's commit, and what the window, the rewriting and the answering read."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.adapters.sql_store import SqlStore
from bot.core.events import MessageEdited, MessagesDeleted
from bot.core.stores import PostEntry, Recorded
from bot.core.types import TurnKind
from bot.errors import StorageError
from tests.adapters.sql_store.helpers import NOON, TAVERN, Clock, Stage, changed
from tests.records import newest_turns, sql, unanswered_turns


def edit(message_id: int, text: str, *, minutes: float = 5) -> MessageEdited:
    return MessageEdited(TAVERN.id, message_id, text, NOON + timedelta(minutes=minutes))


def delete(*message_ids: int) -> MessagesDeleted:
    return MessagesDeleted(TAVERN.id, message_ids)


async def test_a_turn_is_read_as_it_was_recorded(store: SqlStore, stage: Stage) -> None:
    draft = stage.draft("Hello ✨", 12, 11, mentions_bot=True, reply_to=4, proxied=True, witnesses=(7, 3, 7))
    (outcome,) = await store.turns.commit([PostEntry(draft)])
    assert isinstance(outcome, Recorded)
    assert outcome.fresh
    assert outcome.turn == (await store.turns.by_ids([outcome.turn.id]))[0]
    assert outcome.turn.witnesses == (3, 7)
    assert outcome.turn.message_ids == (11, 12)
    assert outcome.turn.created_at.tzinfo is not None


async def test_the_same_message_again_gives_the_first_turn(store: SqlStore, stage: Stage) -> None:
    first = await stage.say("Hello.", 11)
    (again,) = await store.turns.commit([stage.post("Other words.", 11)])
    assert again == Recorded(first, fresh=False)
    assert await newest_turns(store, stage.scene.id, 9) == [first]


async def test_the_same_message_twice_in_one_group_is_one_turn(store: SqlStore, stage: Stage) -> None:
    one, two, three = await store.turns.commit(
        [stage.post("Hello.", 11), stage.post("Hello.", 11), stage.post("There.", 12)]
    )
    assert isinstance(one, Recorded)
    assert isinstance(three, Recorded)
    assert two == Recorded(one.turn, fresh=False)
    assert [turn.id for turn in await newest_turns(store, stage.scene.id, 9)] == [one.turn.id, three.turn.id]


async def test_turns_without_messages_are_never_taken_for_the_same(store: SqlStore, stage: Stage) -> None:
    outcomes = await store.turns.commit([stage.post("Hm."), stage.post("Hm.")])
    assert [isinstance(each, Recorded) and each.fresh for each in outcomes] == [True, True]


async def test_a_group_is_applied_in_order(store: SqlStore, stage: Stage) -> None:
    outcomes = await store.turns.commit(
        [stage.post("one", 11), edit(11, "uno"), stage.post("two", 12), delete(11), edit(12, "dos")]
    )
    assert [type(each).__name__ for each in outcomes] == [
        "Recorded",
        "Changed",
        "Recorded",
        "Changed",
        "Changed",
    ]
    assert [turn.text for turn in await newest_turns(store, stage.scene.id, 9)] == ["dos"]


async def test_one_bad_entry_leaves_nothing_of_its_group(store: SqlStore, stage: Stage) -> None:
    with pytest.raises(StorageError):
        await store.turns.commit([stage.post("one", 11), stage.post("two", 12, scene_id=999)])
    assert await newest_turns(store, stage.scene.id, 9) == []
    assert await store.scenes.seen_until(TAVERN.id) == 0
    assert (await stage.say("one", 11)).text == "one"


async def test_seen_until_follows_the_newest_message_and_never_goes_back(
    store: SqlStore, stage: Stage
) -> None:
    await store.turns.commit([stage.post("b", 30), stage.post("a", 20)])
    await stage.say("old", 10)
    await store.turns.commit([delete(99)])
    assert await store.scenes.seen_until(TAVERN.id) == 30


@pytest.mark.parametrize("event", [edit(404, "words"), delete(404)])
async def test_events_about_unknown_messages_are_no_turns(
    store: SqlStore, stage: Stage, event: object
) -> None:
    assert await store.turns.commit([event]) == [None]  # type: ignore[list-item]


async def test_a_deletion_that_came_first_wins(store: SqlStore, stage: Stage) -> None:
    await store.turns.commit([delete(11)])
    assert await store.turns.commit([stage.post("late", 11), stage.post("other", 12)]) != [None, None]
    assert [turn.text for turn in await newest_turns(store, stage.scene.id, 9)] == ["other"]
    assert await store.turns.commit([delete(13), stage.post("late", 13)]) == [None, None]


async def test_deletions_that_came_first_are_forgotten_after_a_day(
    store: SqlStore, stage: Stage, clock: Clock
) -> None:
    await store.turns.commit([delete(11)])
    clock.pass_time(hours=25)
    await store.turns.commit([delete(12)])
    assert await sql(store, "SELECT message_id FROM tombstones") == [(12,)]


async def test_deletions_in_places_without_a_scene_leave_no_trace(store: SqlStore, stage: Stage) -> None:
    await store.scenes.update(stage.scene.id, active=False)
    await store.turns.commit([delete(11)])
    assert await sql(store, "SELECT count(*) FROM tombstones") == [(0,)]


async def test_an_edit_changes_the_words_and_keeps_place_and_speaker(store: SqlStore, stage: Stage) -> None:
    turn = await stage.say("I live in Oslo", 11)
    (outcome,) = await store.turns.commit([edit(11, "I live in Bergen")])
    (edited,) = changed(outcome).turns
    assert (edited.id, edited.text, edited.speaker) == (turn.id, "I live in Bergen", "Ana")
    assert edited.edited_at == NOON + timedelta(minutes=5)
    assert not changed(outcome).removed
    assert changed(outcome).scene_ids == (stage.scene.id,)
    assert changed(outcome).memory_ids == ((await stage.memory_of(turn)).id,)


async def test_an_edit_without_new_words_or_older_than_the_last_changes_nothing(
    store: SqlStore, stage: Stage
) -> None:
    await stage.say("Oslo", 11)
    assert await store.turns.commit([edit(11, "Oslo")]) == [None]
    await store.turns.commit([edit(11, "Bergen", minutes=9)])
    assert await store.turns.commit([edit(11, "Tromsø", minutes=8)]) == [None]


async def test_an_edit_to_nothing_is_a_deletion(store: SqlStore, stage: Stage) -> None:
    await stage.say("Oslo", 11)
    (outcome,) = await store.turns.commit([edit(11, " ")])
    assert changed(outcome).removed
    assert await newest_turns(store, stage.scene.id, 9) == []


async def test_a_deleted_turn_keeps_its_row_and_loses_text_and_name(store: SqlStore, stage: Stage) -> None:
    turn = await stage.say("secret", 11)
    (outcome,) = await store.turns.commit([delete(11, 404)])
    (gone,) = changed(outcome).turns
    assert (gone.id, gone.text, gone.speaker, gone.owner_id) == (turn.id, "", "", 77)
    assert changed(outcome).removed
    assert await store.turns.by_message(11) == gone
    assert await store.turns.commit([edit(11, "back"), delete(11)]) == [None, None]
    (again,) = await store.turns.commit([stage.post("secret", 11)])
    assert again == Recorded(gone, fresh=False)


async def test_a_turn_without_words_can_be_deleted_too(store: SqlStore, stage: Stage) -> None:
    turn = await stage.say("", 11)
    (outcome,) = await store.turns.commit([delete(11)])
    assert [each.id for each in changed(outcome).turns] == [turn.id]
    assert await newest_turns(store, stage.scene.id, 9) == []


async def test_a_members_turn_of_several_messages_changes_as_a_whole(store: SqlStore, stage: Stage) -> None:
    await stage.say("one two", 11, 12)
    (edited,) = await store.turns.commit([edit(12, "three")])
    assert [turn.text for turn in changed(edited).turns] == ["three"]
    (gone,) = await store.turns.commit([delete(11)])
    assert changed(gone).removed


async def test_speakers_are_the_members_in_the_order_they_first_spoke(store: SqlStore, stage: Stage) -> None:
    for number, (owner, name) in enumerate([(8, "Zoe"), (7, "Ana"), (8, "Zoe"), (7, "Rook")], start=1):
        await stage.say("x", number, owner_id=owner, speaker=name)
    await store.turns.commit_reply(stage.spoken("Yes."), ["Yes."], [])
    assert await store.turns.speakers(stage.scene.id) == [(8, "Zoe"), (7, "Ana"), (7, "Rook")]
    await store.turns.commit([delete(2)])
    assert await store.turns.speakers(stage.scene.id) == [(8, "Zoe"), (7, "Rook")]


async def test_waiting_tells_where_turns_are_not_summarised(store: SqlStore, stage: Stage) -> None:
    assert await store.turns.waiting() == []
    await stage.say("one", 1)
    await stage.say("two", 2)
    await stage.say("brb", 3, kind=TurnKind.OUT_OF_CHARACTER)
    assert await store.turns.waiting() == [(TAVERN.id, stage.scene.id, 2)]


async def test_many_messages_deleted_at_once_are_one_outcome(store: SqlStore, stage: Stage) -> None:
    said = [await stage.say(f"line {number}", number) for number in range(1, 8)]
    (outcome,) = await store.turns.commit([delete(*range(1, 7))])
    assert [turn.id for turn in changed(outcome).turns] == [turn.id for turn in said[:6]]
    assert len(changed(outcome).memory_ids) == 6
    assert await newest_turns(store, stage.scene.id, 9) == said[6:]


async def test_newest_are_the_last_ones_oldest_first(store: SqlStore, stage: Stage) -> None:
    said = [await stage.say(f"line {number}", number) for number in range(1, 6)]
    assert await newest_turns(store, stage.scene.id, 3) == said[2:]


async def test_uncovered_leaves_out_what_is_said_out_of_character(store: SqlStore, stage: Stage) -> None:
    one = await stage.say("one", 1)
    await stage.say("brb", 2, kind=TurnKind.OUT_OF_CHARACTER)
    three = await stage.say("night falls", 3, kind=TurnKind.NARRATION)
    assert await store.turns.uncovered(stage.scene.id, 1) == [one]
    assert await store.turns.uncovered(stage.scene.id, 9) == [one, three]
    assert await store.turns.count_uncovered(stage.scene.id) == 2


async def test_unanswered_are_members_turns_newer_than_a_moment(store: SqlStore, stage: Stage) -> None:
    await stage.say("old", 1, created_at=NOON - timedelta(minutes=20))
    two = await stage.say("two", 2)
    three = await stage.say("three", 3)
    reply, _ = await store.turns.commit_reply(stage.spoken("Yes."), ["Yes."], [two.id])
    assert await unanswered_turns(store, stage.scene.id, NOON - timedelta(minutes=10)) == [three]
    await store.turns.settle([three.id, two.id])
    assert await unanswered_turns(store, stage.scene.id, NOON - timedelta(minutes=10)) == []
    marks = {turn.id: turn.answered_by for turn in await store.turns.by_ids([two.id, three.id])}
    assert marks == {two.id: reply.id, three.id: -1}


async def test_a_reply_that_is_deleted_still_counts_as_the_answer(store: SqlStore, stage: Stage) -> None:
    asked = await stage.say("Mira?", 1)
    reply, (row,) = await store.turns.commit_reply(stage.spoken("Yes."), ["Yes."], [asked.id])
    await store.turns.sent(row.id, 2)
    await store.turns.commit([delete(2)])
    assert (await store.turns.by_ids([asked.id]))[0].answered_by == reply.id
    assert await unanswered_turns(store, stage.scene.id, NOON - timedelta(minutes=10)) == []


async def test_unknown_ids_are_left_out(store: SqlStore, stage: Stage) -> None:
    turn = await stage.say("one", 1)
    assert await store.turns.by_ids([turn.id, 999, turn.id]) == [turn]
    assert await store.turns.by_ids([]) == []
    assert await store.turns.by_message(999) is None
    assert await store.turns.commit([]) == []


async def test_the_number_of_a_turn_is_never_used_twice(store: SqlStore, stage: Stage) -> None:
    turn = await stage.say("one", 1)
    await sql(store, "DELETE FROM turns")
    assert (await stage.say("two", 2)).id > turn.id
