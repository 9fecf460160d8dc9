"""Recalled words that are no longer true say so, for those who heard what replaced them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from bot.core.knowledge import Entity, EntityKind, FactDraft
from bot.core.types import Memory, MemoryKind, Turn
from bot.engine.outdated import NOTHING, outdated
from tests.engine.stage import ALICE, TAVERN, Stage, open_stage

ALICE_HERSELF = Entity(EntityKind.MEMBER, "Alice", owner_id=ALICE)


async def fact(stage: Stage, text: str, turn: Turn, replaces: tuple[int, ...] = ()) -> Memory:
    """A fact that was made of a turn and replaces others."""
    (made,) = await stage.store.memories.add(
        [
            FactDraft(
                kind=MemoryKind.FACT,
                space_id=turn.space_id,
                place_id=turn.place_id,
                story_id=turn.story_id,
                scene_id=turn.scene_id,
                text=text,
                created_at=turn.created_at,
                witnesses=turn.witnesses,
                sources=(turn.id,),
                owner_ids=(ALICE,),
                entity=ALICE_HERSELF,
                replaces=replaces,
            )
        ]
    )
    return made


async def said(stage: Stage, text: str, days_ago: int = 0) -> tuple[Turn, Memory]:
    message = stage.say(text, created_at=stage.clock() - timedelta(days=days_ago))
    await stage.quiet()
    turn = await stage.store.turns.by_message(message)
    assert turn is not None
    ids = await stage.store.memories.of_turns([turn.id])
    (memory,) = await stage.store.memories.by_ids(ids.values())
    return turn, memory


def by_id(*memories: Memory) -> dict[int, Memory]:
    return {memory.id: memory for memory in memories}


async def test_a_turn_whose_only_fact_was_replaced_points_to_what_holds_now(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        (old_turn, old), (mid_turn, mid) = (
            await said(stage, "My horse is Storm.", 9),
            await said(stage, "It is Gale.", 5),
        )
        new_turn, new = await said(stage, "Ember is my horse.", 2)
        storm = await fact(stage, "Alice's horse is Storm.", old_turn)
        assert await outdated(stage.store.memories, by_id(old, mid, new), lambda _: True) is NOTHING
        gale = await fact(stage, "Alice's horse is Gale.", mid_turn, (storm.id,))
        ember = await fact(stage, "Alice's horse is Ember.", new_turn, (gale.id,))
        found = await outdated(stage.store.memories, by_id(old, mid, new), lambda _: True)
        assert {key: one.id for key, one in found.replaced.items()} == {old.id: ember.id, mid.id: ember.id}
        assert found.partly == {}


async def test_what_the_persona_never_heard_replaces_nothing(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        old_turn, old = await said(stage, "My horse is Storm.", 9)
        new_turn, new = await said(stage, "Ember is my horse.", 2)
        storm = await fact(stage, "Alice's horse is Storm.", old_turn)
        ember = await fact(stage, "Alice's horse is Ember.", new_turn, (storm.id,))
        found = await outdated(stage.store.memories, by_id(old, new), lambda one: one.id != ember.id)
        assert (found.replaced, found.partly) == ({}, {})


async def test_a_turn_that_still_holds_in_part_says_so(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        old_turn, old = await said(stage, "My horse is Storm, and I live at the mill.", 9)
        new_turn, _ = await said(stage, "Ember is my horse.", 2)
        storm = await fact(stage, "Alice's horse is Storm.", old_turn)
        await fact(stage, "Alice lives at the mill.", old_turn)
        ember = await fact(stage, "Alice's horse is Ember.", new_turn, (storm.id,))
        found = await outdated(stage.store.memories, by_id(old), lambda _: True)
        assert found.replaced == {}
        assert found.partly == {old.id: ember.created_at}


async def test_what_one_turn_corrects_within_itself_is_no_older_thing(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        turn, memory = await said(stage, "My horse is Storm. No, Ember!", 9)
        storm = await fact(stage, "Alice's horse is Storm.", turn)
        await fact(stage, "Alice's horse is Ember.", turn, (storm.id,))
        found = await outdated(stage.store.memories, by_id(memory), lambda _: True)
        assert found.replaced == {}


async def test_the_prompt_tags_the_words_and_brings_what_holds_now(tmp_path: Path) -> None:
    async with open_stage(tmp_path, context_tokens=1400) as stage:
        await stage.scene(await stage.persona())
        old_turn, _ = await said(stage, "They call my grey horse Storm, the beast of the northern hills.", 9)
        both_turn, _ = await said(stage, "My boat is called Gull, and my horse likes apples.", 8)
        new_turn, _ = await said(stage, "My mare is called Ember from this day on.", 2)
        storm = await fact(stage, "Alice's horse is called Storm.", old_turn)
        gull = await fact(stage, "Alice's boat is called Gull.", both_turn)
        await fact(stage, "Alice's horse likes apples.", both_turn)
        await fact(stage, "Alice's horse is called Ember.", new_turn, (storm.id,))
        await fact(stage, "Alice's boat is called Heron.", new_turn, (gull.id,))
        await stage.troupe.options.set(TAVERN.space_id, 0, "member_rate", "0")
        for number in range(60):
            stage.say(f"The {number}th cup of wine is poured and somebody sings about it.", by=102)
        await stage.quiet()
        stage.say("Mira, saddle my grey horse, the beast of the hills, and fetch my boat.")
        await stage.quiet()
        notes = stage.model.of("reply")[-1].messages[-1].content
        lines = {line.split(": ", 1)[1]: line for line in notes.split("\n") if line.startswith("- ")}
        assert lines["They call my grey horse Storm, the beast of the northern hills."].startswith(
            "- [earlier, until 2 days ago] 9 days ago"
        )
        assert "Alice's horse is called Ember." in lines
        partly = lines["My boat is called Gull, and my horse likes apples."]
        assert partly.startswith("- [in part earlier, until 2 days ago] 8 days ago")
        stage.delete(new_turn.message_ids[0])
        await stage.quiet()
        stage.say("Mira, my grey horse, the beast of the hills, and my boat, please.")
        await stage.quiet()
        assert "earlier" not in stage.model.of("reply")[-1].messages[-1].content
