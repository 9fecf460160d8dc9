"""Keeps the bot under talk and random faults, and looks whether memory, files, tasks and disk stay bounded.

Faults come every few seconds: refused and cut requests, limits, lost connections and sessions, a model that
fails, deleted webhooks, and now and then a stop or a kill. Then everything must be answered, stored once and
indexed, and no error may have been logged. What grows is compared between the first and the last third of the
longest time that the bot was not stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks._consistency import database_faults, index_faults
from benchmarks._crowd import Crowd
from benchmarks._encoding import say
from benchmarks._notes import notes_for
from tests.discord_server import BotProcess
from tests.e2e.bot_process import Stage, Table, eventually, stage
from tests.model_server import Behaviour, Fail, RecordedRequest, Say

CHANNELS: Final = 4
MEMBERS: Final = 40
SETTLED_S: Final = 180.0
EARLY_S: Final = (15.0, 15.0)
"""A stop and a kill come soon; the next ones after longer and longer times,"""
RESTARTS_S: Final = 180.0
"""no more often than this,"""
RESTARTS: Final = 8
"""and about so many times: between them what grows must have time to grow."""
MEASURED: Final = ("rss_mb", "open_files", "threads", "tasks", "disk_mb")
SETTINGS: Final = {"EMBEDDING_MODEL": "openai:letters", "CONTEXT_TOKENS": "2048"}
_REPLIES: Final = r"/webhooks/\d+/[^/]+$"


def run(arguments: Sequence[str]) -> dict[str, Any]:
    """Return what grew, how often which fault came, and everything that went wrong (must be 0)."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between two messages, about")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="troupe-", ignore_cleanup_errors=True) as folder:
        return asyncio.run(_run(Path(folder), options))


async def _run(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    chance = random.Random(options.seed)
    tasks = folder / "tasks.txt"
    async with stage(folder, env={**SETTINGS, "LOOPBACK_TASKS": str(tasks)}) as on:
        on.model.set_script("memory", _notes)
        table = await Table.lay(on, "Harbour")
        channels = [table.channel(f"quay-{number}") for number in range(CHANNELS)]
        members = [table.member(f"Member {number}") for number in range(MEMBERS)]
        await table.persona("Mira", channels[0])
        for channel in channels:
            await table.scene("Feast", channel)
        crowd = Crowd(table, channels, members, chance, pause=options.pause)
        every = max(RESTARTS_S, 60 * options.minutes / RESTARTS)
        weather = Weather(on, crowd, chance, restart_after=itertools.chain(EARLY_S, itertools.repeat(every)))
        growth = Growth(on.bot, folder, tasks)
        crowd.begin()
        ends = time.monotonic() + 60 * options.minutes
        while time.monotonic() < ends:
            await asyncio.sleep(chance.uniform(0.5, 3.0))
            await weather.turn()
            growth.look()
        on.restore()
        await crowd.hush()
        return await _ended(on, folder, crowd, weather, growth)


def _notes(request: RecordedRequest) -> Behaviour:
    return Say(chunks=(notes_for(request.text, request.number),), delay=0.5)


async def _ended(on: Stage, folder: Path, crowd: Crowd, weather: Weather, growth: Growth) -> dict[str, Any]:
    faults: list[str] = []
    try:
        all_done = "everything is heard, indexed and sent"  # a lost session takes a while to come back
        await eventually(lambda: len(_heard(on)) >= len(crowd.said) and not _waiting(on), all_done, SETTLED_S)
    except AssertionError as problem:
        faults.append(str(problem))
    growth.look()
    if await on.bot.terminate() != 0:
        faults.append("the bot did not end with 0")
    faults += [f"answered twice: {one}" for one in crowd.twice()]
    faults += [f"neither an answer nor a notice: {one}" for one in crowd.silence()]
    faults += [
        f"an error: {one['message']} {one['traceback'] or ''}"
        for one in on.take_errors()
        if not one["logger"].startswith("discord.")  # which tells so that a connection was lost
    ]
    faults += crowd.stored_wrong(_heard(on))
    faults += await asyncio.to_thread(database_faults, folder)
    faults += await asyncio.to_thread(index_faults, folder)
    faults += [str(one) for one in on.discord.take_violations()]
    answered = crowd.asked_at.keys() & crowd.answered().keys()
    for fault in faults:
        say(fault)
    return {
        "messages": len(crowd.said),
        "questions": len(crowd.asked_at),
        "answered": len(answered),
        "told": len(crowd.told() - answered),
        "told_and_answered": len(crowd.told() & answered),
        "model_calls": len(on.model.requests),
        "weather": dict(weather.came),
        **growth.figures(),
        "faults": len(faults),
        "first_faults": faults[:5],
    }


def _heard(on: Stage) -> list[tuple[int, str]]:
    rows = on.stored(
        "SELECT message_id, text FROM turns JOIN turn_messages ON turns.id = turn_id "
        "WHERE persona_id IS NULL ORDER BY message_id"
    )
    return [(int(row[0]), str(row[1])) for row in rows]


def _waiting(on: Stage) -> bool:
    rows = on.stored(
        "SELECT (SELECT count(*) FROM memories WHERE indexed_by IS NULL), "
        "(SELECT count(*) FROM outbox WHERE closed_at IS NULL)"
    )
    return any(rows[0])


class Weather:
    """One random fault at a time."""

    def __init__(
        self, on: Stage, crowd: Crowd, chance: random.Random, *, restart_after: Iterator[float]
    ) -> None:
        """`restart_after` are the seconds until each stop or kill; these two come by turns."""
        self._on = on
        self._crowd = crowd
        self._chance = chance
        self._restart_after = restart_after
        self._endings = itertools.cycle(("stopped", "killed"))
        self._wait = next(restart_after)
        self._restarted = time.monotonic()
        self.came: Counter[str] = Counter()
        self._kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "sunshine": self._sunshine,
            "refused": self._refused,
            "cut": self._cut,
            "limited": self._limited,
            "connection lost": self._on.discord.gateway.drop,
            "session lost": self._session_lost,
            "model fails": self._model_fails,
            "webhook deleted": self._webhook_deleted,
        }

    async def turn(self) -> None:
        """Let something happen."""
        if time.monotonic() - self._restarted > self._wait:
            await self._restart()
            return
        name = self._chance.choice(list(self._kinds))
        self.came[name] += 1
        await self._kinds[name]()

    async def _sunshine(self) -> None:
        self._on.restore()
        self._on.model.set_script("memory", _notes)

    async def _refused(self) -> None:
        status = self._chance.choice((500, 502, 503, 504, 520))
        after = self._chance.random() < 0.5
        self._on.discord.fail_next("POST", _REPLIES, status=status, after_effect=after)

    async def _cut(self) -> None:
        self._on.discord.reset_next("POST", _REPLIES, when=self._chance.choice(("before", "after")))

    async def _limited(self) -> None:
        html = self._chance.random() < 0.5
        self._on.discord.limit_next("POST", _REPLIES, retry_after=0.2, html=html, via=not html)

    async def _session_lost(self) -> None:
        self._on.discord.gateway.invalid_session()

    async def _model_fails(self) -> None:
        self._on.model.set_script("memory", Fail(status=self._chance.choice((429, 500, 503))))

    async def _webhook_deleted(self) -> None:
        for webhook in self._on.discord.webhooks_of(self._chance.choice(self._crowd.channels)):
            self._on.discord.delete_webhook(webhook)

    async def _restart(self) -> None:
        ending = next(self._endings)
        self.came[ending] += 1
        if ending == "killed":
            await self._on.bot.kill()
        else:
            await self._on.bot.terminate(40)
        await self._on.up()
        self._restarted, self._wait = time.monotonic(), next(self._restart_after)


