"""Lore entries: whose they are, and what takes them along."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from bot.adapters.sql_store import SqlStore, open_store, upgrade
from bot.core.lore_store import LoreRow
from bot.errors import StorageError
from tests.adapters.sql_store.helpers import NOON, Stage, persona
from tests.adapters.sql_store.oldest import OLDEST_ROWS, scripts
from tests.records import newest_turns

ENTRY = {"keys": ["ferry"], "content": "Ünïcode ✨", "extensions": {"a": [1, None, 2.5]}, "odd": {"x": True}}


async def test_an_entry_is_read_as_it_was_stored(store: SqlStore, stage: Stage) -> None:
    first, second = await store.lore.add(
        [LoreRow(9, ENTRY, book="World", created_by=5), LoreRow(9, {}, scene_id=stage.scene.id)]
    )
    assert first == LoreRow(9, ENTRY, book="World", created_by=5, created_at=NOON, id=first.id)
    assert second.scene_id == stage.scene.id
    assert await store.lore.of_space(9) == [first, second]
    assert await store.lore.of_space(10) == []
    assert await store.lore.add([]) == []


async def test_a_scene_sees_its_own_its_casts_and_the_guilds(store: SqlStore, stage: Stage) -> None:
    other = await store.personas.create(persona("Bea"))
    rows = await store.lore.add(
        [
            LoreRow(9, {"n": 1}),
            LoreRow(9, {"n": 2}, scene_id=stage.scene.id),
            LoreRow(9, {"n": 3}, persona_id=stage.persona.id),
            LoreRow(9, {"n": 4}, persona_id=other.id),
            LoreRow(10, {"n": 5}),
        ]
    )
    assert await store.lore.present(9, stage.scene.id, [stage.persona.id]) == rows[:3]
    assert await store.lore.present(9, 404, []) == rows[:1]


async def test_changing_and_removing_stays_inside_the_space(store: SqlStore) -> None:
    first, second = await store.lore.add([LoreRow(9, ENTRY), LoreRow(9, {})])
    changed = await store.lore.update(LoreRow(9, {"content": "new"}, id=first.id))
    assert changed is not None
    assert changed.entry == {"content": "new"}
    assert await store.lore.update(LoreRow(10, {}, id=first.id)) is None
    assert await store.lore.remove(10, [first.id, second.id]) == 0
    assert await store.lore.remove(9, [first.id, 404]) == 1
    assert await store.lore.of_space(9) == [second]


async def test_it_goes_with_its_scene_or_persona(store: SqlStore, stage: Stage) -> None:
    await store.lore.add(
        [LoreRow(9, {}, persona_id=stage.persona.id), LoreRow(9, {}, scene_id=stage.scene.id)]
    )
    await store.personas.delete(stage.persona.id)
    (left,) = await store.lore.of_space(9)
    assert left.scene_id == stage.scene.id
    for wrong in (LoreRow(9, {}, scene_id=404), LoreRow(9, {}, scene_id=stage.scene.id, persona_id=1)):
        with pytest.raises(StorageError):
            await store.lore.add([LoreRow(9, {"n": "not stored"}), wrong])
    assert await store.lore.of_space(9) == [left]


async def test_a_database_without_lore_gets_its_table_and_keeps_its_rows(path: Path, tmp_path: Path) -> None:
    script = scripts(tmp_path / "former")
    for each in (script / "versions").glob("*.py"):
        if each.name[:4] > "0003":
            each.unlink()
    upgrade(path, script)
    connection = sqlite3.connect(path)
    connection.executescript(OLDEST_ROWS)
    connection.close()
    async with open_store(path) as store:
        (row,) = await store.lore.add([LoreRow(9, ENTRY, persona_id=1)])
        assert await store.lore.present(9, 1, [1]) == [row]
        assert [turn.text for turn in await newest_turns(store, 1, 9)] == ["Good evening."]
