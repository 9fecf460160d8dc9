"""How personas feel towards members: from what they answered, told in the prompt, gone with the turns."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.engine.stage import ALICE, BOB, TAVERN, Stage, open_stage

KIND = np.array([8, 6, 1, 1, 1, 1, 1, 2], dtype=np.float32)
CRUEL = np.array([1, 1, 3, 1, 1, 6, 9, 1], dtype=np.float32)


async def spoke(stage: Stage, by: int, emotion: np.ndarray, times: int) -> list[int]:  # type: ignore[type-arg]
    """Turns to Mira that felt like this; their message ids."""
    messages = []
    for number in range(times):
        messages.append(stage.say(f"Mira, one word more, the {number}th.", by=by))
        await stage.quiet()
    turns = [await stage.store.turns.by_message(message) for message in messages]
    await stage.store.memories.set_emotions({turn.id: (emotion, "model:test") for turn in turns if turn})
    return messages


async def test_the_prompt_says_how_it_is_with_those_present(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        await spoke(stage, ALICE, KIND, 8)
        await spoke(stage, BOB, CRUEL, 8)
        stage.say("Mira, what now?")
        await stage.quiet()
        last = stage.model.of("reply")[-1].messages[-1].content
        assert "Mira is fond of Alice (trusting); hostile to Bob (distrustful, tense)." in last
        (view,) = await stage.troupe.mood(TAVERN)
        assert view.relations["Alice"].warmth > 0.3
        assert view.relations["Bob"].warmth < 0
        assert view.relations["Alice"].evidence == 8


async def test_what_was_said_to_nobody_or_to_another_persona_does_not_count(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira, tom = await stage.persona(), await stage.persona("Tom")
        await stage.scene(mira, tom)
        await spoke(stage, ALICE, KIND, 4)
        views = {view.persona.name: view.relations for view in await stage.troupe.mood(TAVERN)}
        assert views["Mira"]["Alice"].evidence == 4
        assert views["Tom"] == {}


async def test_a_deleted_turn_counts_no_more(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        messages = await spoke(stage, ALICE, KIND, 4)
        stage.delete(*messages[:3])
        await stage.quiet()
        (view,) = await stage.troupe.mood(TAVERN)
        assert view.relations["Alice"].evidence == 1
