"""Kills the bot (kill -9) while people talk to it, and looks after each kill what is left.

The real bot in its own process, on the loopback Discord and the scripted model server (which also gives
the vectors). Every other kill comes at random: while it talks, while it starts (settling, reading histories),
while it stops. The others are aimed at one named moment after the other (`_moments`), so that short ones are
hit too: commits, sends, background calls, index writes, clean-up of tables, erasing, migrations, backups,
the steps of a stop.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks._aiming import Aim
from benchmarks._consistency import database_faults, index_faults
from benchmarks._crowd import Crowd
from benchmarks._encoding import say
from benchmarks._migrating import OldDatabase
from benchmarks._moments import MOMENTS, Moment, Way
from benchmarks._notes import notes_for
from tests.discord_server import ScriptedUser
from tests.e2e.bot_process import Stage, Table, eventually, stage
from tests.model_server import Behaviour, RecordedRequest, Say

CHANNELS: Final = 3
MEMBERS: Final = 24
SETTLED_S: Final = 120.0
TALKING, STARTING, STOPPING = "while it talks", "while it starts", "while it stops"
_KINDS: Final = (TALKING, TALKING, TALKING, STARTING, STOPPING)
_BETWEEN: Final = "before a start"
SETTINGS: Final = {"EMBEDDING_MODEL": "openai:letters", "CONTEXT_TOKENS": "2048"}


def run(arguments: Sequence[str]) -> dict[str, Any]:
    """Return counts: kills by moment, questions, answers, and everything that went wrong (all must be 0)."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="the same moments again, as far as a machine can")
    parser.add_argument("--longest", type=float, default=4.0, help="seconds of talk before a kill, at most")
    parser.add_argument("--only", default="", help="the named moments with this in their name, and no other")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="troupe-", ignore_cleanup_errors=True) as folder:
        data = Path(folder) / "data"
        data.mkdir()
        return asyncio.run(_run(data, options))


