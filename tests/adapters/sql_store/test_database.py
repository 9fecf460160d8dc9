"""What waits is written together, and yet each as if it were alone."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.database import Database
from bot.errors import StorageError


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """With an empty table of words that are unique."""
    made = Database(path=tmp_path / "a.sqlite3", clock=lambda: datetime(2026, 3, 1, tzinfo=UTC))
    await made.write(lambda one: one.exec_driver_sql("CREATE TABLE words (word TEXT UNIQUE)"))
    yield made
    await made.close()


def add(word: str) -> Callable[[Connection], str]:
    def work(connection: Connection) -> str:
        connection.exec_driver_sql("INSERT INTO words VALUES (?)", (word,))
        return word

    return work


async def words(database: Database) -> list[str]:
    def work(connection: Connection) -> list[str]:
        found = connection.exec_driver_sql("SELECT word FROM words ORDER BY rowid")
        return [row[0] for row in found]

    return await database.read(work)


async def traced(database: Database) -> list[str]:
    """The statements that the writer runs from now on."""
    ran: list[str] = []
    driver = database._writer._driver
    assert driver is not None
    await driver.set_trace_callback(ran.append)
    return ran


async def test_what_waits_shares_one_transaction_in_its_order(database: Database) -> None:
    ran = await traced(database)
    said = await asyncio.gather(*(database.write(add(f"w{number}")) for number in range(40)))
    assert said == await words(database) == [f"w{number}" for number in range(40)]
    assert ran.count("COMMIT") == 1
    await database.write(add("alone"))
    assert ran.count("COMMIT") == 2
    assert "SAVEPOINT work" not in ran[ran.index("COMMIT") :]


async def test_work_that_fails_takes_nothing_of_the_others_with_it(database: Database) -> None:
    def fails(connection: Connection) -> None:
        add("half")(connection)
        raise KeyError("no")

    outcomes = await asyncio.gather(
        database.write(add("a")),
        database.write(fails),
        database.write(add("a")),
        database.write(add("b")),
        return_exceptions=True,
    )
    assert [type(one) for one in outcomes] == [str, KeyError, StorageError, str]
    assert await words(database) == ["a", "b"]


async def test_when_the_disk_is_full_what_fits_is_written(database: Database) -> None:
    await database.standstill(lambda one: one.exec_driver_sql("PRAGMA cache_size=1").close())
    pages = await database.standstill(lambda one: one.exec_driver_sql("PRAGMA page_count").scalar())
    limit = f"PRAGMA max_page_count={pages + 2}"
    await database.standstill(lambda one: one.exec_driver_sql(limit).close())
    outcomes = await asyncio.gather(
        *(database.write(add(word)) for word in ("a", "b" * 90_000, "c")), return_exceptions=True
    )
    assert [type(one) for one in outcomes] == [str, StorageError, str]
    assert "Free some space" in str(outcomes[1])
    assert await words(database) == ["a", "c"]


async def test_a_file_that_another_holds_fails_all_that_waits_at_once(database: Database) -> None:
    ran = await traced(database)
    await database.standstill(lambda one: one.exec_driver_sql("PRAGMA busy_timeout=5").close())
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        outcomes = await asyncio.gather(
            *(database.write(add(word)) for word in ("a", "b", "c")), return_exceptions=True
        )
    assert all("in use by another program" in str(one) for one in outcomes)
    assert ran.count("BEGIN IMMEDIATE") == 1
    assert await database.write(add("d")) == "d"


async def test_who_is_cancelled_keeps_nobody_from_being_written(database: Database) -> None:
    tasks = [asyncio.create_task(database.write(add(word))) for word in ("a", "b", "c")]
    await asyncio.sleep(0)
    tasks[1].cancel()
    assert [type(one) for one in await asyncio.gather(*tasks, return_exceptions=True)] == [
        str,
        asyncio.CancelledError,
        str,
    ]
    assert await words(database) == ["a", "b", "c"]


async def test_a_standstill_comes_in_its_turn_and_outside_of_transactions(database: Database) -> None:
    seen: list[tuple[int, bool]] = []

    def look(connection: Connection) -> None:
        count = connection.exec_driver_sql("SELECT count(*) FROM words").scalar()
        driver = connection.connection.dbapi_connection
        assert driver is not None
        seen.append((int(count or 0), bool(driver.in_transaction)))

    await asyncio.gather(
        database.write(add("a")),
        database.write(add("b")),
        database.standstill(look),
        database.write(add("c")),
        database.write(look),
    )
    assert seen == [(2, False), (3, True)]


async def test_closing_waits_for_what_is_being_written(database: Database) -> None:
    writing = asyncio.create_task(database.write(add("last")))
    await asyncio.sleep(0)
    await database.close()
    assert await writing == "last"
    with pytest.raises(StorageError, match="closed"):
        await database.write(add("too late"))


async def test_reads_of_many_go_on_at_once(database: Database) -> None:
    here, both = [0], asyncio.Event()
    loop = asyncio.get_running_loop()

    def meet(connection: Connection) -> None:
        del connection
        here[0] += 1
        if here[0] == 2:
            loop.call_soon_threadsafe(both.set)
        asyncio.run_coroutine_threadsafe(both.wait(), loop).result(timeout=10)

    await asyncio.gather(database.read(meet), database.read(meet))
