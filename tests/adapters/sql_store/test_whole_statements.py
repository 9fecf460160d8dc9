"""A statement in one visit to its thread behaves as one in four."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.adapters.sql_store.whole_statements import WholeConnection, connect


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncIterator[WholeConnection]:
    async with connect(str(tmp_path / "a.sqlite3"), isolation_level=None) as opened:
        await opened.cursor().execute("CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT UNIQUE)")
        yield opened


async def test_rows_and_numbers_are_those_of_the_last_statement(connection: WholeConnection) -> None:
    cursor = connection.cursor()
    await cursor.execute("INSERT INTO words (word) VALUES (?)", ("oak",))
    assert (cursor.lastrowid, cursor.rowcount, cursor.description) == (1, 1, None)
    assert await cursor.fetchall() == ()
    await cursor.executemany("INSERT INTO words (word) VALUES (?)", [("elm",), ("ash",)])
    assert cursor.rowcount == 2
    await cursor.execute("SELECT id, word FROM words ORDER BY id")
    assert [column[0] for column in cursor.description] == ["id", "word"]
    assert await cursor.fetchall() == [(1, "oak"), (2, "elm"), (3, "ash")]


async def test_an_error_arrives_and_the_connection_serves_on(connection: WholeConnection) -> None:
    cursor = connection.cursor()
    with pytest.raises(sqlite3.OperationalError):
        await cursor.execute("SELECT nothing FROM nowhere")
    await cursor.execute("INSERT INTO words (word) VALUES ('oak') RETURNING word")
    assert await cursor.fetchall() == [("oak",)]
    with pytest.raises(sqlite3.IntegrityError):
        await cursor.executemany("INSERT INTO words (word) VALUES (?)", [("elm",), ("oak",)])
    await cursor.execute("SELECT count(*) FROM words")
    assert await cursor.fetchall() == [(2,)]


async def test_only_what_was_begun_is_rolled_back(connection: WholeConnection) -> None:
    cursor = connection.cursor()
    await cursor.execute("INSERT INTO words (word) VALUES ('oak')")
    await connection.rollback()
    await cursor.execute("BEGIN")
    await cursor.execute("INSERT INTO words (word) VALUES ('elm')")
    await connection.rollback()
    await cursor.execute("SELECT word FROM words")
    assert await cursor.fetchall() == [("oak",)]
