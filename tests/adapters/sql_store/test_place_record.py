"""What a place reads when it wakes, and which places have a reason to."""

from __future__ import annotations

from datetime import timedelta

from bot.adapters.sql_store import SqlStore
from bot.core.stores import LONG_STORY
from bot.core.types import Alias, Line, Persona, Place, TurnKind
from tests.adapters.sql_store.helpers import NOON, TAVERN, Stage, persona, set_stage

SINCE = NOON - timedelta(minutes=10)


async def test_a_place_without_a_scene_has_no_record(store: SqlStore) -> None:
    assert await store.scenes.record(TAVERN.id, turns=9, since=SINCE) is None


async def test_the_record_holds_all_that_belongs_to_the_active_scene(store: SqlStore) -> None:
    cast = [await store.personas.create(persona(name)) for name in ("Zoe", "Mira")]
    stage = await set_stage(store, who=cast)
    elsewhere = await set_stage(store, Place(501, 9, "cellar"), who=cast)
    await elsewhere.say("Not here.", 90)
    for owner_id, name in ((7, "Rook"), (8, "Bishop")):
        await store.scenes.set_alias(Alias(stage.scene.id, owner_id, name))
    await store.scenes.set_mood(stage.scene.id, cast[1].id, "{1}")
    one = await stage.say("one", 1, witnesses=(cast[0].id,))
    two = await stage.say("two", 2, owner_id=8, speaker="Bishop")
    aside = await stage.say("(aside)", 3, kind=TurnKind.OUT_OF_CHARACTER)
    pad = await store.scenes.rewrite(
        await store.scenes.scratchpad(stage.scene.id), [Line("now", "a", (one.id,))], [one.id], []
    )
    reply, _ = await store.turns.commit_reply(stage.spoken("Yes."), ["Yes."], [one.id])
    record = await store.scenes.record(TAVERN.id, turns=3, since=SINCE)
    assert record is not None
    assert record.scene == await store.scenes.get(stage.scene.id)
    assert record.personas == tuple(cast)
    assert [alias.name for alias in record.aliases] == ["Bishop", "Rook"]
    assert record.scratchpad == pad
    assert record.witnesses == {one.id: frozenset({cast[0].id})}
    assert record.moods == {cast[1].id: "{1}"}
    assert record.speakers == ((77, "Ana"), (8, "Bishop"))
    assert [turn.id for turn in record.newest] == [two.id, aside.id, reply.id]
    assert record.unanswered == (two, aside)
    assert record.uncovered == 2  # what Bishop said and the reply
    assert not record.is_long


async def test_a_story_is_long_beyond_so_many_memories(store: SqlStore, stage: Stage) -> None:
    await store.turns.commit([stage.post(f"line {number}", number) for number in range(1, LONG_STORY + 1)])
    record = await store.scenes.record(TAVERN.id, turns=1, since=SINCE)
    assert record is not None
    assert not record.is_long
    await stage.say("one more", LONG_STORY + 1)
    record = await store.scenes.record(TAVERN.id, turns=1, since=SINCE)
    assert record is not None
    assert record.is_long


async def test_only_places_that_owe_an_answer_are_named(store: SqlStore) -> None:
    owing, answered, pausing, late, waits = [
        await set_stage(store, Place(600 + number, 9, f"room {number}"), who=[await _someone(store, number)])
        for number in range(5)
    ]
    for number, stage in enumerate((owing, answered, pausing, waits)):
        turn = await stage.say("Hello?", number + 1)
        if stage is answered:
            await store.turns.settle([turn.id])
    await late.say("Hello?", 9, created_at=SINCE - timedelta(seconds=1))
    await answered.say("Good evening.", 10, owner_id=0, persona_id=answered.persona.id)
    await store.scenes.update(pausing.scene.id, paused=True)
    await store.scenes.start(
        Place(604, 9, "room 4"), name="Next", location="", situation="", story=None, after=0
    )
    assert await store.scenes.owing(SINCE) == [owing.scene.place_id]


async def _someone(store: SqlStore, number: int) -> Persona:
    return await store.personas.create(persona(f"Persona {number}"))
