"""Migrations: from nothing, from the oldest schema with rows in it, and when one of them fails."""

from __future__ import annotations

import logging
import re
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.adapters.sql_store import open_store, upgrade
from bot.adapters.sql_store.tables import metadata
from bot.core.stores import Recorded
from bot.errors import StorageError
from tests.adapters.sql_store.helpers import Stage, bytes_of, set_stage
from tests.adapters.sql_store.oldest import oldest, scripts
from tests.records import newest_turns

GOOD = '''"""Rebuilds a parent table."""
import sqlalchemy as sa
from alembic import op
revision, down_revision = "t2", "HEAD"
def upgrade():
    with op.batch_alter_table("turns") as batch:
        batch.add_column(sa.Column("mood", sa.Text(), nullable=True))
        batch.alter_column("speaker", type_=sa.String(100))
'''
FAILING = '''"""Gets far before it fails."""
import sqlalchemy as sa
from alembic import op
revision, down_revision = "t3", "t2"
def upgrade():
    op.create_table("extra", sa.Column("id", sa.Integer(), primary_key=True))
    op.add_column("scenes", sa.Column("weather", sa.Text(), nullable=True))
    with op.batch_alter_table("personas") as batch:
        batch.add_column(sa.Column("age", sa.Integer(), nullable=True))
    op.execute("INSERT INTO extra VALUES (1)")
    op.execute("DELETE FROM turns")
    op.execute("INSERT INTO nowhere VALUES (1)")
'''
ORPHANING = '''"""Leaves children without their parents."""
from alembic import op
revision, down_revision = "t3", "t2"
def upgrade():
    op.execute("DELETE FROM turns")
'''


def schema(path: Path) -> dict[str, str]:
    """Every table and index as SQLite keeps it, differences of layout aside."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    connection.close()
    skipped = ("alembic_version", "sqlite_sequence")
    return {name: _canonical(sql) for name, sql in rows if name not in skipped}


def _canonical(sql: str) -> str:
    flat = re.sub(r"\s+", " ", sql)
    head, _, body = flat.partition("(")
    if head.startswith("CREATE INDEX") or head.startswith("CREATE UNIQUE INDEX"):
        return flat
    columns = [part.strip() for part in re.split(r", (?=[a-z_]+ [A-Z]|CONSTRAINT)", body.rsplit(")", 1)[0])]
    named = sorted(part for part in columns if part.startswith("CONSTRAINT"))
    return "\n".join([head, *(part for part in columns if not part.startswith("CONSTRAINT")), *named])


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_the_migrations_build_the_tables_that_the_code_knows(path: Path, tmp_path: Path) -> None:
    upgrade(path)
    direct = tmp_path / "direct.db"
    engine = sa.create_engine(f"sqlite:///{direct}")
    metadata.create_all(engine)
    engine.dispose()
    assert schema(path) == schema(direct)


async def test_a_database_of_the_oldest_schema_is_brought_up_with_all_its_rows(
    path: Path, tmp_path: Path
) -> None:
    oldest(path, tmp_path)
    async with open_store(path) as store:
        (turn,) = await newest_turns(store, 1, 9)
        assert (turn.text, turn.message_ids, turn.witnesses) == ("Good evening.", (11,), (1,))
        assert [memory.text for memory in await store.memories.of_story(1)] == [
            "Good evening.",
            "Ana is polite.",
        ]
        assert [line.sources for line in (await store.scenes.scratchpad(1)).lines] == [(1,)]
        ((_, live),) = await store.scenes.live()
        mira = await store.personas.get(1)
        assert mira is not None
        stage = Stage(store, live.scene, mira)
        (again,) = await store.turns.commit([stage.post("Good evening.", 11)])
        assert again == Recorded(turn, fresh=False)
        assert (await stage.say("More.", 12)).id > 1
        assert (await store.describe())["check"] == "ok"


def test_rebuilding_a_parent_table_keeps_its_children(path: Path, tmp_path: Path) -> None:
    oldest(path, tmp_path)
    upgrade(path, scripts(tmp_path / "good", t2=GOOD))
    assert rows(path, "SELECT mood, text FROM turns") == [(None, "Good evening.")]
    for child in ("turn_messages", "memory_sources", "line_sources"):
        assert rows(path, f"SELECT turn_id FROM {child}") == [(1,)]
    assert rows(path, "SELECT count(*) FROM memories") == [(2,)]


def test_a_failing_migration_is_wholly_undone_and_tried_again(path: Path, tmp_path: Path) -> None:
    oldest(path, tmp_path)
    bad = scripts(tmp_path / "bad", t2=GOOD, t3=FAILING)
    for _ in range(2):
        with pytest.raises(StorageError, match="nowhere"):
            upgrade(path, bad)
        assert rows(path, "SELECT version_num FROM alembic_version") == [("t2",)]
        names = {name for (name,) in rows(path, "SELECT name FROM sqlite_master")}
        assert "extra" not in names
        assert not any(str(name).startswith("_alembic_tmp") for name in names)
        assert "weather" not in {row[1] for row in rows(path, "PRAGMA table_info(scenes)")}
        assert rows(path, "SELECT mood, text FROM turns") == [(None, "Good evening.")]
    mended = FAILING.replace('    op.execute("DELETE FROM turns")\n', "").replace(
        "nowhere VALUES (1)", "extra VALUES (2)"
    )
    upgrade(path, scripts(tmp_path / "mended", t2=GOOD, t3=mended))
    assert rows(path, "SELECT version_num FROM alembic_version") == [("t3",)]
    assert rows(path, "SELECT id FROM extra") == [(1,), (2,)]


def test_a_failure_from_nothing_leaves_the_migrations_before_it(path: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        upgrade(path, scripts(tmp_path / "bad", t2=GOOD, t3=FAILING))
    assert rows(path, "SELECT version_num FROM alembic_version") == [("t2",)]
    upgrade(path, scripts(tmp_path / "good", t2=GOOD))


def test_a_migration_that_breaks_references_is_undone(path: Path, tmp_path: Path) -> None:
    oldest(path, tmp_path)
    with pytest.raises(StorageError, match="turn_messages"):
        upgrade(path, scripts(tmp_path / "bad", t2=GOOD, t3=ORPHANING))
    assert rows(path, "SELECT text FROM turns") == [("Good evening.",)]
    assert rows(path, "SELECT version_num FROM alembic_version") == [("t2",)]


async def test_a_database_of_a_newer_version_is_left_alone(path: Path, tmp_path: Path) -> None:
    upgrade(path, scripts(tmp_path / "good", t2=GOOD))
    before = bytes_of(path)
    with pytest.raises(StorageError, match="newer Troupe"):
        async with open_store(path):
            pass
    assert bytes_of(path) == before


async def test_opening_makes_the_folder_says_nothing_and_keeps_what_was_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new % folder" / "troupe.db"
    with caplog.at_level(logging.INFO):
        async with open_store(path) as store:
            stage = await set_stage(store)
            turn = await stage.say("Hello.", 1)
        async with open_store(path) as store:
            assert await newest_turns(store, stage.scene.id, 9) == [turn]
    assert caplog.records == []
    assert capsys.readouterr() == ("", "")
