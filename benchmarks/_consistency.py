"""Whether the data folder of a bot that is down is sound: the database, and the search index against it."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import lancedb

from bot.app import DATABASE, INDEX

_TWICE: Final = {
    "a message is two turns": "SELECT message_id FROM turn_messages GROUP BY message_id HAVING count(*) > 1",
    "a turn is two memories": (
        "SELECT turn_id FROM memories WHERE turn_id IS NOT NULL GROUP BY turn_id HAVING count(*) > 1"
    ),
    "two memories of one text from the same turns": (
        "SELECT text FROM memories JOIN memory_sources ON memory_sources.memory_id = memories.id "
        "WHERE memories.turn_id IS NULL AND kind = 'fact' "
        "GROUP BY text, story_id, memory_sources.turn_id HAVING count(*) > 1"
    ),
}


def database_faults(folder: Path) -> list[str]:
    """What is wrong in the database, as the next start will find it."""
    with _copy(folder) as database:
        found = [
            str(complaint)
            for (complaint,) in database.execute("PRAGMA integrity_check(5)")
            if complaint != "ok"
        ]
        found += [f"foreign key: {row}" for row in database.execute("PRAGMA foreign_key_check").fetchmany(5)]
        if _has_tables(database):
            for what, query in _TWICE.items():
                if rows := database.execute(query).fetchmany(3):
                    found.append(f"{what}: {rows}")
        return found


def index_faults(folder: Path) -> list[str]:
    """What differs between the search index and the memories that the database says are in it."""
    with _copy(folder) as database:
        if not _has_tables(database):
            return []
        marked = database.execute("SELECT id FROM memories WHERE indexed_by IS NOT NULL").fetchall()
        known = {identifier for (identifier,) in database.execute("SELECT id FROM memories")}
        leaving = {identifier for (identifier,) in database.execute("SELECT memory_id FROM erasures")}
    rows = asyncio.run(_index_rows(folder / INDEX)) if (folder / INDEX).is_dir() else []
    keys = Counter((memory_id, part) for memory_id, part in rows)
    found = [f"key {key} stands {count} times" for key, count in keys.items() if count > 1]
    present = {memory_id for memory_id, _ in rows}
    found += [f"memory {one} is marked but not in the index" for (one,) in marked if one not in present]
    found += [f"the index knows {one}, which is no memory" for one in present - known - leaving]
    return found[:10]


@contextmanager
def _copy(folder: Path) -> Iterator[sqlite3.Connection]:
    """A copy of the database with its log: to open the files themselves would already mend them."""
    with tempfile.TemporaryDirectory(prefix="troupe-") as beside:
        for path in folder.glob(f"{DATABASE}*"):
            shutil.copy2(path, beside)
        with closing(sqlite3.connect(Path(beside) / DATABASE)) as database:
            yield database


def _has_tables(database: sqlite3.Connection) -> bool:
    """A first start that was killed early made none."""
    found = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'erasures'").fetchone()
    return found is not None


async def _index_rows(folder: Path) -> list[tuple[int, int]]:
    connection = await lancedb.connect_async(str(folder))
    rows: list[tuple[int, int]] = []
    for name in (await connection.list_tables(limit=10_000)).tables:
        table = await connection.open_table(name)
        content: list[dict[str, Any]] = (
            await table.query().select(["memory_id", "part"]).to_arrow()
        ).to_pylist()
        rows += [(int(row["memory_id"]), int(row["part"])) for row in content]
    return rows


def errors_in(path: Path) -> list[dict[str, Any]]:
    """What a bot logged as errors into this file, one JSON object a line."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
