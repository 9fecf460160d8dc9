"""The file itself: crashes, crowds, erased bytes, and files that cannot be used."""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import Connection

from bot.adapters.sql_store import SqlStore, open_store
from bot.adapters.sql_store.faults import storage_errors
from bot.core.events import MessageEdited, MessagesDeleted
from bot.core.types import Line, MemoryKind
from bot.errors import StorageError
from tests.adapters.sql_store.helpers import NOON, TAVERN, Clock, Stage, bytes_of, put_bytes, set_stage
from tests.records import newest_turns

PROJECT = Path(__file__).resolve().parents[3]
WRITER = """
import asyncio, sys
from pathlib import Path
from bot.adapters.sql_store import open_store
from tests.adapters.sql_store.helpers import set_stage

async def main():
    async with open_store(Path(sys.argv[1])) as store:
        stage = await set_stage(store)
        for group in range(100_000):
            first = group * 5
            await store.turns.commit([stage.post(f"group {group}", first + part) for part in range(1, 6)])
            print(group, flush=True)

asyncio.run(main())
"""


def every_file(path: Path) -> Iterator[bytes]:
    for each in path.parent.iterdir():
        if each.name.startswith(path.name):
            yield each.read_bytes()


def on_disk(path: Path, words: str) -> bool:
    return any(words.encode() in content for content in every_file(path))


# ---------------------------------------------------------------- crashes
@pytest.mark.parametrize("groups", [1, 7, 40])
async def test_a_killed_process_leaves_whole_groups_only(path: Path, groups: int) -> None:
    process = await asyncio.to_thread(
        lambda: subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], cwd=PROJECT, stdout=subprocess.PIPE, text=True
        )
    )
    assert process.stdout is not None
    said = -1
    while said < groups:
        said = int(await asyncio.to_thread(process.stdout.readline))
    process.send_signal(signal.SIGKILL)
    rest = await asyncio.to_thread(process.communicate)
    promised = max([said, *map(int, rest[0].split())])
    async with open_store(path) as store:
        scene_id = (await store.scenes.of_place(TAVERN.id))[0].id
        turns = await newest_turns(store, scene_id, 1_000_000)
        assert len(turns) % 5 == 0
        assert len(turns) >= (promised + 1) * 5
        assert await store.scenes.seen_until(TAVERN.id) == turns[-1].message_ids[0] == len(turns)
        memories = await store.memories.of_story(turns[0].story_id, limit=1_000_000)
        assert [memory.turn_id for memory in memories] == [turn.id for turn in turns]
        assert (await store.describe())["check"] == "ok"


# ---------------------------------------------------------------- crowds
async def test_fifty_tasks_read_and_write_at_once(store: SqlStore, stage: Stage) -> None:
    async def chat(number: int) -> None:
        for line in range(4):
            message = number * 10 + line + 1
            turn = await stage.say(f"{number}: {line}", message)
            assert await store.turns.by_message(message) == turn
            await newest_turns(store, stage.scene.id, 20)
            await store.memories.of_story(stage.scene.story_id)
            await store.scenes.scratchpad(stage.scene.id)

    async with asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(chat(number))
    assert await store.turns.count_uncovered(stage.scene.id) == 200


async def test_writers_are_served_in_the_order_they_came(store: SqlStore, stage: Stage) -> None:
    turns = await asyncio.gather(*(stage.say(f"{number}", number) for number in range(1, 31)))
    ids = [turn.id for turn in turns]
    assert ids == sorted(ids)


async def test_what_was_written_is_read_at_once(store: SqlStore, stage: Stage) -> None:
    for number in range(1, 20):
        turn = await stage.say(f"{number}", number)
        assert (await newest_turns(store, stage.scene.id, 1)) == [turn]


async def test_a_cancelled_writer_neither_breaks_nor_halves_its_group(store: SqlStore, stage: Stage) -> None:
    for number in range(40):
        ids = range(number * 3 + 1, number * 3 + 4)
        task = asyncio.create_task(store.turns.commit([stage.post("x", id_) for id_ in ids]))
        for _ in range(number % 8):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    turn = await stage.say("after", 1000)
    turns = await newest_turns(store, stage.scene.id, 1000)
    assert turns[-1] == turn
    assert len(turns) % 3 == 1


async def test_cancelled_readers_leave_the_connections_usable(store: SqlStore, stage: Stage) -> None:
    await stage.say("x", 1)
    for number in range(40):
        task = asyncio.create_task(store.memories.of_story(stage.scene.story_id))
        for _ in range(number % 9):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert len(await store.memories.of_story(stage.scene.story_id)) == 1