@dataclass(frozen=True)
class Look:
    """What a process and the folder hold at one moment."""

    pid: int
    rss_mb: float
    open_files: int
    threads: int
    tasks: int
    disk_mb: float


@dataclass
class Growth:
    """What the process and the folder hold, as time goes by."""

    bot: BotProcess
    folder: Path
    tasks: Path
    looks: list[Look] = field(default_factory=list)

    def look(self) -> None:
        """Note it now, while the bot runs."""
        if not self.bot.running:
            return
        process = Path(f"/proc/{self.bot.pid}")
        status = dict(
            line.split(":", 1) for line in (process / "status").read_text("ascii").splitlines() if ":" in line
        )
        self.looks.append(
            Look(
                pid=self.bot.pid,
                rss_mb=int(status["VmRSS"].split()[0]) / 1024,
                open_files=len(list((process / "fd").iterdir())),
                threads=int(status["Threads"]),
                tasks=int(self.tasks.read_text("ascii") or 0) if self.tasks.exists() else 0,
                disk_mb=sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file()) / 1e6,
            )
        )

    def figures(self) -> dict[str, float]:
        """The median in the first and in the last third of the longest life of a process (of the disk: of the
        whole time), and the most there ever was."""
        lives = [list(life) for _, life in itertools.groupby(self.looks, key=lambda one: one.pid)]
        longest = max(lives, key=len, default=[])
        found: dict[str, float] = {"looks_at_longest_life": len(longest)}
        for name in MEASURED if longest else ():
            looks = self.looks if name == "disk_mb" else longest
            third = max(1, len(looks) // 3)
            for which, some in (("first_third", looks[:third]), ("last_third", looks[-third:])):
                found[f"{name}_{which}"] = round(median(getattr(one, name) for one in some), 1)
            found[f"{name}_most"] = round(max(getattr(one, name) for one in self.looks), 1)
        return found