async def _run(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    chance = random.Random(options.seed)
    async with stage(folder, start=False, env=SETTINGS) as run_on:
        run_on.model.set_script("memory", _notes)
        trial = Trial(run_on, folder, chance, options.longest)
        await trial.first_start()
        moments = [moment for moment in MOMENTS if options.only in moment.name]
        for number in range(1, options.kills):
            if number % 2 or options.only:
                await trial.aimed_kill(moments[number // 2 % len(moments)])
            else:
                await trial.kill(_KINDS[number // 2 % len(_KINDS)], up=number + 1 == options.kills)
            say(f"{number + 1} of {options.kills} kills, {len(trial.crowd.said)} messages")
        await trial.finish()
        return trial.figures()


def _notes(request: RecordedRequest) -> Behaviour:
    return Say(chunks=(notes_for(request.text, request.number),), delay=0.5)


class Trial:
    """One bot that is killed again and again, and the crowd that talks to it."""

    def __init__(self, on: Stage, folder: Path, chance: random.Random, longest: float) -> None:
        self._on = on
        self._folder = folder
        self._chance = chance
        self._longest = longest
        self._start_s = 3.0
        self.kills: Counter[str] = Counter()
        self.faults: list[str] = []
        self.starts: list[float] = []
        self.crowd: Crowd
        self._aim: Aim
        self._old = OldDatabase(on, folder.parent / "old", chance)

    async def first_start(self) -> None:
        """The first kill comes while the database is made; then a scene begins in every channel."""
        await self._on.bot.start()
        await asyncio.sleep(self._chance.uniform(0.5, 1.5) * self._start_s / 2)
        await self._kill("while the database is made")
        await self._up()
        table = await Table.lay(self._on, "Harbour")
        channels = [table.channel(f"quay-{number}") for number in range(CHANNELS)]
        members: list[ScriptedUser] = [table.member(f"Member {number}") for number in range(MEMBERS)]
        await table.persona("Mira", channels[0])
        for channel in channels:
            await table.scene("Feast", channel)
        self.crowd = Crowd(table, channels, members, self._chance)
        self._aim = Aim(self._on, self._folder, self.crowd, self._chance)
        self.crowd.begin()

    async def kill(self, kind: str, *, up: bool) -> None:
        """One kill of this kind, and what is left afterwards; then the bot comes up again, if wanted."""
        bot = self._on.bot
        if kind == STARTING:
            await self._kill(_BETWEEN)
            await bot.start()
            await asyncio.sleep(self._chance.uniform(0.05, 1.1) * self._start_s)
        else:
            await asyncio.sleep(self._chance.uniform(0.2, self._longest))
            if kind == STOPPING and bot.running:
                bot._signal(signal.SIGTERM)
                await asyncio.sleep(self._chance.uniform(0.0, 0.8))
        await self._kill(kind)
        await asyncio.sleep(self._chance.uniform(0.0, 0.5))
        if up:
            await self._up()

    async def aimed_kill(self, moment: Moment) -> None:
        """One kill at a named moment, and what is left afterwards; then the bot is up again."""
        if self._on.bot.running:
            await self._kill(_BETWEEN)
        by = self._old if moment.way is Way.MIGRATE else self._aim
        self._note(moment.name, await by.kill(moment))
        await self._look(moment.name, index_too=moment.way is not Way.REBUILD)
        await self._up()

    async def _kill(self, kind: str) -> None:
        if self._on.bot.running:
            await self._on.bot.kill()
        await self._look(kind)

    async def _look(self, kind: str, *, index_too: bool = True) -> None:
        """Count a kill and note what it left. Without its index, the marks of what is in it stand for a
        moment longer."""
        self.kills[kind] += kind != _BETWEEN
        self._note(kind, await asyncio.to_thread(database_faults, self._folder))
        if index_too:
            self._note(kind, await asyncio.to_thread(index_faults, self._folder))
        self._note(kind, [f"{one['message']} {one['traceback'] or ''}" for one in self._on.take_errors()])

    async def _up(self) -> None:
        began = time.monotonic()
        await self._on.up()
        self._start_s = time.monotonic() - began
        self.starts.append(self._start_s)

    async def finish(self) -> None:
        """Let everything be answered and indexed, stop the bot, and compare all that there is."""
        await self.crowd.hush()
        try:
            await self.crowd.all_answered(SETTLED_S)
            await eventually(lambda: not self._waiting(), "everything is indexed and sent", SETTLED_S)
        except (TimeoutError, AssertionError) as problem:
            self._note("at the end", [str(problem)])
        if await self._on.bot.terminate() != 0:
            self._note("at the end", ["the bot did not end with 0"])
        self._note("at the end", [f"answered twice: {one}" for one in self.crowd.twice()])
        rows = self._on.stored(
            "SELECT message_id, text FROM turns JOIN turn_messages ON turns.id = turn_id "
            "WHERE persona_id IS NULL ORDER BY message_id"
        )
        self._note("at the end", self.crowd.stored_wrong([(int(row[0]), str(row[1])) for row in rows]))
        self._note("at the end", self._replies_stored_wrong())
        self._note("at the end", await asyncio.to_thread(database_faults, self._folder))
        self._note("at the end", await asyncio.to_thread(index_faults, self._folder))
        self._note("at the end", [str(one["message"]) for one in self._on.take_errors()])
        self._note("at the end", [str(one) for one in self._on.discord.take_violations()])

    def _waiting(self) -> bool:
        rows = self._on.stored(
            "SELECT (SELECT count(*) FROM memories WHERE indexed_by IS NULL), "
            "(SELECT count(*) FROM outbox WHERE closed_at IS NULL)"
        )
        return any(rows[0])

    def _replies_stored_wrong(self) -> list[str]:
        rows = self._on.stored(
            "SELECT message_id FROM turns JOIN turn_messages ON turns.id = turn_id "
            "WHERE persona_id IS NOT NULL"
        )
        stored = {int(row[0]) for row in rows}
        shown = {one.id for channel in self.crowd.channels for one in self.crowd.table.spoken(channel)}
        return [f"said but not stored: {one}" for one in shown - stored] + [
            f"stored but not said: {one}" for one in stored - shown
        ]

    def _note(self, kind: str, problems: list[str]) -> None:
        for problem in problems:
            say(f"{kind}: {problem}")
            self.faults.append(f"{kind}: {problem}")

    def figures(self) -> dict[str, Any]:
        """What happened, and what went wrong."""
        return {
            "kills": dict(self.kills),
            "messages": len(self.crowd.said),
            "questions": len(self.crowd.asked_at),
            "model_calls": len(self._on.model.requests),
            "start_s_longest": round(max(self.starts), 2),
            "faults": len(self.faults),
            "first_faults": self.faults[:5],
        }