@pytest.mark.logs_exceptions
async def test_a_write_that_fails_when_nobody_waits_for_it_any_more_is_logged(
    store: SqlStore, caplog: pytest.LogCaptureFixture
) -> None:
    begun, go = threading.Event(), threading.Event()

    def attempt(_: Connection) -> None:
        begun.set()
        go.wait(10)
        raise RuntimeError("no")

    asking = asyncio.create_task(store.write(attempt))
    await asyncio.to_thread(begun.wait, 10)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    go.set()
    await store.settings.set_value("a", "after it")
    (record,) = [one for one in caplog.records if one.exc_info]
    assert "nobody waits" in record.getMessage()


async def test_a_failed_write_leaves_nothing(store: SqlStore) -> None:
    def attempt(connection: Connection) -> None:
        connection.exec_driver_sql("INSERT INTO stored_values VALUES ('a', 'b')")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        await store.write(attempt)
    assert await store.settings.value("a") is None
    await store.settings.set_value("a", "c")
    assert await store.settings.value("a") == "c"


async def test_readers_cannot_write(store: SqlStore) -> None:
    def attempt(connection: Connection) -> None:
        connection.exec_driver_sql("INSERT INTO stored_values VALUES ('a', 'b')")

    with pytest.raises(StorageError):
        await store.settings._database.read(attempt)


async def test_the_connections_are_set_up_to_be_safe(store: SqlStore) -> None:
    def pragmas(connection: Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "busy_timeout")
        return [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]

    expected = ["wal", 2, 1, 1, 5000]
    assert await store.settings._database.read(pragmas) == expected
    assert await store.settings._database.write(pragmas) == expected


# ---------------------------------------------------------------- erased bytes
async def test_the_bytes_of_forgotten_words_leave_the_disk(path: Path, clock: Clock) -> None:
    async with open_store(path, clock=clock) as store:
        stage = await set_stage(store)
        secret, long_secret = "Xyzzy-rosebud", "Plugh-heirloom " * 700
        asked = await stage.say(f"My word is {secret}.", 1, speaker="Qwertz-Ana")
        await stage.say(long_secret, 2)
        for number in range(3, 60):
            await stage.say(f"filler {number} " * 20, number)
        reply, rows = await store.turns.commit_reply(stage.spoken(f"{secret}\n!"), [secret, "!"], [asked.id])
        await store.turns.sent(rows[0].id, 100)
        await store.personas.add_sample(stage.persona.id, secret, reply.id)
        first = await store.scenes.rewrite(
            await store.scenes.scratchpad(stage.scene.id), [Line("now", secret, (asked.id, reply.id))], [], []
        )
        assert first is not None
        note = stage.note(secret, asked.id, reply.id, kind=MemoryKind.SNAPSHOT)
        await store.scenes.rewrite(first, [], [], [note])
        assert all(on_disk(path, words) for words in (secret, "Plugh-heirloom", "Qwertz-Ana"))
        await store.turns.commit([MessageEdited(TAVERN.id, 2, "Never mind.", NOON)])
        await store.turns.commit([MessagesDeleted(TAVERN.id, (1,))])
        await store.memories.remove([(await stage.memory_of(reply)).id])
        assert await store.truncate_wal()
        assert not any(on_disk(path, words) for words in (secret, "Plugh-heirloom", "Qwertz-Ana"))
        assert (await store.describe())["wal_bytes"] == 0
    assert not on_disk(path, "rosebud")


async def test_a_new_file_loses_what_split_pages_kept(path: Path, clock: Clock) -> None:
    """Rows that grow make SQLite move others, which leaves copies that `secure_delete` does not find."""
    chance = random.Random(4)
    versions = itertools.count()
    current: dict[int, str] = {}

    def words(number: int) -> str:
        current[number] = f"TAG{next(versions)}y"
        return current[number] + "z" * chance.choice((5, 50, 300, 1500, 6000))

    async with open_store(path, clock=clock) as store:
        stage = await set_stage(store)
        await store.turns.commit([stage.post(words(number), number) for number in range(1, 401)])
        for _ in range(12):
            some = chance.sample(range(1, 401), 40)
            edited = [MessageEdited(TAVERN.id, number, words(number), NOON) for number in some[8:]]
            await store.turns.commit([MessagesDeleted(TAVERN.id, tuple(some[:8])), *edited])
        assert await store.erase_bytes()
        living = {turn.text.partition("z")[0] for turn in await newest_turns(store, stage.scene.id, 1000)}
        found = {tag.decode() for content in every_file(path) for tag in re.findall(rb"TAG\d+y", content)}
        assert found == living
        assert (await stage.say("after", 1000)).text == "after"


