"""Whether anything said falls into the gap between window, notes and memory, over a long and broken evening.

Eight members talk in four scenes with the real bot in its own process, between the loopback Discord and a
model server that fails every fifth call. The bot is killed (kill -9) three times in the middle of it, and
the members go on talking while it is down. After each kill and at the end every turn is looked at in the
database: it has one memory, and is covered by notes, shown by the window, or waiting for notes; at the end
every message of a member is stored as one turn.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks._encoding import say
from benchmarks._filled import MEMBERS, PERSONA, prepare
from benchmarks._notes import notes_for
from benchmarks._stage import Town, bot_in, connected, town, until
from benchmarks._words import Sentences
from bot.app import DATABASE
from tests.discord_server import BotProcess, Channel, Message, ScriptedUser
from tests.model_server import Behaviour, Fail, RecordedRequest, Say

SCENES: Final = 4
MORE_MEMBERS: Final = (("Emil", 905), ("Fay", 906), ("Gus", 907), ("Hope", 908))
WINDOW: Final = 256
"""Turns that a place holds for prompts, with a context of 4,096 tokens."""
ASKED: Final = 12
"""Every so many messages one speaks to the persona."""
DOWN: Final = 25
"""Messages that are said between a kill and the next start."""
_PAUSE_S: Final = 0.01
_AHEAD: Final = 40
"""Messages that members are ahead of the running bot at most, so that a kill meets it at work."""
_SETTLE_S: Final = 900.0


def run(arguments: Sequence[str], turns: int = 5_000, kills: int = 3) -> dict[str, Any]:
    """Return counts over all turns at the end, and under `after_kill_1` … those of the stored turns there.

    `lost`: messages of members that are not stored at the end. `doubled`: messages stored as more than one
    turn. `without_one_memory`: turns with no memory or several. Each turn is `covered` by a revision of the
    notes, else `in_window`, else `waiting`; `nowhere` counts those that claim a revision which is not there.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks gap", description=__doc__)
    parser.add_argument("--turns", type=int, default=turns, help="messages of members")
    parser.add_argument("--kills", type=int, default=kills, help="times that the bot is killed")
    parser.add_argument("--failing", type=float, default=0.2, help="share of model calls that fail")
    chosen = parser.parse_args(arguments)
    return asyncio.run(_run(chosen.turns, chosen.kills, chosen.failing))


async def _run(turns: int, kills: int, failing: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="troupe-") as name:
        folder = Path(name)
        async with town(SCENES) as where:
            evening = _Evening(where, turns)
            model = _Failing(failing)
            where.model.set_script("reply", model.reply)
            where.model.set_script("memory", model.notes)
            await prepare(folder, where.places)
            figures = await _played(bot_in(folder, where), evening, folder / DATABASE, kills)
    return {
        "turns_said": turns,
        "kills": kills,
        "model_calls": model.calls,
        "model_calls_failed": model.failed,
        **figures,
    }


async def _played(bot: BotProcess, evening: _Evening, database: Path, kills: int) -> dict[str, Any]:
    """The whole evening; the counts at its end and after each kill."""
    after: dict[str, Any] = {}
    share = evening.turns // (kills + 1)
    try:
        for number in range(kills):
            await _up(bot, evening.where)
            await evening.go_on(share - (DOWN if number else 0), database)
            await bot.kill()
            after[f"after_kill_{number + 1}"] = _Account.read(database).figures([])
            say(f"kill {number + 1}: {after[f'after_kill_{number + 1}']}")
            await evening.go_on(min(DOWN, share))
        await _up(bot, evening.where)
        await evening.go_on(evening.turns - len(evening.said), database)
        await _settled(database, evening.said)
        await bot.terminate()
    except BaseException:
        print(bot.output[-4000:])
        raise
    finally:
        if bot.running:
            await bot.kill()
    errors = [error["message"] for error in bot.errors()]
    for message in sorted(set(errors))[:10]:
        say(f"logged as an error: {message}")
    return {**_Account.read(database).figures(evening.said), "errors_logged": len(errors), **after}


async def _up(bot: BotProcess, where: Town) -> None:
    marks = bot.output.count("Connected to Discord")
    await bot.start()
    await until(lambda: bot.output.count("Connected to Discord") > marks, "the connection")
    await connected(bot, where)


async def _settled(database: Path, said: Sequence[Message]) -> None:
    """Wait until all is stored and indexed, and hardly a turn waits for notes; failed calls are slow."""
    for second in range(int(_SETTLE_S)):
        account = _Account.read(database)
        if not account.missing(said) and account.unindexed == 0 and account.uncovered <= SCENES * 10:
            return
        if second % 10 == 0:
            say(f"{account.uncovered} turns wait for notes, {account.unindexed} memories for vectors")
        await asyncio.sleep(1)


