"""Places, stories, scenes, casts, aliases and moods."""

from __future__ import annotations

import pytest

from bot.adapters.sql_store import SqlStore
from bot.core.types import Alias, Line, MemoryKind, Place, Scratchpad
from bot.errors import StorageError
from tests.adapters.sql_store.helpers import TAVERN, Clock, Stage, persona, set_stage
from tests.records import moods_of, sql

CELLAR = Place(id=501, guild_id=9, name="cellar", parent_id=500)
DM = Place(id=77, guild_id=0, name="Ana")


async def begin(
    store: SqlStore, name: str, *, place: Place = TAVERN, story: str | None = None, after: int = 0
) -> int:
    scene = await store.scenes.start(
        place, name=name, location="bar", situation="late", story=story, after=after
    )
    return scene.id


async def test_a_started_scene_is_active_and_its_place_known(store: SqlStore, clock: Clock) -> None:
    scene = await store.scenes.start(
        CELLAR, name="Arrival", location="bar", situation="late", story=None, after=40
    )
    assert (scene.name, scene.location, scene.situation, scene.active) == ("Arrival", "bar", "late", True)
    assert (scene.space_id, scene.started_at, scene.cast) == (9, clock.now, ())
    assert await store.scenes.seen_until(CELLAR.id) == 40
    assert await store.scenes.seen_until(404) == 0
    ((place, live),) = await store.scenes.live()
    assert (place, live.scene) == (CELLAR, scene)


async def test_a_place_has_one_active_scene(store: SqlStore) -> None:
    first, second = await begin(store, "one"), await begin(store, "two")
    elsewhere = await begin(store, "three", place=CELLAR)
    assert {live.scene.id for _, live in await store.scenes.live()} == {second, elsewhere}
    assert [scene.id for scene in await store.scenes.of_place(TAVERN.id)] == [second, first]
    await store.scenes.activate(first, after=50)
    assert {live.scene.id for _, live in await store.scenes.live()} == {first, elsewhere}
    await store.scenes.update(second, active=True)
    assert {live.scene.id for _, live in await store.scenes.live()} == {second, elsewhere}
    assert await store.scenes.seen_until(TAVERN.id) == 50


async def test_two_active_scenes_in_a_place_are_impossible(store: SqlStore) -> None:
    first = await begin(store, "one")
    await begin(store, "two")
    with pytest.raises(StorageError):
        await sql(store, "UPDATE scenes SET active = 1 WHERE id = ?", (first,))


async def test_starting_never_moves_seen_until_back(store: SqlStore) -> None:
    first = await begin(store, "one", after=40)
    await begin(store, "two", after=30)
    await store.scenes.activate(first, after=20)
    assert await store.scenes.seen_until(TAVERN.id) == 40


async def test_a_scene_continues_the_latest_story_unless_one_is_named(store: SqlStore) -> None:
    for name, story in (
        ("a", None),
        ("b", None),
        ("c", "The War"),
        ("d", None),
        ("e", "ＴＨＥ  war"),
        ("f", "a"),
    ):
        await begin(store, name, story=story)
    found = {scene.name: scene.story_id for scene in await store.scenes.of_place(TAVERN.id)}
    names = {story.id: story.name for story in await store.scenes.stories(TAVERN.id)}
    assert {scene: names[story] for scene, story in found.items()} == {
        "a": "a",
        "b": "a",
        "c": "The War",
        "d": "The War",
        "e": "The War",
        "f": "a",
    }
    assert await store.scenes.stories(CELLAR.id) == []


async def test_stories_belong_to_their_place(store: SqlStore) -> None:
    await begin(store, "a", story="War")
    await begin(store, "b", place=CELLAR, story="War")
    (here,), (there,) = await store.scenes.stories(TAVERN.id), await store.scenes.stories(CELLAR.id)
    assert here.id != there.id


async def test_the_renamed_place_is_known_by_its_new_name(store: SqlStore) -> None:
    await begin(store, "a")
    await begin(store, "b", place=Place(id=TAVERN.id, guild_id=9, name="inn", parent_id=3))
    ((place, _),) = await store.scenes.live()
    assert (place.name, place.parent_id) == ("inn", 3)


async def test_places_are_known_once_a_scene_was_started_there(store: SqlStore) -> None:
    assert await store.scenes.place(CELLAR.id) is None
    assert await store.scenes.places() == []
    scene_id = await begin(store, "a", place=CELLAR)
    await store.scenes.update(scene_id, active=False)
    assert await store.scenes.place(CELLAR.id) == CELLAR
    assert await store.scenes.places() == [CELLAR]


async def test_a_direct_message_is_its_own_space(store: SqlStore) -> None:
    await begin(store, "a", place=DM)
    ((place, live),) = await store.scenes.live()
    assert (place, live.scene.space_id) == (DM, DM.id)


async def test_update_changes_what_it_is_told(store: SqlStore) -> None:
    scene_id = await begin(store, "a")
    scene = await store.scenes.update(scene_id, name="b", location="hill", story_time="dawn", paused=True)
    assert (scene.name, scene.location, scene.situation, scene.story_time) == ("b", "hill", "late", "dawn")
    assert scene.paused
    assert scene == await store.scenes.get(scene_id)
    assert scene == await store.scenes.update(scene_id)
    with pytest.raises(ValueError, match="place_id"):
        await store.scenes.update(scene_id, place_id=1)