async def test_the_log_cannot_be_emptied_while_another_reads(
    store: SqlStore, stage: Stage, path: Path
) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT * FROM turns").fetchall()
    await stage.say("x", 1)
    assert not await store.truncate_wal()
    other.execute("COMMIT")
    other.close()
    assert await store.truncate_wal()


# ---------------------------------------------------------------- files that cannot be used
async def test_describe_counts_what_is_there(store: SqlStore, stage: Stage, path: Path) -> None:
    await stage.say("one", 1)
    await stage.say("two", 2)
    await store.turns.commit([MessagesDeleted(TAVERN.id, (1,))])
    await store.turns.commit_reply(stage.spoken("Yes."), ["Yes."], [])
    found = await store.describe()
    assert found["check"] == "ok"
    assert found["path"] == str(path)
    assert (found["turns"], found["turns_to_summarise"], found["outbox_open"]) == (2, 2, 1)
    assert (found["personas"], found["scenes"], found["memories"], found["keys_to_erase"]) == (1, 1, 2, 1)
    assert int(found["size_bytes"]) + int(found["wal_bytes"]) > 100_000


async def opening_fails(path: Path, match: str) -> str:
    with pytest.raises(StorageError, match=match) as caught:
        async with open_store(path):
            pass
    return str(caught.value)


async def test_a_file_that_is_no_database(path: Path) -> None:
    put_bytes(path, b"This is a letter to my aunt. " * 400)
    message = await opening_fails(path, "backup")
    assert str(path) in message
    assert bytes_of(path).startswith(b"This is a letter")


async def test_a_damaged_database(path: Path) -> None:
    async with open_store(path) as store:
        stage = await set_stage(store)
        await stage.say("x", 1)
    content = bytearray(bytes_of(path))
    content[4096 * 2 :] = b"\x07" * (len(content) - 4096 * 2)
    put_bytes(path, content)
    with pytest.raises(StorageError, match=r"damaged|backup"):
        async with open_store(path) as store:
            await newest_turns(store, 1, 5)


async def test_a_locked_database(path: Path) -> None:
    async with open_store(path):
        pass
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        await opening_fails(path, "another program")
    finally:
        other.close()


async def test_a_folder_in_the_files_place(tmp_path: Path) -> None:
    await opening_fails(tmp_path, "right to write")


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("attempt to write a readonly database", "right to write"),
        ("database or disk is full", "Free some space"),
        ("disk I/O error", "Free some space"),
        ("database disk image is malformed", "backup"),
        ("database is locked", "another program"),
        ("no such table: turns", "no such table: turns"),
    ],
)
def test_every_failure_says_what_to_do(path: Path, said: str, advice: str) -> None:
    with pytest.raises(StorageError, match=advice) as caught, storage_errors(path):
        raise sqlite3.OperationalError(said)
    assert str(path) in str(caught.value)


async def test_a_closed_store_says_so(path: Path) -> None:
    async with open_store(path) as store:
        pass
    with pytest.raises(StorageError, match="closed"):
        await newest_turns(store, 1, 5)
    with pytest.raises(StorageError, match="closed"):
        await store.settings.set_value("a", "b")


async def test_closing_waits_for_work_under_way(path: Path) -> None:
    async with open_store(path) as store:
        stage = await set_stage(store)
        task = asyncio.create_task(stage.say("last words", 1))
        await asyncio.sleep(0)
        task.cancel()
    async with open_store(path) as store:
        found = await store.turns.by_message(1)
        assert found is not None
        assert found.text == "last words"


async def test_errors_never_hold_what_members_wrote(store: SqlStore, stage: Stage) -> None:
    with pytest.raises(StorageError) as caught:
        await stage.say("my secret", 1, scene_id=404)
    cause = caught.value.__cause__
    assert "my secret" not in f"{caught.value} {cause!r} {cause}"


def test_importing_the_store_brings_no_migration_tool() -> None:
    source = "import sys, bot.adapters.sql_store; print('alembic' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=PROJECT, capture_output=True, text=True, check=True, timeout=50
    )
    assert done.stdout.strip() == "False"
