"""Brings a running bot to a named moment in which it is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
import sys
from pathlib import Path
from typing import Final

from benchmarks._crowd import Crowd
from benchmarks._moments import Moment, Way
from bot.adapters.backup_file import is_backup
from bot.app import INDEX
from tests.discord_server import ScriptedUser
from tests.discord_server.errors import ScriptError
from tests.e2e.bot_process import Stage, eventually

PATIENCE_S: Final = 60.0
"""After so long without it, the moment counts as missed."""
_COMMAND_S: Final = 120.0


class Aim:
    """Kills the bot of a stage at moments, one by one. The bot must be down; it is down afterwards."""

    def __init__(self, on: Stage, folder: Path, crowd: Crowd, chance: random.Random) -> None:
        self._on = on
        self._folder = folder
        self._crowd = crowd
        self._chance = chance
        self._ghosts = 0

    async def kill(self, moment: Moment) -> list[str]:
        """Start the bot, wait until the moment has killed it; what went wrong."""
        bot = self._on.bot
        if moment.way is Way.REBUILD:
            await asyncio.to_thread(shutil.rmtree, self._folder / INDEX, ignore_errors=True)
        marks = bot.output.count("Connected to Discord")
        await bot.start(moment.environment(self._chance.uniform(0.0, moment.within)))
        ways = {Way.STOP: self._stop, Way.FORGET: self._forget, Way.BACKUP: self._backup}
        problems: list[str] = []
        if moment.way in ways:
            await eventually(
                lambda: bot.output.count("Connected to Discord") > marks, "the connection", PATIENCE_S
            )
            problems = await ways[moment.way]()
        try:
            code = await bot.wait(PATIENCE_S)
        except TimeoutError:
            await bot.kill()
            return [*problems, f"the moment did not come: {moment.name}"]
        missed = [] if code == -signal.SIGKILL else [f"it ended with {code}, not by {moment.name}"]
        return [*problems, *missed]

    async def _stop(self) -> list[str]:
        await asyncio.sleep(self._chance.uniform(0.0, 2.0))
        os.kill(self._on.bot.pid, signal.SIGTERM)
        return []

    async def _forget(self) -> list[str]:
        """Somebody who said one thing has it erased, and never hears that it is done."""
        self._ghosts += 1
        ghost = self._crowd.table.member(f"Ghost {self._ghosts}")
        channel = self._crowd.channels[0]
        said = await ghost.say(channel, f"My lantern is number {self._ghosts}.")
        query = "SELECT 1 FROM turn_messages WHERE message_id = ?"
        await eventually(lambda: self._on.stored(query, said.id), "what the ghost said is stored", PATIENCE_S)
        asking = asyncio.create_task(self._ask(ghost), name="forget the ghost")
        try:
            await eventually(
                lambda: not self._on.bot.running or asking.done(), "the end of the bot", PATIENCE_S
            )
            return [f"the ghost was told: {asking.result()}"] if asking.done() else []
        except (AssertionError, TimeoutError) as problem:
            return [f"the bot goes on, and the ghost hears nothing: {problem!r}"]
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    async def _ask(self, ghost: ScriptedUser) -> str:
        while True:  # as people do when Discord says that the application did not respond
            with contextlib.suppress(ScriptError):
                asked = await ghost.slash("privacy forget-me", self._crowd.channels[0])
                shown = await asked.answer(PATIENCE_S)
                clicked = await ghost.click(shown, "Erase everything")
                return (await clicked.answer(PATIENCE_S)).text
            await asyncio.sleep(1.0)

    async def _backup(self) -> list[str]:
        """The one who asked takes the backup alone when the bot is gone."""
        target = self._folder.parent / f"{self._folder.name}-backup.zip"
        target.unlink(missing_ok=True)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "backup", str(target)),
            env={**os.environ, **self._on.bot.environment},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(_COMMAND_S):
                said, _ = await process.communicate()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            return ["the backup did not end"]
        sound = process.returncode == 0 and await asyncio.to_thread(is_backup, target)
        target.unlink(missing_ok=True)
        return [] if sound else [f"no backup was made: {said.decode(errors='replace')[-300:]}"]
