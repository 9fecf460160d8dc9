"""Explanations: kept for the newest replies of a place, gone with their turns; what came up by itself."""

from __future__ import annotations

from bot.adapters.sql_store import SqlStore
from bot.core.events import MessagesDeleted
from bot.core.explanations import KEPT, Asides, Explanation
from tests.adapters.sql_store.helpers import NOON, TAVERN, Stage


def explained(stage: Stage, turn_id: int, aside: int | None = None) -> Explanation:
    return Explanation(turn_id, TAVERN.id, stage.scene.id, NOON, {"recalled": [{"id": 7}]}, aside)


async def test_an_explanation_is_read_as_it_was_kept_and_the_latest_of_a_persona_found(
    store: SqlStore, stage: Stage
) -> None:
    turn, _ = await store.turns.commit_reply(stage.spoken("Aye."), ["Aye."], [])
    await store.explanations.keep(explained(stage, turn.id, aside=3))
    found = await store.explanations.of_turn(turn.id)
    assert found == explained(stage, turn.id, aside=3)
    assert await store.explanations.latest(stage.scene.id, persona_id=stage.persona.id) == found
    assert await store.explanations.latest(stage.scene.id, persona_id=99) is None


async def test_it_goes_with_its_turn_and_is_never_kept_for_one_that_is_gone(
    store: SqlStore, stage: Stage
) -> None:
    turn = await stage.say("Aye.", 1)
    await store.explanations.keep(explained(stage, turn.id))
    await store.turns.commit([MessagesDeleted(TAVERN.id, (1,))])
    assert await store.explanations.of_turn(turn.id) is None
    await store.explanations.keep(explained(stage, turn.id))
    assert await store.explanations.of_turn(turn.id) is None


async def test_a_place_keeps_its_newest(store: SqlStore, stage: Stage) -> None:
    turns = [await stage.say(f"line {number}", number) for number in range(1, KEPT + 4)]
    for turn in turns:
        await store.explanations.keep(explained(stage, turn.id))
    kept = [turn for turn in turns if await store.explanations.of_turn(turn.id)]
    assert kept == turns[-KEPT:]


async def test_asides_rest_for_so_many_turns_of_their_scene(store: SqlStore, stage: Stage) -> None:
    asides = store.explanations.asides
    assert await asides(stage.scene.id, cooldown=5) == Asides()
    turns = [await stage.say(f"line {number}", number) for number in range(1, 11)]
    await store.explanations.keep(explained(stage, turns[1].id, aside=70))
    await store.explanations.keep(explained(stage, turns[7].id, aside=80))
    assert await asides(stage.scene.id, cooldown=5) == Asides(2, frozenset({80}), 10)
    assert await asides(stage.scene.id, cooldown=50) == Asides(2, frozenset({70, 80}), 10)