async def test_unknown_scenes(store: SqlStore) -> None:
    assert await store.scenes.get(404) is None
    for attempt in (
        store.scenes.update(404, name="x"),
        store.scenes.activate(404, after=0),
        store.scenes.join(404, 1),
        store.scenes.leave(404, 1),
    ):
        with pytest.raises(StorageError, match="404"):
            await attempt


async def test_the_cast_keeps_the_order_of_joining(store: SqlStore) -> None:
    ids = [(await store.personas.create(persona(name))).id for name in ("Zoe", "Abe", "Kim")]
    scene_id = await begin(store, "a")
    for persona_id in (ids[2], ids[0], ids[2], ids[1]):
        scene = await store.scenes.join(scene_id, persona_id)
    assert scene.cast == (ids[2], ids[0], ids[1])
    assert (await store.scenes.leave(scene_id, ids[2])).cast == (ids[0], ids[1])
    assert (await store.scenes.join(scene_id, ids[2])).cast == (ids[0], ids[1], ids[2])
    ((_, live),) = await store.scenes.live()
    assert live.scene.cast == (ids[0], ids[1], ids[2])


async def test_aliases_belong_to_a_scene_and_a_member(store: SqlStore) -> None:
    first, second = await begin(store, "one"), await begin(store, "two")
    await store.scenes.set_alias(Alias(first, 7, "Rook", "https://x/1.png"))
    await store.scenes.set_alias(Alias(second, 7, "Pawn"))
    await store.scenes.set_alias(Alias(second, 8, "Bishop"))
    await store.scenes.set_alias(Alias(second, 7, "Queen", "https://x/2.png"))
    assert await store.scenes.aliases(first) == [Alias(first, 7, "Rook", "https://x/1.png")]
    ((_, live),) = await store.scenes.live()
    assert live.aliases == {
        7: Alias(second, 7, "Queen", "https://x/2.png"),
        8: Alias(second, 8, "Bishop"),
    }
    assert await store.scenes.clear_alias(second, 7)
    assert not await store.scenes.clear_alias(second, 7)
    assert await store.scenes.aliases(second) == [Alias(second, 8, "Bishop")]


async def test_moods_are_kept_per_persona_and_scene(store: SqlStore, stage: Stage) -> None:
    other = await store.scenes.start(TAVERN, name="b", location="", situation="", story=None, after=0)
    await store.scenes.set_mood(stage.scene.id, stage.persona.id, "{1}")
    await store.scenes.set_mood(stage.scene.id, stage.persona.id, "{2}")
    assert await moods_of(store, stage.scene.id) == {stage.persona.id: "{2}"}
    assert await moods_of(store, other.id) == {}


async def test_the_first_scratchpad_is_empty(store: SqlStore, stage: Stage) -> None:
    assert await store.scenes.scratchpad(stage.scene.id) == Scratchpad(stage.scene.id)
    assert await store.scenes.revisions(stage.scene.id, 9) == []


async def test_a_rewrite_stores_lines_covers_turns_and_keeps_memories(
    store: SqlStore, stage: Stage, clock: Clock
) -> None:
    one, two = await stage.say("one", 1), await stage.say("two", 2)
    lines = [Line("now", "b", (two.id, one.id)), Line("now", "a", (one.id,))]
    note = stage.note("old line", one.id, kind=MemoryKind.SNAPSHOT)
    after = await store.scenes.rewrite(await store.scenes.scratchpad(stage.scene.id), lines, [one.id], [note])
    assert after is not None
    assert (after.number, after.lines, after.created_at) == (1, tuple(lines), clock.now)
    assert after == await store.scenes.scratchpad(stage.scene.id)
    assert await store.turns.uncovered(stage.scene.id, 9) == [two]
    assert (await store.turns.by_ids([one.id]))[0].covered_by == after.revision_id
    assert [memory.text for memory in await store.memories.of_story(stage.scene.story_id)] == [
        "one",
        "two",
        "old line",
    ]
    empty = await store.scenes.rewrite(after, [], [two.id], [])
    assert empty is not None
    assert [pad.number for pad in await store.scenes.revisions(stage.scene.id, 9)] == [2, 1]
    assert [pad.number for pad in await store.scenes.revisions(stage.scene.id, 1)] == [2]


async def test_a_rewrite_may_not_use_turns_of_another_scene(store: SqlStore, stage: Stage) -> None:
    other = await set_stage(store, CELLAR, who=[stage.persona])
    turn = await other.say("elsewhere", 1)
    before = await store.scenes.scratchpad(stage.scene.id)
    assert await store.scenes.rewrite(before, [Line("now", "x", (turn.id,))], [], []) is None


async def test_a_line_without_sources_is_refused(store: SqlStore, stage: Stage) -> None:
    with pytest.raises(ValueError, match="turns it comes from"):
        await store.scenes.rewrite(Scratchpad(stage.scene.id), [Line("now", "x", ())], [], [])
    assert await store.scenes.revisions(stage.scene.id, 9) == []
