"""Many servers at once: how soon what is said is stored, answered and indexed, and who waits for whom.

The loopback Discord and the bot have processes of their own, the scripted model server (which takes
`--model-s` for each answer) is in this one. A scene is played in every channel; every twentieth message is a
question, and every tenth message comes from one noisy server.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import re
import sqlite3
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks._alone import City, LoneBot, city
from benchmarks._consistency import database_faults, errors_in, index_faults
from benchmarks._encoding import say
from benchmarks._filled import PERSONA, begin
from benchmarks._notes import notes_for
from benchmarks._words import Sentences
from bot.adapters.sql_store import open_store
from bot.app import DATABASE
from bot.core.types import Place
from tests.model_server import Behaviour, ModelServer, RecordedRequest, Say

_NUMBER: Final = re.compile(r"#(\d+) please")
_EPOCH_MS: Final = 1_420_070_400_000
_LOOK_S: Final = 0.01
_INDEX_S: Final = 300.0
_ANSWER_S: Final = 120.0
_REST_S: Final = 3.0
_BUSY_CPU_S: Final = 0.6
"""Processor time within that time from which on the bot is at work."""


def run(arguments: Sequence[str]) -> dict[str, Any]:
    """Return seconds, milliseconds, MiB and counts; see the names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks load", description=__doc__)
    parser.add_argument("--guilds", type=int, default=1000)
    parser.add_argument("--channels", type=int, default=5, help="in each guild, with a scene in each")
    parser.add_argument("--per-second", type=float, default=200.0, help="messages in all guilds together")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--model-s", type=float, default=1.0)
    parser.add_argument("--embedding", default="bundled", help="`openai:letters` asks the scripted server")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="troupe-", ignore_cleanup_errors=True) as folder:
        return asyncio.run(_run(Path(folder), options))


