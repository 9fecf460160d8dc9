"""Personas, their names, their history and their samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bot.adapters.sql_store import SqlStore
from bot.core.names import fold
from bot.core.stores import PersonaRevision
from bot.core.types import Persona, StyleSample
from bot.errors import NameTaken, StorageError, UserFacing
from tests.adapters.sql_store.helpers import Clock, Stage, emotion, persona
from tests.records import moods_of, sql


def same(left: Persona | None, right: Persona) -> bool:
    """Equality of everything, the temperament by its numbers."""
    if left is None:
        return False
    flat = np.zeros(0, dtype=np.float32)
    return np.array_equal(left.temperament, right.temperament) and replace(left, temperament=flat) == replace(
        right, temperament=flat
    )


async def test_a_persona_is_read_as_it_was_made(store: SqlStore) -> None:
    card = {"description": "Ünïcode ✨", "extensions": {"depth": [1, None, {"a": 1.5}]}, "tags": None}
    draft = persona(
        "D'Artagnan",
        card=card,
        temperament=np.arange(1, 9, dtype=np.float32),
        avatar=b"\x89PNG\x00",
        avatar_url="https://x/a.png",
        created_by=5,
        former_names=("Rook", "Pawn"),
    )
    made = await store.personas.create(draft)
    assert made.id > 0
    assert made.revision == 1
    assert same(made, replace(draft, id=made.id))
    assert same(await store.personas.get(made.id), made)
    assert await store.personas.get(404) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [("Ａna", "ana"), ("ana", "ANA"), ("Straße", "STRASSE"), ("ﾐﾗ", "ミラ"), ("Ana  Maria", " ana maria ")],
)
async def test_names_that_look_alike_are_one(store: SqlStore, first: str, second: str) -> None:
    made = await store.personas.create(persona(first))
    with pytest.raises(NameTaken, match="already a persona") as caught:
        await store.personas.create(persona(second))
    assert isinstance(caught.value, UserFacing)
    assert same(await store.personas.named(9, second), made)
    assert (await store.personas.create(persona(second, space_id=10))).id != made.id


def test_other_letters_are_other_names() -> None:
    assert fold("Ana") != fold("Anna")
    assert fold("Zoë") != fold("Zoe")


async def test_a_name_is_free_again_after_deletion(store: SqlStore) -> None:
    first = await store.personas.create(persona("Ana"))
    await store.personas.delete(first.id)
    assert await store.personas.named(9, "Ana") is None
    second = await store.personas.create(persona("Ana"))
    assert second.id > first.id


async def test_hostile_names_are_only_names(store: SqlStore) -> None:
    for name in ("x' OR 1=1 --", 'Robert"); DROP TABLE personas;', "%", "\\"):
        await store.personas.create(persona(name))
    found = await store.personas.named(9, "x' OR 1=1 --")
    assert found is not None
    await store.personas.delete(found.id)
    assert len(await store.personas.of_space(9)) == 3
    assert await store.personas.named(9, "_") is None


async def test_update_keeps_the_former_card(store: SqlStore) -> None:
    made = await store.personas.create(persona("Ana"))
    renamed = replace(made, name="Anna", card={"description": "new"}, former_names=("Ana",))
    updated = await store.personas.update(renamed)
    assert updated.revision == 2
    assert (updated.name, updated.card, updated.former_names) == ("Anna", {"description": "new"}, ("Ana",))
    assert (await store.personas.update(updated)).revision == 3
    rows = await sql(store, "SELECT revision, name FROM persona_revisions ORDER BY revision")
    assert rows == [(1, "Ana"), (2, "Anna")]


async def test_update_cannot_take_anothers_name(store: SqlStore) -> None:
    await store.personas.create(persona("Ana"))
    bea = await store.personas.create(persona("Bea"))
    with pytest.raises(NameTaken):
        await store.personas.update(replace(bea, name="ANA"))
    assert same(await store.personas.get(bea.id), bea)
    assert (await store.personas.update(replace(bea, name="BEA"))).name == "BEA"
    with pytest.raises(StorageError, match="404"):
        await store.personas.update(replace(bea, id=404))


async def test_personas_are_listed_by_name_and_space(store: SqlStore) -> None:
    for name, space in (("zoe", 9), ("Abe", 9), ("Mia", 10)):
        await store.personas.create(persona(name, space_id=space))
    assert [each.name for each in await store.personas.of_space(9)] == ["Abe", "zoe"]


async def test_samples_are_kept_in_order_until_dropped(store: SqlStore, stage: Stage) -> None:
    turn = await stage.say("Well met.", 1)
    await store.personas.add_sample(stage.persona.id, "Well met.", turn.id)
    await store.personas.add_sample(stage.persona.id, "Hail.", None)
    one, two = await store.personas.samples(stage.persona.id)
    assert one == StyleSample(one.id, stage.persona.id, "Well met.", turn.id, turn.place_id)
    assert two == StyleSample(two.id, stage.persona.id, "Hail.")
    await sql(store, "UPDATE style_samples SET pinned = 1 WHERE id = ?", (two.id,))
    await store.personas.drop_samples(stage.persona.id)
    assert await store.personas.samples(stage.persona.id) == [replace(two, pinned=True)]


async def test_a_deleted_persona_leaves_casts_and_keeps_what_it_said(store: SqlStore, stage: Stage) -> None:
    turn, _ = await store.turns.commit_reply(stage.spoken("Yes."), ["Yes."], [])
    await store.scenes.set_mood(stage.scene.id, stage.persona.id, "{}")
    await store.personas.add_sample(stage.persona.id, "Yes.", None)
    await store.personas.update(stage.persona)
    await store.personas.delete(stage.persona.id)
    scene = await store.scenes.get(stage.scene.id)
    assert scene is not None
    assert scene.cast == ()
    assert await moods_of(store, stage.scene.id) == {}
    assert await store.turns.by_ids([turn.id]) == [turn]


async def test_a_temperament_has_eight_numbers(store: SqlStore) -> None:
    with pytest.raises(StorageError, match="eight numbers"):
        await store.personas.create(persona("Ana", temperament=emotion()[:7]))
    assert (await store.personas.create(persona("Ana"))).id


async def test_former_cards_are_read_newest_first(store: SqlStore, clock: Clock) -> None:
    made = await store.personas.create(persona("Ana", card={"description": "one"}))
    assert await store.personas.revisions(made.id) == []
    replaced = clock.pass_time(minutes=1)
    second = await store.personas.update(replace(made, name="Bea", card={"description": "two"}))
    await store.personas.update(replace(second, card={"description": "three"}))
    newest, oldest = await store.personas.revisions(made.id)
    assert (newest.revision, newest.name, newest.card) == (2, "Bea", {"description": "two"})
    assert oldest == PersonaRevision(made.id, 1, "Ana", {"description": "one"}, replaced)
    assert await store.personas.revision(made.id, 1) == oldest
    assert await store.personas.revision(made.id, 3) is None
    assert await store.personas.revisions(made.id, limit=1) == [newest]


async def test_former_pictures_are_kept_once_each(store: SqlStore) -> None:
    made = await store.personas.create(persona("Ana", avatar=None))
    drawn = await store.personas.update(replace(made, card={"description": "one"}))
    first = await store.personas.update(replace(drawn, avatar=b"red"))
    first = await store.personas.update(replace(first, card={"description": "two"}))
    await store.personas.update(replace(first, avatar=b"blue"))
    kept = [await store.personas.picture_at(made.id, number) for number in range(1, 6)]
    assert kept == [None, None, b"red", b"red", b"blue"]
    replaced = [one.picture_replaced for one in await store.personas.revisions(made.id)]
    assert replaced == [True, False, True, False]
    rows = await sql(store, "SELECT avatar FROM persona_revisions ORDER BY revision")
    assert [row[0] for row in rows] == [None, None, None, b"red"]
    assert await store.personas.picture_at(404, 1) is None


async def test_samples_are_pinned_dropped_and_renewed_where_they_were_said(
    store: SqlStore, stage: Stage
) -> None:
    turn = await stage.say("Well met.", 1)
    for text, turn_id in (("Well met.", turn.id), ("Hail.", None), ("Aye.", turn.id)):
        await store.personas.add_sample(stage.persona.id, text, turn_id)
    well, hail, aye = await store.personas.samples(stage.persona.id)
    await store.personas.pin_sample(aye.id, True)
    await store.personas.drop_samples(stage.persona.id, turn.place_id + 1)
    assert len(await store.personas.samples(stage.persona.id)) == 3
    await store.personas.drop_samples(stage.persona.id, turn.place_id)
    assert await store.personas.samples(stage.persona.id) == [hail, replace(aye, pinned=True)]
    await store.personas.pin_sample(aye.id, False)
    await store.personas.drop_sample(hail.id)
    await store.personas.drop_sample(well.id)
    assert await store.personas.samples(stage.persona.id) == [aye]


async def test_a_sample_knows_what_its_turn_felt_like(store: SqlStore, stage: Stage) -> None:
    turn = await stage.say("Well met.", 1)
    await store.personas.add_sample(stage.persona.id, "Well met.", turn.id)
    (unknown,) = await store.personas.samples(stage.persona.id)
    assert unknown.emotion is None
    felt = np.array([8, 1, 1, 1, 1, 1, 1, 3], dtype=np.float32)
    await store.memories.set_emotions({turn.id: (felt, "model:test")})
    (known,) = await store.personas.samples(stage.persona.id)
    assert known.emotion is not None
    assert known.emotion.tolist() == felt.tolist()


async def test_a_turn_that_is_gone_leaves_no_sample(store: SqlStore, stage: Stage) -> None:
    turn = await stage.say("Well met.", 1)
    await store.memories.remove([(await stage.memory_of(turn)).id])
    await store.personas.add_sample(stage.persona.id, "Well met.", turn.id)
    assert await store.personas.samples(stage.persona.id) == []
