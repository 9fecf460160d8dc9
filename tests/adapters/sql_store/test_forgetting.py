"""What an edit, a deletion or a forgotten memory takes with it, in every store."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.adapters.sql_store import SqlStore
from bot.core.events import MessageEdited, MessagesDeleted
from bot.core.types import Line, MemoryKind, Scratchpad, Turn
from tests.adapters.sql_store.helpers import NOON, TAVERN, Stage, changed, emotion
from tests.records import newest_turns, sql

EDIT = MessageEdited(TAVERN.id, 1, "We ride at noon.", NOON + timedelta(hours=1))
DELETE = MessagesDeleted(TAVERN.id, (1,))
BOTH = pytest.mark.parametrize("event", [EDIT, DELETE], ids=["edit", "delete"])


async def noted(stage: Stage) -> tuple[list[Turn], list[Scratchpad]]:
    """Four turns and two revisions; the first turn is named alone, and together with the second."""
    said = [await stage.say(f"line {number}", number) for number in range(1, 5)]
    one, two, three, four = (turn.id for turn in said)
    scenes = stage.store.scenes
    first = await scenes.rewrite(
        await scenes.scratchpad(stage.scene.id),
        [
            Line("now", "A secret.", (one,)),
            Line("now", "Two of them.", (one, two)),
            Line("people", "Ana.", (three,)),
        ],
        [one, two, three],
        [],
    )
    assert first is not None
    second = await scenes.rewrite(
        first,
        [
            Line("people", "Ana.", (three,)),
            Line("now", "Still two of them.", (two, one)),
            Line("now", "Rain.", (four,)),
        ],
        [four],
        [stage.note("A secret.", one, kind=MemoryKind.SNAPSHOT), stage.note("It rains.", four)],
    )
    assert second is not None
    return said, [second, first]


@BOTH
async def test_lines_that_name_the_turn_go_from_every_revision(
    store: SqlStore, stage: Stage, event: MessageEdited | MessagesDeleted
) -> None:
    await noted(stage)
    await store.turns.commit([event])
    left = [[line.text for line in pad.lines] for pad in await store.scenes.revisions(stage.scene.id, 9)]
    assert left == [["Ana.", "Rain."], ["Ana."]]
    assert [line.text for line in (await store.scenes.scratchpad(stage.scene.id)).lines] == ["Ana.", "Rain."]


async def test_the_other_turns_of_removed_lines_wait_to_be_summarised_again(
    store: SqlStore, stage: Stage
) -> None:
    said, _ = await noted(stage)
    assert await store.turns.uncovered(stage.scene.id, 9) == []
    await store.turns.commit([DELETE])
    assert [turn.id for turn in await store.turns.uncovered(stage.scene.id, 9)] == [said[1].id]


async def test_an_edited_turn_waits_to_be_summarised_again(store: SqlStore, stage: Stage) -> None:
    said, _ = await noted(stage)
    await store.turns.commit([EDIT])
    waiting = await store.turns.uncovered(stage.scene.id, 9)
    assert [(turn.id, turn.text) for turn in waiting] == [
        (said[0].id, "We ride at noon."),
        (said[1].id, "line 2"),
    ]


@BOTH
@pytest.mark.parametrize("kind", [kind for kind in MemoryKind if kind is not MemoryKind.TURN])
async def test_memories_of_every_kind_that_name_the_turn_go(
    store: SqlStore, stage: Stage, event: MessageEdited | MessagesDeleted, kind: MemoryKind
) -> None:
    one, two = await stage.say("one", 1), await stage.say("two", 2)
    made, kept = await store.memories.add(
        [stage.note("of both", two.id, one.id, kind=kind), stage.note("of the other", two.id, kind=kind)]
    )
    (outcome,) = await store.turns.commit([event])
    own = set(changed(outcome).memory_ids) - {made.id}
    assert len(own) == 1
    assert made.id in changed(outcome).memory_ids
    assert await store.memories.by_ids([made.id, kept.id]) == [kept]
    assert {memory for _, memory in await store.memories.to_erase(9)} == {made.id, *own}


@BOTH
async def test_samples_of_the_turn_go(
    store: SqlStore, stage: Stage, event: MessageEdited | MessagesDeleted
) -> None:
    one, two = await stage.say("one", 1), await stage.say("two", 2)
    for text, turn_id in (("one", one.id), ("two", two.id), ("from the card", None)):
        await store.personas.add_sample(stage.persona.id, text, turn_id)
    await store.turns.commit([event])
    assert [sample.text for sample in await store.personas.samples(stage.persona.id)] == [
        "two",
        "from the card",
    ]


async def test_an_edited_turns_memory_is_encoded_again_once_its_old_key_is_gone(
    store: SqlStore, stage: Stage
) -> None:
    memory = await stage.memory_of(await stage.say("one", 1))
    await store.memories.indexed("enc", {memory.id: (emotion(7), "model:x")}, [memory.id])
    await store.turns.commit([EDIT])
    assert await store.memories.to_index("enc", 9) == []
    assert await store.memories.count_to_index("enc") == 1
    assert await store.memories.to_erase(9) == [(stage.scene.space_id, memory.id)]
    await store.memories.erased([memory.id])
    (again,) = await store.memories.to_index("enc", 9)
    assert (again.id, again.text, again.emotion, again.emotion_source) == (memory.id, EDIT.text, None, None)


async def test_what_was_encoded_from_old_words_is_not_marked(store: SqlStore, stage: Stage) -> None:
    await stage.say("one", 1)
    (handed_out,) = await store.memories.to_index("enc", 9)
    await store.turns.commit([EDIT])
    await store.memories.indexed("enc", {handed_out.id: (emotion(), "head:a")}, [handed_out.id])
    await store.memories.erased([handed_out.id])
    assert [memory.text for memory in await store.memories.to_index("enc", 9)] == [EDIT.text]
    assert (await store.memories.by_ids([handed_out.id]))[0].emotion is None


async def test_a_deleted_turns_memory_is_gone(store: SqlStore, stage: Stage) -> None:
    memory = await stage.memory_of(await stage.say("one", 1))
    await store.turns.commit([DELETE])
    assert await store.memories.by_ids([memory.id]) == []
    assert await store.memories.of_story(stage.scene.story_id) == []
    assert await store.memories.to_index("enc", 9) == []
    assert await store.memories.to_erase(9) == [(stage.scene.space_id, memory.id)]


async def test_removing_a_turns_memory_is_like_deleting_the_turn(store: SqlStore, stage: Stage) -> None:
    said, _ = await noted(stage)
    await store.memories.remove([(await stage.memory_of(said[0])).id])
    (gone,) = await store.turns.by_ids([said[0].id])
    assert (gone.text, gone.speaker) == ("", "")
    assert [line.text for line in (await store.scenes.scratchpad(stage.scene.id)).lines] == ["Ana.", "Rain."]
    assert [turn.id for turn in await newest_turns(store, stage.scene.id, 9)] == [
        turn.id for turn in said[1:]
    ]
    texts = {memory.text for memory in await store.memories.of_story(stage.scene.story_id)}
    assert texts == {"line 2", "line 3", "line 4", "It rains."}


async def test_removing_another_memory_leaves_the_turn(store: SqlStore, stage: Stage) -> None:
    turn = await stage.say("one", 1)
    (fact,) = await store.memories.add([stage.note("a fact", turn.id)])
    await store.memories.remove([fact.id, 999])
    assert await store.turns.by_ids([turn.id]) == [turn]
    assert await store.memories.to_erase(9) == [(stage.scene.space_id, fact.id)]


async def test_deleting_the_newer_fact_reinstates_the_older(store: SqlStore, stage: Stage) -> None:
    old, new = await store.memories.add(
        [stage.note("The horse is Storm."), stage.note("The horse is Ember.")]
    )
    await sql(store, "UPDATE memories SET superseded_by = ? WHERE id = ?", (new.id, old.id))
    assert (await store.memories.by_ids([old.id]))[0].superseded_by == new.id
    await store.memories.remove([new.id])
    assert (await store.memories.by_ids([old.id]))[0].superseded_by is None


async def test_a_rewrite_over_a_turn_changed_meanwhile_is_refused(store: SqlStore, stage: Stage) -> None:
    one, two = await stage.say("one", 1), await stage.say("two", 2)
    before = await store.scenes.scratchpad(stage.scene.id)
    await store.turns.commit([EDIT])
    for covers, sources in (([one.id], two.id), ([two.id], one.id)):
        lines = [Line("now", "…", (sources,))]
        assert await store.scenes.rewrite(before, lines, covers, []) is None
    snapshot = stage.note("…", one.id, kind=MemoryKind.SNAPSHOT)
    assert await store.scenes.rewrite(before, [Line("now", "…", (two.id,))], [], [snapshot]) is None
    assert await store.scenes.revisions(stage.scene.id, 9) == []
    assert len(await store.memories.of_story(stage.scene.story_id)) == 2
    unrelated = await store.scenes.rewrite(before, [Line("now", "…", (two.id,))], [two.id], [])
    assert unrelated is not None


async def test_a_rewrite_over_a_deleted_turn_is_refused_whenever_it_went(
    store: SqlStore, stage: Stage
) -> None:
    one = await stage.say("one", 1)
    await store.turns.commit([DELETE])
    before = await store.scenes.scratchpad(stage.scene.id)
    assert await store.scenes.rewrite(before, [Line("now", "…", (one.id,))], [one.id], []) is None


async def test_an_edit_before_the_reading_does_not_matter(store: SqlStore, stage: Stage) -> None:
    one = await stage.say("one", 1)
    await store.turns.commit([EDIT])
    before = await store.scenes.scratchpad(stage.scene.id)
    after = await store.scenes.rewrite(before, [Line("now", "…", (one.id,))], [one.id], [])
    assert after is not None
    assert await store.turns.count_uncovered(stage.scene.id) == 0


async def test_a_rewrite_of_an_older_revision_is_refused(store: SqlStore, stage: Stage) -> None:
    one = await stage.say("one", 1)
    before = await store.scenes.scratchpad(stage.scene.id)
    assert await store.scenes.rewrite(before, [Line("now", "a", (one.id,))], [], []) is not None
    assert await store.scenes.rewrite(before, [Line("now", "b", (one.id,))], [one.id], []) is None
    assert [line.text for line in (await store.scenes.scratchpad(stage.scene.id)).lines] == ["a"]
    assert await store.turns.count_uncovered(stage.scene.id) == 1


@BOTH
async def test_rewrites_go_on_after_lines_were_removed(
    store: SqlStore, stage: Stage, event: MessageEdited | MessagesDeleted
) -> None:
    said, _ = await noted(stage)
    await store.turns.commit([event])
    before = await store.scenes.scratchpad(stage.scene.id)
    after = await store.scenes.rewrite(
        before, [*before.lines, Line("now", "New.", (said[1].id,))], [said[1].id], []
    )
    assert after is not None
    assert after == await store.scenes.scratchpad(stage.scene.id)
    assert [line.text for line in after.lines] == ["Ana.", "Rain.", "New."]