async def _run(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    async with city(options.guilds, options.channels, 3) as where, ModelServer() as model:
        _script(model, options.model_s)
        say(f"{options.guilds} guilds are there")
        await _prepare(folder, where)
        say("scenes are played in all of their channels")
        bot = LoneBot(folder, _settings(model, options))
        await bot.start(where)
        try:
            return await _measured(bot, where, folder, options)
        except BaseException:
            print("\n".join(bot.lines[-40:]))
            raise
        finally:
            await bot.stop()


def _settings(model: ModelServer, options: argparse.Namespace) -> dict[str, str]:
    return {
        "LLM_BASE_URL": model.url,
        "LLM_MODEL": model.model,
        "LLM_CONCURRENCY": "16",
        "CONTEXT_TOKENS": "4096",
        "EMBEDDING_MODEL": options.embedding,
    }


def _script(model: ModelServer, seconds: float) -> None:
    def reply(request: RecordedRequest) -> Behaviour:
        turns = request.messages[-1][1].rpartition("</notes>")[2]
        asked = " ".join(f"#{number} please" for number in _NUMBER.findall(turns))
        return Say(chunks=(f"*nods* You said {asked}. That was {request.number}.",), delay=seconds)

    model.set_script("reply", reply)
    model.set_script("memory", lambda one: Say(chunks=(notes_for(one.text, one.number),), delay=seconds))


async def _prepare(folder: Path, where: City) -> None:
    sentences = Sentences()
    async with open_store(folder / DATABASE) as store:
        for guild in where.guilds:
            space = int(guild["guild"])
            places = [Place(int(one), space, f"quay-{at}") for at, one in enumerate(guild["channels"])]
            await begin(store, places, sentences)


async def _measured(bot: LoneBot, where: City, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    figures: dict[str, Any] = {"ready_s": round(await bot.until_said("Connected to Discord"), 1)}
    figures["histories_read_s"] = round(await _at_rest(where, bot), 1)
    say("at rest")
    watch, samples = Watch(folder / DATABASE), Samples(bot)
    beside = [
        asyncio.create_task(watch.run(), name="watch the journal"),
        asyncio.create_task(samples.run(), name="sample the process"),
    ]
    commands = asyncio.create_task(_commands(where, options.seconds), name="commands")
    count = int(options.per_second * options.seconds)
    wanted = {"guilds": where.guilds, "count": count, "per_second": options.per_second, "asking": 20}
    used = bot.cpu_seconds()
    said = await where.do("crowd", name=PERSONA, noisy=0.1, **wanted)
    say(f"{count} messages in {said['seconds']:.0f} s")
    ended, used = time.monotonic(), bot.cpu_seconds() - used
    acked = await commands
    figures |= await _answers(where, said["questions"])
    figures["indexed_after_s"] = round(await _indexed(folder, ended), 1)
    for task in beside:
        task.cancel()
    await asyncio.gather(*beside, return_exceptions=True)
    figures |= {
        "said_per_s": round(count / said["seconds"], 1),
        "cpu_ms_per_message": round(1000 * used / count, 2),
        "stored_p50_ms": round(_part(watch.delays, 0.5) * 1000),
        "stored_p95_ms": round(_part(watch.delays, 0.95) * 1000),
        "acknowledged_p95_s": round(_part(acked, 0.95), 2),
        "acknowledged_longest_s": round(max(acked, default=0.0), 2),
        **samples.figures(options.seconds),
        **await _connection(where, bot),
    }
    figures["stop_s"] = round(await bot.stop(), 1)
    faults = await asyncio.to_thread(_faults, folder, count)
    return figures | {"faults": len(faults), "first_faults": faults[:5]}


async def _at_rest(where: City, bot: LoneBot) -> float:
    """Wait until the bot asks Discord for nothing any more and has loaded its models: then it hardly uses the
    processor. Seconds from its start to the last request."""
    before, quiet_since = (-1, 0.0), time.monotonic()
    last_request = quiet_since
    while time.monotonic() - quiet_since < _REST_S:
        await asyncio.sleep(0.25)
        now = int((await where.do("statistics"))["requests"]), bot.cpu_seconds()
        if now[0] != before[0]:
            last_request = time.monotonic()
        if now[0] != before[0] or now[1] - before[1] > _BUSY_CPU_S:
            before, quiet_since = now, time.monotonic()
    return last_request - bot.started_at


# ---------------------------------------------------------------- watching
@dataclass
class Watch:
    """Looks into the database from outside: seconds from a message's own time until it is stored."""

    path: Path
    delays: list[float] = field(default_factory=list)

    async def run(self) -> None:
        """Look a hundred times a second, in a thread."""
        stop = asyncio.Event()
        looking = asyncio.create_task(asyncio.to_thread(self._look, stop))
        try:
            await asyncio.shield(looking)
        finally:
            stop.set()
            await looking

    def _look(self, stop: asyncio.Event) -> None:
        query = "SELECT rowid, message_id FROM turn_messages WHERE rowid > ? ORDER BY rowid"
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=30)) as database:
            last = database.execute("SELECT coalesce(max(rowid), 0) FROM turn_messages").fetchone()[0]
            while not stop.is_set():
                rows, now = database.execute(query, (last,)).fetchall(), time.time()
                self.delays += [now - _moment(message) for _, message in rows]
                last = rows[-1][0] if rows else last
                time.sleep(_LOOK_S)


@dataclass
class Samples:
    """Resident memory and open files of the bot, every second."""

    bot: LoneBot
    taken: list[tuple[float, float, int]] = field(default_factory=list)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self.taken.append((time.monotonic(), self.bot.resident_mb(), self.bot.open_files()))
            await asyncio.sleep(1.0)

    def figures(self, warm_up_s: float) -> dict[str, float]:
        """Warm-up is the time in which messages come; what follows is answering and indexing."""
        began = self.taken[0][0]
        warm = [one for one in self.taken if one[0] - began <= warm_up_s]
        return {
            "rss_mb_at_rest": round(self.taken[0][1]),
            "rss_mb_under_load": round(max(size for _, size, _ in warm)),
            "rss_mb_at_the_end": round(self.taken[-1][1]),
            "open_files_most": max(files for *_, files in self.taken),
        }


