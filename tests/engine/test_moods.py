"""What a turn did to a mood goes with it: replies made anew, given other words, taken away."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest

from bot.core.mood import from_json
from bot.core.types import Persona, Place
from bot.engine.indexing import Feeling
from bot.engine.state import PlaceState
from bot.errors import DeliveryError
from tests.engine.stage import ALICE, BOB, TAVERN, FakeMessenger, RealClock, Stage, open_stage
from tests.records import moods_of

JOY = np.array([9, 5, 1, 1, 1, 1, 1, 2], dtype=np.float32)
FURY = np.array([1, 1, 2, 1, 1, 5, 9, 1], dtype=np.float32)


async def feel(stage: Stage, turn_id: int, emotion: np.ndarray) -> None:  # type: ignore[type-arg]
    """As the indexer tells what a turn felt like."""

    async def read(state: PlaceState) -> None:
        assert state.scene is not None
        await stage.troupe.conduct.felt(state, [Feeling(state.scene.id, turn_id, emotion)])

    await stage.troupe.places.do(TAVERN, read)


async def numbers(stage: Stage) -> list[float]:
    """What the store holds of Mira's mood, once everything heard is done; the actor must know the same."""
    await stage.quiet()

    async def read(state: PlaceState) -> tuple[int, list[float]]:
        assert state.scene is not None
        (mood,) = state.moods.values()
        return state.scene.id, [*mood.slow, *mood.fast]

    scene_id, known = await stage.troupe.places.do(TAVERN, read)
    (stored,) = (await moods_of(stage.store, scene_id)).values()
    mood = from_json(json.loads(stored))
    assert [*mood.slow, *mood.fast] == pytest.approx(known, abs=0.01)
    return known


async def played(stage: Stage) -> tuple[int, list[float], int]:
    """A member's line that gladdened Mira and her furious reply: the message, the mood before, the turn."""
    await stage.scene(await stage.persona())
    asked = stage.say("Mira, look what the cat brought.")
    await stage.quiet()
    first, reply = [turn for turn in await stage.window() if turn.text]
    await feel(stage, first.id, JOY)
    before = await numbers(stage)
    await feel(stage, reply.id, FURY)
    assert (await numbers(stage))[14] > before[14] + 3, "the reply angered her"
    return asked, before, reply.id


async def test_a_reply_made_anew_is_as_if_it_had_never_been(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        _, before, reply_id = await played(stage)
        (reply,) = await stage.store.turns.by_ids([reply_id])
        await stage.troupe.replies.regenerate(TAVERN, reply.message_ids[0])
        assert await numbers(stage) == pytest.approx(before, abs=0.05)


async def test_other_words_count_instead_of_the_old_ones(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        _, before, reply_id = await played(stage)
        (reply,) = await stage.store.turns.by_ids([reply_id])
        await stage.troupe.replies.edit(TAVERN, reply.message_ids[0], "How lovely.")
        assert await numbers(stage) == pytest.approx(before, abs=0.05)
        await feel(stage, reply_id, JOY)
        after = await numbers(stage)
        assert after[8] > before[8]
        await feel(stage, reply_id, JOY)
        assert await numbers(stage) == pytest.approx(after, abs=0.05), "one turn counts once"


async def test_a_deleted_turn_moves_nobody_also_when_its_feeling_comes_late(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        asked, _, reply_id = await played(stage)
        stage.delete(asked)
        await stage.quiet()
        left = await numbers(stage)
        turn = await stage.store.turns.by_message(asked)
        assert turn is None or not turn.text
        await feel(stage, reply_id - 1, JOY)
        assert await numbers(stage) == pytest.approx(left, abs=0.05)
        (reply,) = await stage.store.turns.by_ids([reply_id])
        await stage.troupe.replies.delete(TAVERN, reply.message_ids[0])
        (view,) = await stage.troupe.mood(TAVERN)
        assert view.words == "rather at ease, a little cheerful, a little hopeful", "calm as ever"


async def test_it_is_taken_back_in_a_scene_that_waits(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        _, before, reply_id = await played(stage)
        (reply,) = await stage.store.turns.by_ids([reply_id])
        mira = await stage.troupe.personas.find(TAVERN.space_id, "Mira")
        await stage.scene(mira, name="Another night")
        stage.delete(*reply.message_ids)
        await stage.quiet()
        stored = await moods_of(stage.store, reply.scene_id)
        mood = from_json(json.loads(stored[mira.id]))
        assert [*mood.slow, *mood.fast] == pytest.approx(before, abs=0.05)


async def test_an_unreadable_mood_stops_no_deletion(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        _, _, reply_id = await played(stage)
        (reply,) = await stage.store.turns.by_ids([reply_id])
        (persona_id,) = await moods_of(stage.store, reply.scene_id)
        await stage.store.scenes.set_mood(reply.scene_id, persona_id, "{}")
        await stage.troupe.replies.delete(TAVERN, reply.message_ids[0])
        (turn,) = await stage.store.turns.by_ids([reply_id])
        assert turn.text == ""


async def test_a_forgotten_member_has_moved_nobody(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("I burned the inn down.", by=BOB)
        stage.say("It rains.", by=ALICE)
        await stage.quiet()
        burned, rains = await stage.window()
        await feel(stage, burned.id, FURY)
        await feel(stage, rains.id, JOY)
        (stored,) = (await moods_of(stage.store, burned.scene_id)).values()
        assert [step.turn_id for step in from_json(json.loads(stored)).steps] == [burned.id, rains.id]
        await stage.troupe.privacy.forget(BOB)
        (stored,) = (await moods_of(stage.store, burned.scene_id)).values()
        assert [step.turn_id for step in from_json(json.loads(stored)).steps] == [rains.id]
        (view,) = await stage.troupe.mood(TAVERN)
        assert "happy" in view.words or "overjoyed" in view.words
        assert "angry" not in view.words


class Refusing(FakeMessenger):
    """Takes no reply, and says so only when told to."""

    def __init__(self, clock: RealClock) -> None:
        super().__init__(clock)
        self.told = asyncio.Event()

    async def speak(
        self, place: Place, persona: Persona, text: str, *, nonce: str, reply_to: int | None = None
    ) -> int:
        await self.told.wait()
        raise DeliveryError("no permission")


async def test_a_reply_that_discord_did_not_take_moved_nobody(tmp_path: Path) -> None:
    clock = RealClock()
    messenger = Refusing(clock)
    async with open_stage(tmp_path, messenger=messenger, clock=clock) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira, look what the cat brought.")
        async with asyncio.timeout(30):
            while len(window := await stage.window()) < 2:
                await asyncio.sleep(0.01)
        first, reply = window
        await feel(stage, first.id, JOY)
        await feel(stage, reply.id, FURY)
        messenger.told.set()
        await stage.quiet()
        (view,) = await stage.troupe.mood(TAVERN)
        assert "angry" not in view.words
        assert view.words.startswith("overjoyed")
