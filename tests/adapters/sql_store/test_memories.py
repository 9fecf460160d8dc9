"""Long-term memories and the work left for the index."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta, timezone

import numpy as np
import pytest

from bot.adapters.sql_store import SqlStore
from bot.core.types import Memory, MemoryKind, Place
from bot.core.vectors import Vector
from bot.errors import StorageError
from tests.adapters.sql_store.helpers import NOON, Clock, Stage, emotion, persona, set_stage
from tests.records import sql

CELLAR = Place(id=501, guild_id=9, name="cellar")


def rounded(vector: Vector | None) -> list[float] | None:
    return None if vector is None else [round(float(value), 4) for value in vector]


async def only(store: SqlStore, memory_id: int) -> Memory:
    (memory,) = await store.memories.by_ids([memory_id])
    return memory


async def test_a_turns_memory_is_made_with_it_and_speaks_its_words(store: SqlStore, stage: Stage) -> None:
    turn = await stage.say("The king is dead.", 1)
    memory = await stage.memory_of(turn)
    assert (memory.kind, memory.text, memory.speaker) == (MemoryKind.TURN, "The king is dead.", "Ana")
    assert (memory.turn_id, memory.sources, memory.owner_ids) == (turn.id, (turn.id,), (77,))
    assert (memory.space_id, memory.place_id, memory.scene_id, memory.story_id) == (
        turn.space_id,
        turn.place_id,
        turn.scene_id,
        turn.story_id,
    )
    assert (memory.witnesses, memory.created_at, memory.emotion) == (turn.witnesses, turn.created_at, None)


async def test_the_words_of_a_turn_are_stored_once(store: SqlStore, stage: Stage) -> None:
    await stage.say("The king is dead.", 1)
    assert await sql(store, "SELECT text FROM memories") == [(None,)]


async def test_a_personas_own_turn_has_no_owner(store: SqlStore, stage: Stage) -> None:
    turn, _ = await store.turns.commit_reply(stage.spoken("Yes."), ["Yes."], [])
    assert (await stage.memory_of(turn)).owner_ids == ()


async def test_other_memories_are_read_as_they_were_added(store: SqlStore, stage: Stage) -> None:
    one, two = await stage.say("one", 1), await stage.say("two", 2)
    draft = stage.note(
        "Ana fears the cellar.",
        two.id,
        one.id,
        owner_ids=(78, 77),
        subject="Ana",
        speaker="Mira",
        story_time="the night of the feast",
        importance=0.75,
        witnesses=(8, 3),
        created_at=NOON.astimezone(timezone(timedelta(hours=7))),
    )
    (made,) = await store.memories.add([draft])
    assert made == await only(store, made.id)
    assert (made.sources, made.owner_ids, made.witnesses) == ((one.id, two.id), (77, 78), (3, 8))
    assert (made.subject, made.story_time, made.importance) == ("Ana", "the night of the feast", 0.75)
    assert made.created_at == NOON
    assert made.created_at.tzinfo is UTC


async def test_an_emotion_comes_back_as_it_went(store: SqlStore, stage: Stage) -> None:
    numbers = np.linspace(1, 10, 8, dtype=np.float32)
    (made,) = await store.memories.add([stage.note("x", emotion=numbers, emotion_source="model:x")])
    found = await only(store, made.id)
    assert found.emotion is not None
    assert found.emotion.dtype == np.float32
    assert np.array_equal(found.emotion, numbers)
    assert found.emotion_source == "model:x"


async def test_what_cannot_be_stored_is_refused(store: SqlStore, stage: Stage) -> None:
    with pytest.raises(ValueError, match="together with its turn"):
        await store.memories.add([stage.note("x", kind=MemoryKind.TURN)])
    with pytest.raises(StorageError, match="zone"):
        await store.memories.add([stage.note("x", created_at=NOON.replace(tzinfo=None))])
    with pytest.raises(StorageError):
        await store.memories.add([stage.note("x", 404)])
    assert await store.memories.of_story(stage.scene.story_id) == []
    assert await store.memories.add([]) == []


async def test_a_story_is_read_in_pages(store: SqlStore, stage: Stage) -> None:
    for number in range(1, 8):
        await stage.say(f"line {number}", number)
    await (await set_stage(store, CELLAR, who=[stage.persona])).say("elsewhere", 99)
    await store.memories.add([stage.note("fact")])
    pages: list[list[str]] = []
    after = 0
    while page := await store.memories.of_story(stage.scene.story_id, after_id=after, limit=3):
        pages.append([memory.text for memory in page])
        after = page[-1].id
    assert pages == [["line 1", "line 2", "line 3"], ["line 4", "line 5", "line 6"], ["line 7", "fact"]]


async def test_by_ids_gives_each_once_in_order(store: SqlStore, stage: Stage) -> None:
    ids = [(await stage.memory_of(await stage.say(f"{number}", number))).id for number in range(1, 4)]
    found = await store.memories.by_ids([ids[2], 404, ids[0], ids[2]])
    assert [memory.id for memory in found] == [ids[0], ids[2]]
    assert await store.memories.by_ids([]) == []


async def test_equal_sets_of_witnesses_are_one_audience(store: SqlStore, stage: Stage) -> None:
    turns = [
        await stage.say("x", number, witnesses=witnesses)
        for number, witnesses in enumerate([(3, 5), (5, 3), (3,), ()], start=1)
    ]
    first, second, third, nobody = [(await stage.memory_of(turn)).audience_id for turn in turns]
    assert first == second
    assert len({first, third, nobody}) == 3
    assert await store.memories.audiences_with(3) == tuple(sorted({first, third}))
    assert await store.memories.audiences_with(5) == (first,)
    assert await store.memories.audiences_with(404) == ()
    assert await store.memories.audiences_of(stage.scene.story_id) == tuple(sorted({first, third, nobody}))
    assert await store.memories.audiences_of(404) == ()


async def test_memories_wait_until_the_encoder_has_seen_them(store: SqlStore, stage: Stage) -> None:
    ids = [(await stage.memory_of(await stage.say(f"{number}", number))).id for number in range(1, 6)]
    assert [memory.id for memory in await store.memories.to_index("b", 2)] == ids[:2]
    await store.memories.indexed("b", {}, ids[:4])
    assert [memory.id for memory in await store.memories.to_index("b", 9)] == ids[4:]
    assert await store.memories.count_to_index("b") == 1


async def test_what_waits_of_a_space_is_indexed_together(store: SqlStore, stage: Stage) -> None:
    elsewhere = await set_stage(store, Place(900, 10, "cellar"))
    ids = [
        (await one.memory_of(await one.say("x", number))).id
        for number, one in enumerate([stage, elsewhere] * 3, 1)
    ]
    here, there = ids[::2], ids[1::2]
    assert [memory.id for memory in await store.memories.to_index("b", 3)] == here
    assert [memory.id for memory in await store.memories.to_index("b", 4)] == sorted([*here, there[0]])
    await store.memories.indexed("b", {}, here)
    assert [memory.id for memory in await store.memories.to_index("b", 4)] == there


@pytest.mark.parametrize("other", ["a", "c", "B"])
async def test_another_encoder_starts_over(store: SqlStore, stage: Stage, other: str) -> None:
    ids = [(await stage.memory_of(await stage.say(f"{number}", number))).id for number in range(1, 6)]
    await store.memories.indexed("b", {}, ids[1:3])
    assert [memory.id for memory in await store.memories.to_index(other, 4)] == ids[:4]
    assert await store.memories.count_to_index(other) == 5


async def test_the_index_can_be_restarted(store: SqlStore, stage: Stage) -> None:
    ids = [(await stage.memory_of(await stage.say(f"{number}", number))).id for number in range(1, 4)]
    await store.memories.indexed("b", {ids[0]: (emotion(4), "head:1")}, ids)
    assert await store.memories.restart_index() == 3
    assert [memory.id for memory in await store.memories.to_index("b", 9)] == ids
    assert rounded((await only(store, ids[0])).emotion) == [4.0] * 8


async def test_a_heads_numbers_give_way_to_the_models_and_never_back(store: SqlStore, stage: Stage) -> None:
    turn = await stage.say("one", 1)
    memory = await stage.memory_of(turn)

    async def stored() -> tuple[list[float] | None, str | None]:
        found = await only(store, memory.id)
        return rounded(found.emotion), found.emotion_source

    await store.memories.indexed("b", {memory.id: (emotion(2), "head:1")}, [memory.id])
    assert await stored() == ([2.0] * 8, "head:1")
    await store.memories.indexed("c", {memory.id: (emotion(3), "head:2")}, [memory.id])
    assert await stored() == ([3.0] * 8, "head:2")
    await store.memories.set_emotions({turn.id: (emotion(7), "model:x"), 404: (emotion(7), "model:x")})
    assert await stored() == ([7.0] * 8, "model:x")
    await store.memories.indexed("d", {memory.id: (emotion(4), "head:3")}, [memory.id])
    assert await stored() == ([7.0] * 8, "model:x")


async def test_feelings_told_for_words_that_a_turn_no_longer_has_are_not_kept(
    store: SqlStore, stage: Stage
) -> None:
    turn, other = await stage.say("one", 1), await stage.say("two", 2)
    memory, second = await stage.memory_of(turn), await stage.memory_of(other)
    told = {turn.id: (emotion(7), "model:x"), other.id: (emotion(6), "model:x")}
    kept = await store.memories.set_emotions(told, said={turn.id: "another one", other.id: "two"})
    assert kept == {other.id: second.id}
    assert (await only(store, memory.id)).emotion is None
    assert rounded((await only(store, second.id)).emotion) == [6.0] * 8


async def test_nothing_is_added_that_was_made_of_what_changed_or_is_gone(
    store: SqlStore, stage: Stage
) -> None:
    memory = await stage.memory_of(await stage.say("one", 1))
    thought = stage.note("a thought", *memory.sources)
    assert await store.memories.add([thought], made_of={memory.id: "another one"}) == []
    assert await store.memories.add([thought], made_of={memory.id: "one", 404: "two"}) == []
    (made,) = await store.memories.add([thought], made_of={memory.id: "one"})
    assert made == await only(store, made.id)


async def test_turns_lead_to_their_memories(store: SqlStore, stage: Stage) -> None:
    one, two = await stage.say("one", 1), await stage.say("two", 2)
    found = await store.memories.of_turns([one.id, two.id, 404])
    assert {turn: (await only(store, memory)).turn_id for turn, memory in found.items()} == {
        one.id: one.id,
        two.id: two.id,
    }


async def test_bytes_wait_for_a_rewrite_since_their_removal_was_asked_for(
    store: SqlStore, stage: Stage, clock: Clock
) -> None:
    first, second, third = [(await stage.memory_of(await stage.say("x", number))).id for number in (1, 2, 3)]
    asked = clock.now
    await store.memories.remove([first])
    clock.pass_time(hours=1)
    await store.memories.remove([second])
    assert await store.memories.to_rewrite() == []
    assert await store.memories.to_erase(1) == [(9, first)]
    await store.memories.erased([first, second])
    assert await store.memories.to_erase(9) == []
    assert await store.memories.to_rewrite() == [(9, asked)]
    started = clock.pass_time(minutes=1)
    clock.pass_time(minutes=1)
    await store.memories.remove([third])
    await store.memories.erased([third])
    await store.memories.rewritten(9, started)
    assert await store.memories.to_rewrite() == [(9, clock.now)]
    await store.memories.rewritten(10, clock.now)
    assert await store.memories.to_rewrite() == [(9, clock.now)]
    await store.memories.rewritten(9, clock.now)
    assert await store.memories.to_rewrite() == []


async def test_spaces_are_rewritten_apart(store: SqlStore, stage: Stage, clock: Clock) -> None:
    other = await set_stage(
        store, Place(id=600, guild_id=10, name="x"), who=[await store.personas.create(persona(space_id=10))]
    )
    for each, number in ((other, 1), (stage, 2)):
        memory = await each.memory_of(await each.say("x", number))
        await store.memories.remove([memory.id])
        await store.memories.erased([memory.id])
        clock.pass_time(hours=1)
    assert await store.memories.to_rewrite() == [
        (10, clock.now - timedelta(hours=2)),
        (9, clock.now - timedelta(hours=1)),
    ]
    await store.memories.rewritten(10, clock.now)
    assert [space for space, _ in await store.memories.to_rewrite()] == [9]


async def test_a_memory_keeps_what_an_unrelated_change_leaves(store: SqlStore, stage: Stage) -> None:
    (made,) = await store.memories.add([stage.note("x", importance=0.5)])
    await store.memories.indexed("b", {}, [made.id])
    assert await only(store, made.id) == replace(made)
