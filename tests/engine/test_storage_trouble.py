"""The database takes nothing for a while (full or read-only disk, lock): one notice, no loss, no damage."""

from __future__ import annotations

import asyncio
import itertools
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from sqlalchemy.engine import Connection

from bot.adapters.sql_store import SqlStore
from bot.core.events import MessagePosted
from bot.engine import actor, conversation, delivery, journal
from bot.engine.jobs import Jobs
from bot.engine.storage_trouble import NOT_WRITING
from bot.errors import StorageError
from tests.engine.stage import ALICE, BOB, CELLAR, TAVERN, Stage, open_stage

KINDS = ["full", "read-only", "locked"]
LONG = " ding, dong" * 500
"""So much finds no room in the pages that there are."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is tried again soon."""
    monkeypatch.setattr(journal, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(actor, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(conversation, "HOLD_SECONDS", 0.05)
    monkeypatch.setattr(delivery, "NOTE_SECONDS", 0.05)


async def pragma(store: SqlStore, text: str) -> int:
    """Tell the one connection that writes."""

    def work(connection: Connection) -> int:
        found = connection.exec_driver_sql(f"PRAGMA {text}")
        return int(found.scalar() or 0) if found.returns_rows else 0

    return await store._database.standstill(work)


async def fill_up(store: SqlStore) -> None:
    """Leave no room: SQLite may have no page more than it has, and those are filled."""
    await pragma(store, f"max_page_count={await pragma(store, 'page_count')}")
    with pytest.raises(StorageError, match="Free some space"):
        await _fill(store)


async def _fill(store: SqlStore) -> None:
    for number in itertools.count():
        await store.settings.set_value(f"filler {number}", "x" * 2000)


@asynccontextmanager
async def trouble(stage: Stage, folder: Path, kind: str) -> AsyncIterator[None]:
    """Inside, the database of a stage takes nothing, as SQLite itself reports it."""
    store = stage.store
    if kind == "full":
        await fill_up(store)
        yield
        await pragma(store, "max_page_count=1000000")
    elif kind == "read-only":
        await pragma(store, "query_only=ON")
        yield
        await pragma(store, "query_only=OFF")
    else:
        await pragma(store, "busy_timeout=5")
        with closing(sqlite3.connect(folder / "test.sqlite3", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")


async def until(ready: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not ready():
            await asyncio.sleep(0.01)


async def asked(store: SqlStore, query: str) -> list[tuple[object, ...]]:
    def work(connection: Connection) -> list[tuple[object, ...]]:
        return [tuple(row) for row in connection.exec_driver_sql(query)]

    return await store._database.read(work)


async def said_by_members(store: SqlStore) -> list[object]:
    rows = await asked(store, "SELECT text FROM turns WHERE persona_id IS NULL ORDER BY id")
    return [text for (text,) in rows]


async def database_line(stage: Stage) -> tuple[bool, str]:
    line = next(line for line in await stage.troupe.health() if line.name == "database")
    return line.ok, line.text


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_said_waits_and_is_answered_when_there_is_room_again(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona()
        await stage.scene(mira)
        await stage.scene(mira, place=CELLAR)
        async with trouble(stage, tmp_path, kind):
            for number in range(3):
                stage.say(f"Mira, the bell rings! {number}{LONG}", by=(ALICE, BOB)[number % 2])
            stage.say(f"Somebody in the cellar?{LONG}", place=CELLAR)
            await until(lambda: len(stage.messenger.notices) >= 2)
            await asyncio.sleep(0.1)
            assert sorted(stage.messenger.notices) == [(TAVERN.id, NOT_WRITING), (CELLAR.id, NOT_WRITING)]
            assert stage.messenger.said == []
            working, told = await database_line(stage)
            assert not working
            assert "database" in told
        await stage.quiet()
        expected = [f"Mira, the bell rings! {number}{LONG}" for number in range(3)]
        expected.append(f"Somebody in the cellar?{LONG}")
        assert await said_by_members(stage.store) == expected
        assert len(stage.messenger.texts()) == 1
        assert (await database_line(stage))[0]
        assert (await stage.store.describe())["check"] == "ok"
        assert len(stage.messenger.notices) == 2
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(errors) == 1
    assert "Nothing can be stored" in errors[0].message


@pytest.mark.parametrize("kind", KINDS[1:])
async def test_a_reply_that_cannot_be_stored_is_made_again_and_said_once(tmp_path: Path, kind: str) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, gate=gate) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira, are you there?")
        await until(lambda: stage.model.prompts)
        async with trouble(stage, tmp_path, kind):
            gate.set()
            await until(lambda: stage.messenger.notices)
            await asyncio.sleep(0.3)
            assert stage.messenger.notices == [(TAVERN.id, NOT_WRITING)]
            assert stage.messenger.said == []
            assert len(stage.model.of("reply")) == 1, "the model is not asked in vain"
        await until(lambda: stage.messenger.said)
        await stage.quiet()
        assert len(stage.messenger.texts()) == 1
        assert len(stage.model.of("reply")) == 2


@pytest.mark.parametrize("kind", KINDS[1:])
async def test_a_message_that_was_sent_is_noted_later_and_never_sent_again(tmp_path: Path, kind: str) -> None:
    open_rows = "SELECT id FROM outbox WHERE closed_at IS NULL"
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        posting, go_on = asyncio.Event(), asyncio.Event()
        speak = stage.messenger.speak

        async def slow(*given: object, **more: object) -> int:
            posting.set()
            await go_on.wait()
            return await speak(*given, **more)  # type: ignore[arg-type]

        stage.messenger.speak = slow  # type: ignore[method-assign, assignment]
        stage.say("Mira, are you there?")
        await posting.wait()
        async with trouble(stage, tmp_path, kind):
            go_on.set()
            await until(lambda: stage.messenger.said)
            await asyncio.sleep(0.1)
            assert await asked(stage.store, open_rows)
        while await asked(stage.store, open_rows):
            await asyncio.sleep(0.01)
        assert await asked(stage.store, "SELECT count(*) FROM turn_messages") == [(2,)]
        messenger = stage.messenger
    async with open_stage(tmp_path, messenger=messenger) as stage:
        await stage.quiet()
        assert len(messenger.said) == 1


async def test_what_finds_no_room_in_memory_is_read_from_the_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "MOST_WAITING", 4)
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        texts = [f"The bell rings {number} times." for number in range(9)]
        async with trouble(stage, tmp_path, "read-only"):
            for text in texts:
                message_id = stage.say(text)
                stage.messenger.past.append(
                    MessagePosted(
                        place=TAVERN,
                        message_id=message_id,
                        author_id=ALICE,
                        author_name="Alice",
                        text=text,
                        created_at=stage.clock(),
                        backfilled=True,
                    )
                )
        while len(await said_by_members(stage.store)) < len(texts):
            await asyncio.sleep(0.01)
        assert await said_by_members(stage.store) == texts
        await stage.quiet()
        assert stage.troupe.live.unread() == []


@pytest.mark.parametrize("failure", ["reading", "writing"])
async def test_a_place_whose_state_could_not_be_read_is_read_again(
    tmp_path: Path, failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        await stage.quiet()
        where = (stage.troupe.conduct, "load") if failure == "reading" else (stage.troupe.conduct, "recorded")
        real, failed = getattr(*where), asyncio.Event()

        async def fail_once(*given: object) -> None:
            if not failed.is_set():
                failed.set()
                raise StorageError("The database is in use by another program.")
            await real(*given)

        monkeypatch.setattr(*where, fail_once)
        if failure == "reading":
            stage.troupe.places.awake(TAVERN.id).reload()  # type: ignore[union-attr]
        stage.say("Mira, are you there?")
        await failed.wait()
        await until(lambda: stage.messenger.said)
        assert len(stage.messenger.texts()) == 1


async def test_a_loop_that_waits_for_room_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    jobs, tries = Jobs(), 0

    async def step() -> float:
        nonlocal tries
        tries += 1
        raise StorageError("The disk is full.")

    jobs.loop(step, name="upkeep", patience=0.001)
    await until(lambda: tries > 20)
    await jobs.close()
    assert [record.message for record in caplog.records] == ["upkeep waits: The disk is full."]


@pytest.mark.parametrize("way", ["loop", "task"])
async def test_work_that_is_begun_while_its_owner_closes_ends_without_a_word(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    background, places, asked = Jobs(), Jobs(), asyncio.Event()

    async def step() -> float:
        asked.set()
        places.start(asyncio.sleep(0), name="a place")
        return 0.0

    await places.close()
    if way == "loop":
        background.loop(step, name="notes")
    else:
        background.start(step(), name="notes")
    await asked.wait()
    await background.settled(5)
    assert not background.busy
    assert caplog.records == []
