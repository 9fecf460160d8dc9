"""Facts by whom they are about, newer ones that replace older ones, and what deletions do to both."""

from __future__ import annotations

from typing import Any

from bot.adapters.sql_store import SqlStore
from bot.core.events import MessagesDeleted
from bot.core.knowledge import Entity, EntityKind, FactDraft
from bot.core.types import Memory, MemoryDraft
from tests.adapters.sql_store.helpers import TAVERN, Stage

ANA = Entity(EntityKind.MEMBER, "Ana", owner_id=77)


def fact(stage: Stage, text: str, *sources: int, about: Entity | None = ANA, **changes: Any) -> FactDraft:
    plain = stage.note(text, *sources, **changes)
    values = {name: getattr(plain, name) for name in MemoryDraft.__dataclass_fields__}
    return FactDraft(**values, entity=about)


def replacing(stage: Stage, text: str, *older: Memory, source: int = 0) -> FactDraft:
    draft = fact(stage, text, *([source] if source else []))
    values = {name: getattr(draft, name) for name in FactDraft.__dataclass_fields__}
    return FactDraft(**{**values, "replaces": tuple(memory.id for memory in older)})


async def successors(store: SqlStore, *memories: Memory) -> list[int | None]:
    found = await store.memories.by_ids([memory.id for memory in memories])
    return [memory.superseded_by for memory in found]


async def test_facts_are_kept_by_whom_they_are_about(store: SqlStore, stage: Stage) -> None:
    other = Entity(EntityKind.MEMBER, "Ana", owner_id=78)
    key = Entity(EntityKind.THING, "silver key")
    await store.memories.add(
        [
            fact(stage, "Ana sings."),
            fact(stage, "Ana limps.", about=other),
            fact(stage, "It glows.", about=key),
        ]
    )
    await store.memories.add([fact(stage, "Ana is hungry.")])
    known = await store.knowledge.entities(stage.scene.story_id)
    assert [(one.name, one.owner_id) for one in known] == [("Ana", 77), ("Ana", 78), ("silver key", 0)]
    facts = await store.knowledge.facts_about([known[0].id], present_only=True)
    assert [one.memory.text for one in facts] == ["Ana sings.", "Ana is hungry."]
    assert facts[0].entity == known[0]


async def test_a_persona_stays_the_same_entity_under_a_new_name(store: SqlStore, stage: Stage) -> None:
    for name in ("Mira", "Mira Vale"):
        await store.memories.add([fact(stage, "x", about=Entity(EntityKind.PERSONA, name, persona_id=1))])
    (known,) = await store.knowledge.entities(stage.scene.story_id)
    assert known.name == "Mira Vale"


async def test_the_older_is_marked_and_stands_again_when_the_newer_is_deleted(
    store: SqlStore, stage: Stage
) -> None:
    turn = await stage.say("Storm died, my horse is Ember now.", 1)
    (old,) = await store.memories.add([fact(stage, "Her horse is Storm.")])
    (new,) = await store.memories.add([replacing(stage, "Her horse is Ember.", old, source=turn.id)])
    assert await successors(store, old, new) == [new.id, None]
    present = await store.knowledge.facts_about([1], present_only=True)
    assert [one.memory.text for one in present] == ["Her horse is Ember."]
    await store.turns.commit([MessagesDeleted(TAVERN.id, (1,))])
    assert await successors(store, old) == [None]


async def test_deleting_the_middle_of_a_line_leaves_the_newest_in_force(
    store: SqlStore, stage: Stage
) -> None:
    (first,) = await store.memories.add([fact(stage, "one")])
    (second,) = await store.memories.add([replacing(stage, "two", first)])
    (third,) = await store.memories.add([replacing(stage, "three", second)])
    await store.memories.remove([second.id])
    assert await successors(store, first, third) == [third.id, None]
    await store.memories.remove([third.id])
    assert await successors(store, first) == [None]


async def test_a_whole_line_goes_at_once(store: SqlStore, stage: Stage) -> None:
    (first,) = await store.memories.add([fact(stage, "one")])
    (second,) = await store.memories.add([replacing(stage, "two", first)])
    (third,) = await store.memories.add([replacing(stage, "three", second)])
    await store.memories.remove([second.id, third.id])
    assert await successors(store, first) == [None]


async def test_a_fact_replaces_nothing_of_another_story(store: SqlStore, stage: Stage) -> None:
    (old,) = await store.memories.add([fact(stage, "one")])
    elsewhere = await store.scenes.start(
        TAVERN, name="Elsewhere", location="", situation="", story="another", after=0
    )
    await store.memories.add([replacing(Stage(store, elsewhere, stage.persona), "two", old)])
    assert await successors(store, old) == [None]


async def test_an_entity_goes_with_the_last_fact_about_it(store: SqlStore, stage: Stage) -> None:
    turn = await stage.say("I am Ana.", 1)
    await store.memories.add([fact(stage, "Ana is here.", turn.id)])
    (kept,) = await store.memories.add([fact(stage, "Ana is polite.")])
    await store.turns.commit([MessagesDeleted(TAVERN.id, (1,))])
    assert len(await store.knowledge.entities(stage.scene.story_id)) == 1
    await store.memories.remove([kept.id])
    assert await store.knowledge.entities(stage.scene.story_id) == []


async def test_a_reworded_fact_is_encoded_anew(store: SqlStore, stage: Stage) -> None:
    (old,) = await store.memories.add([fact(stage, "Ana is rude.")])
    await store.memories.indexed("hash:8", {}, [old.id])
    again = await store.knowledge.reword(old.id, "Ana is polite.")
    assert again is not None
    assert again.text == "Ana is polite."
    assert await store.memories.to_erase(9) == [(9, old.id)]
    known = await store.knowledge.fact(old.id)
    assert known is not None
    assert (known.memory.text, known.entity.name) == ("Ana is polite.", "Ana")


async def test_a_turns_words_are_not_reworded_here(store: SqlStore, stage: Stage) -> None:
    await stage.say("Good evening.", 1)
    assert await store.knowledge.reword(1, "Good night.") is None
