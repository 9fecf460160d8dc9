"""Triggers: kept with their turns' memories, handed to the indexer, gone with any of their turns."""

from __future__ import annotations

import pytest

from bot.adapters.sql_store import SqlStore
from bot.core.events import MessageEdited, MessagesDeleted
from bot.core.types import Trigger, Turn
from tests.adapters.sql_store.helpers import NOON, TAVERN, Stage

EDIT = MessageEdited(TAVERN.id, 2, "The horse is well.", NOON)
DELETE = MessagesDeleted(TAVERN.id, (2,))
ENCODER = "hash:8"


async def triggered(stage: Stage, *texts: str) -> list[Turn]:
    """Three indexed turns; the texts lead to the first two."""
    said = [await stage.say(f"line {number}", number) for number in (1, 2, 3)]
    memories = stage.store.memories
    await memories.indexed(ENCODER, {}, [memory.id for memory in await memories.of_story(1)])
    scenes = stage.store.scenes
    sources = (said[0].id, said[1].id)
    after = await scenes.rewrite(
        await scenes.scratchpad(stage.scene.id), [], [], [], [Trigger(text, sources) for text in texts]
    )
    assert after is not None
    return said


async def test_a_trigger_leads_to_the_memories_of_its_turns_which_are_indexed_again(
    store: SqlStore, stage: Stage
) -> None:
    await triggered(stage, "somebody speaks of riding", "a stable burns")
    waiting = [memory.id for memory in await store.memories.to_index(ENCODER, 9)]
    assert waiting == [1, 2]
    both = ("somebody speaks of riding", "a stable burns")
    assert await store.memories.triggers([1, 2, 3]) == {1: both, 2: both}


@pytest.mark.parametrize("event", [EDIT, DELETE], ids=["edit", "delete"])
async def test_a_trigger_goes_with_any_of_its_turns_and_its_key_is_erased(
    store: SqlStore, stage: Stage, event: MessageEdited | MessagesDeleted
) -> None:
    await triggered(stage, "somebody speaks of riding")
    await store.memories.indexed(ENCODER, {}, [1, 2])
    await store.turns.commit([event])
    assert await store.memories.triggers([1, 2]) == {}
    assert {memory for _, memory in await store.memories.to_erase(9)} == {1, 2}
    await store.memories.erased([1, 2])
    assert 1 in [memory.id for memory in await store.memories.to_index(ENCODER, 9)]


async def test_a_trigger_that_came_while_its_memory_was_indexed_is_not_lost(
    store: SqlStore, stage: Stage
) -> None:
    await triggered(stage, "somebody speaks of riding")
    await store.memories.indexed(ENCODER, {}, [1, 2], {2: ("somebody speaks of riding",)})
    assert [memory.id for memory in await store.memories.to_index(ENCODER, 9)] == [1]


async def test_a_trigger_over_an_edited_turn_makes_the_rewrite_stale(store: SqlStore, stage: Stage) -> None:
    turn = await stage.say("line", 2)
    before = await store.scenes.scratchpad(stage.scene.id)
    await store.turns.commit([EDIT])
    assert await store.scenes.rewrite(before, [], [], [], [Trigger("riding", (turn.id,))]) is None


async def test_the_newest_eight_triggers_of_a_memory_serve(store: SqlStore, stage: Stage) -> None:
    await triggered(stage, *(f"thing {number}" for number in range(12)))
    assert (await store.memories.triggers([1]))[1] == tuple(f"thing {number}" for number in range(4, 12))