class _Evening:
    """What the members say, and where: the same at every run."""

    def __init__(self, where: Town, turns: int) -> None:
        self.where = where
        self.turns = turns
        self.said: list[Message] = []
        self._sentences = Sentences(seed=4)
        self._random = Random(5)
        others = (where.discord.add_member(where.guild, name, user_id=owner) for name, owner in MORE_MEMBERS)
        self._members: list[ScriptedUser] = [*where.members, *others]
        assert len(self._members) == len(MEMBERS) + len(MORE_MEMBERS)

    async def go_on(self, count: int, database: Path | None = None) -> None:
        """Say so many more messages; with a database no faster than the bot stores them."""
        for _ in range(max(0, count)):
            number = len(self.said) + 1
            member = self._random.choice(self._members)
            channel: Channel = self._random.choice(self.where.channels)
            call = f"{PERSONA}, " if number % ASKED == 0 else ""
            self.said.append(await member.say(channel, f"{call}{self._sentences.next()} ({number})"))
            if number % 250 == 0:
                say(f"{number} of {self.turns} said")
            await asyncio.sleep(_PAUSE_S)
            if database and number % _AHEAD == 0:
                await _caught_up(database, number - _AHEAD)


async def _caught_up(database: Path, wanted: int) -> None:
    await until(lambda: _stored(database) >= wanted, "the messages are stored")


def _stored(database: Path) -> int:
    with closing(_reading(database)) as opened:
        return int(opened.execute("SELECT count(*) FROM turn_messages").fetchone()[0])


def _reading(database: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)


class _Failing:
    """A model that breaks down every so often, in several ways, and else answers well."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._random = Random(6)
        self._sentences = Sentences(seed=7)
        self.calls = self.failed = 0

    def reply(self, request: RecordedRequest) -> Behaviour:
        """A reply, or a failure."""
        return self._failure() or Say(f"*nods* {self._sentences.next()}", chunks=None)

    def notes(self, request: RecordedRequest) -> Behaviour:
        """Notes, or a failure; every other one is an answer that makes no sense."""
        failure = self._failure()
        if failure and self.failed % 2:
            return Say("I would rather talk about the weather.")
        return failure or Say(notes_for(request.text, request.number))

    def _failure(self) -> Behaviour | None:
        self.calls += 1
        if self._random.random() >= self._share:
            return None
        self.failed += 1
        return Fail(500) if self.failed % 3 else Fail(503, "overloaded")


@dataclass(frozen=True)
class _Account:
    """What the database holds, read past the bot."""

    messages: Mapping[int, int]
    """Turns by the Discord messages of members."""
    turns: Sequence[tuple[int, bool, bool, bool, int]]
    """Of each turn: id, covered by a revision that is there, not covered, in the window, its memories."""
    unindexed: int

    @classmethod
    def read(cls, database: Path) -> _Account:
        """The counts as they stand on disk now."""
        with closing(_reading(database)) as opened:
            messages = opened.execute(
                "SELECT message_id, count(*) FROM turn_messages GROUP BY message_id"
            ).fetchall()
            turns = opened.execute(_TURNS, (WINDOW,)).fetchall()
            unindexed = opened.execute("SELECT count(*) FROM memories WHERE indexed_by IS NULL").fetchone()[0]
        return cls(dict(messages), turns, unindexed)

    @property
    def uncovered(self) -> int:
        """Turns that no notes cover yet."""
        return sum(1 for turn in self.turns if turn[2])

    def missing(self, said: Sequence[Message]) -> int:
        """Messages of members that are not stored."""
        return sum(1 for message in said if message.id not in self.messages)

    def figures(self, said: Sequence[Message]) -> dict[str, int]:
        """The counts that are promised."""
        return {
            "turns": len(self.turns),
            "lost": self.missing(said),
            "doubled": sum(1 for count in self.messages.values() if count != 1),
            "covered": sum(1 for turn in self.turns if turn[1]),
            "in_window": sum(1 for turn in self.turns if turn[2] and turn[3]),
            "waiting": sum(1 for turn in self.turns if turn[2] and not turn[3]),
            "nowhere": sum(1 for turn in self.turns if not turn[1] and not turn[2]),
            "without_one_memory": sum(1 for turn in self.turns if turn[4] != 1),
            "not_indexed": self.unindexed,
        }


_TURNS: Final = """
SELECT id, covered_by IS NOT NULL AND EXISTS (
    SELECT 1 FROM scratchpad_revisions r WHERE r.id = covered_by AND r.scene_id = t.scene_id
), covered_by IS NULL, row_number() OVER (PARTITION BY scene_id ORDER BY id DESC) <= ?,
(SELECT count(*) FROM memories m WHERE m.turn_id = t.id)
FROM turns t WHERE deleted_at IS NULL
"""
