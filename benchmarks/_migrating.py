"""Kills a bot while it brings an old database up to date, and looks whether that can be told afterwards."""

from __future__ import annotations

import asyncio
import hashlib
import random
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from benchmarks._consistency import database_faults
from benchmarks._moments import Moment
from bot.adapters.sql_store.migrate import upgrade
from bot.app import DATABASE
from tests.adapters.sql_store.oldest import oldest
from tests.discord_server import BotProcess
from tests.e2e.bot_process import START_S, Stage, eventually

TURNS: Final = 20_000
_MORE: Final = f"""
CREATE TEMP TABLE numbers AS
    WITH RECURSIVE counting(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM counting WHERE n < {TURNS})
    SELECT n FROM counting;
INSERT INTO turns (id, space_id, place_id, scene_id, story_id, owner_id, audience_id, kind, created_at,
                   speaker, text, covered_by)
    SELECT n, 9, 500, 1, 1, 77, 1, 'ic', '2026-01-01 00:00:01.000000', 'Ana', 'I count ' || n || '.', 1
    FROM numbers;
INSERT INTO turn_messages (message_id, turn_id) SELECT n + 100, n FROM numbers;
INSERT INTO memories (id, kind, space_id, place_id, story_id, scene_id, turn_id, audience_id, created_at)
    SELECT n + 10, 'turn', 9, 500, 1, 1, n, 1, '2026-01-01 00:00:01.000000' FROM numbers;
"""


class OldDatabase:
    """A database of the oldest schema with many rows, made once and copied for each kill."""

    def __init__(self, on: Stage, folder: Path, chance: random.Random) -> None:
        self._on = on
        self._folder = folder
        self._chance = chance
        self._kills = 0
        self._expected = ""

    async def kill(self, moment: Moment) -> list[str]:
        """Kill a bot that migrates; then the database is sound, and migrates to what it would have become."""
        if not self._expected:
            await asyncio.to_thread(self._make)
        self._kills += 1
        data = self._folder / f"old-{self._kills}"
        data.mkdir()
        shutil.copy2(self._template, data / DATABASE)
        bot = self._on.bot.beside(data)
        await bot.start(moment.environment(self._chance.uniform(0.0, moment.within)))
        if await bot.wait(START_S) != -signal.SIGKILL:
            return [f"it was not killed {moment.name}: {bot.output[-300:]}"]
        found = await asyncio.to_thread(database_faults, data)
        found += await asyncio.to_thread(self._differs, data)
        found += await self._starts(bot)
        shutil.rmtree(data, ignore_errors=True)
        return found

    @property
    def _template(self) -> Path:
        return self._folder / "oldest.sqlite3"

    def _make(self) -> None:
        self._folder.mkdir()
        oldest(self._template, self._folder)
        with closing(sqlite3.connect(self._template)) as database:
            database.executescript(_MORE)
        self._expected = _migrated(self._template, self._folder / "expected")

    def _differs(self, data: Path) -> list[str]:
        same = _migrated(data / DATABASE, data / "looked-at") == self._expected
        return [] if same else ["a migration that was killed ends in another database"]

    @staticmethod
    async def _starts(bot: BotProcess) -> list[str]:
        await bot.start()
        await bot.ready(START_S)
        await eventually(lambda: "Connected to Discord" in bot.output, "the connection", START_S)
        code = await bot.terminate()
        with closing(sqlite3.connect(bot.folder / DATABASE)) as database:
            (turns,) = database.execute("SELECT count(*) FROM turns WHERE text != ''").fetchone()
        wrong = [f"{turns} of {TURNS} turns are left"] if turns != TURNS else []
        wrong += [f"the bot ended with {code}"] if code else []
        return wrong + [str(one["message"]) for one in bot.errors()]


def _migrated(source: Path, folder: Path) -> str:
    """A digest of all rows and tables that a copy of the database has when it is migrated."""
    folder.mkdir()
    for path in source.parent.glob(f"{source.name}*"):
        shutil.copy2(path, folder)
    upgrade(folder / source.name)
    digest = hashlib.sha256()
    with closing(sqlite3.connect(folder / source.name)) as database:
        for line in database.iterdump():
            digest.update(line.encode())
    shutil.rmtree(folder)
    return digest.hexdigest()