async def _commands(where: City, seconds: float) -> list[float]:
    """A moderator's command every second; seconds until each was acknowledged (infinite: too late)."""
    began, times = time.monotonic(), []
    for number in range(int(seconds)):
        guild = where.guilds[number % len(where.guilds)]
        who = {"user": guild["members"][-1], "channel": guild["channels"][0]}
        try:
            told = await where.do("slash", **who, command="scene show")
            times.append(float(told["acked_s"]))
        except RuntimeError as problem:
            say(str(problem))
            times.append(math.inf)
        await asyncio.sleep(max(0.0, began + number + 1 - time.monotonic()))
    return times


async def _answers(where: City, questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Wait for an answer to each question; how long they took, in the noisy guild and in the others."""
    asked = {int(one["number"]): one for one in questions}
    deadline, answered, notices = time.monotonic() + _ANSWER_S, {}, 0
    twice = 0
    while time.monotonic() < deadline:
        answered, notices, twice = {}, 0, 0
        for message in await where.do("heard"):
            notices += bool(message["own"])
            for number in map(int, _NUMBER.findall(message["text"])):
                twice += number in answered
                answered[number] = _moment(int(message["id"]))
        if asked.keys() <= answered.keys():
            break
        await asyncio.sleep(3.0)
    noisy = where.guilds[0]["guild"]
    waits: dict[bool, list[float]] = {True: [], False: []}
    for number, at in answered.items():
        if number in asked:
            waits[asked[number]["guild"] == noisy].append(at - _moment(int(asked[number]["id"])))
    return {
        "questions": len(asked),
        "answered": len(asked.keys() & answered.keys()),
        "answered_twice": twice,
        "notices": notices,
        "answer_p50_s": round(_part(waits[False], 0.5), 2),
        "answer_p95_s": round(_part(waits[False], 0.95), 2),
        "answer_p95_s_noisy_guild": round(_part(waits[True], 0.95), 2),
    }


async def _indexed(folder: Path, since: float) -> float:
    """Wait until every memory is in the index; seconds since then, or what was waited in vain."""
    while await asyncio.to_thread(_waiting, folder):
        if time.monotonic() - since > _INDEX_S:
            break
        await asyncio.sleep(1.0)
    return time.monotonic() - since


def _waiting(folder: Path) -> int:
    with closing(sqlite3.connect(f"file:{folder / DATABASE}?mode=ro", uri=True, timeout=30)) as database:
        row = database.execute("SELECT count(*) FROM memories WHERE indexed_by IS NULL").fetchone()
        return int(row[0])


async def _connection(where: City, bot: LoneBot) -> dict[str, Any]:
    told = await where.do("statistics")
    late = [line for line in bot.lines if "heartbeat blocked" in line or "Can't keep up" in line]
    return {
        "sessions": told["identifies"],
        "resumes": told["resumes"],
        "late_heartbeats": len(late),
        "violations": len(told["violations"]),
    }


def _faults(folder: Path, count: int) -> list[str]:
    """What is wrong when all is over: lost messages, another order, errors, an index that does not fit."""
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        rows = database.execute(
            "SELECT turns.place_id, message_id FROM turns JOIN turn_messages ON turns.id = turn_id "
            "WHERE persona_id IS NULL ORDER BY turns.id"
        ).fetchall()
    newest: dict[int, int] = {}
    found = [] if len(rows) == count else [f"{len(rows)} of {count} messages are stored"]
    for place_id, message_id in rows:
        if message_id < newest.get(place_id, 0):
            found.append(f"order in place {place_id}")
        newest[place_id] = message_id
    found += [str(one["message"]) for one in errors_in(folder / "logged-errors.jsonl")]
    return found + database_faults(folder) + index_faults(folder)


def _moment(message_id: int) -> float:
    """When Discord made this id, in seconds since 1970."""
    return ((message_id >> 22) + _EPOCH_MS) / 1000


def _part(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else float("nan")
