"""The real bot in this process, between the loopback Discord and the scripted model server."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, cast

import pytest

import bot.app
import bot.engine.conversation
import bot.serving
from bot.app import App
from bot.client import TroupeClient
from bot.settings import Settings
from tests.connected import eventually
from tests.discord_server import Channel, DiscordServer, ScriptedUser
from tests.discord_server.fixtures import LoggedErrors
from tests.e2e.bot_process import Stage, Table, echo
from tests.engine.stage import RealClock
from tests.fakes_encoder import HashEncoder
from tests.model_server import ModelServer

HOLD_S = 0.3
"""How long a place gathers messages after a failure of the model, here."""


class InstantEncoder(HashEncoder):
    """Words as vectors, opened like a real encoder; `delay` makes it slow."""

    delay = 0.0

    async def load(self, progress: object = None) -> None:
        """Takes its time when it is told so."""
        await asyncio.sleep(self.delay)
        self.ready = True

    async def embed_query(self, texts: Any) -> Any:
        await asyncio.sleep(self.delay)
        return await super().embed_query(texts)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


class OpenEncoder(Protocol):
    """What `bot.app` asks of an encoder."""

    async def __aenter__(self) -> Any: ...
    async def __aexit__(self, *_: Any) -> None: ...


class NoFeelings:
    """A scorer that never has a head: to fit one to words as vectors would take a second of every test."""

    ready = False

    def __init__(self, **_: object) -> None:
        """Takes what a scorer takes."""

    async def prepare(self) -> None:
        """Fit nothing."""

    async def refit(self) -> None:
        """Nothing either."""


@dataclass
class InProcess:
    """Both servers, and the bot as a task: the same assembly as `python -m bot`, with an encoder of ours."""

    discord: DiscordServer
    model: ModelServer
    folder: Path
    encoder: Any
    clock: RealClock = field(default_factory=RealClock)
    settings: Mapping[str, Any] = field(default_factory=dict)
    errors: LoggedErrors = field(default_factory=LoggedErrors)
    log: list[str] = field(default_factory=list)
    _patch: pytest.MonkeyPatch = field(default_factory=pytest.MonkeyPatch)
    _app: App | None = None
    _client: TroupeClient | None = None
    _task: asyncio.Task[int] | None = None

    # ------------------------------------------------------------ living
    @property
    def app(self) -> App:
        """The running parts."""
        assert self._app is not None
        return self._app

    @property
    def client(self) -> TroupeClient:
        """The connection."""
        assert self._client is not None
        return self._client

    def install(self) -> None:
        """Point discord.py at our Discord, and the assembly at our encoder and clock."""
        self.discord.patch(self._patch)
        self._patch.setattr(bot.app, "encoder_of", lambda _: self.encoder)
        self._patch.setattr(bot.app, "SeededScorer", NoFeelings)
        self._patch.setattr(bot.app, "now", self.clock)
        self._patch.setattr(bot.serving, "TroupeClient", self._make_client)
        self._patch.setattr(bot.serving, "open_app", self._open_app)
        self._patch.setattr(bot.engine.conversation, "HOLD_SECONDS", HOLD_S)

    def uninstall(self) -> None:
        """As it was before."""
        self._patch.undo()

    def _make_client(self) -> TroupeClient:
        self._client = TroupeClient(guild_ready_timeout=0.05, first_restart_s=0.05)
        return self._client

    @asynccontextmanager
    async def _open_app(self, *given: Any, **more: Any) -> AsyncIterator[App]:
        async with bot.app.open_app(*given, **more) as app:
            self._app = app
            yield app

    def make_settings(self) -> Settings:
        """What an owner would have set."""
        values = {
            "llm_base_url": self.model.url,
            "llm_model": self.model.model,
            "llm_api_key": "sk-secret-key-of-the-owner",
            "discord_token": self.discord.token,
            "data_dir": self.folder,
            "context_tokens": 4096,
        }
        return Settings(**{**values, **self.settings})

    async def up(self) -> None:
        """Start the bot; its commands can be used and it has connected."""
        self._client = None
        self._task = asyncio.create_task(bot.serving.serve(self.make_settings()), name="the bot")
        await eventually(self._is_up, 30.0)

    def _is_up(self) -> bool:
        task, client = self._task, self._client
        if task is not None and task.done():
            task.result()
            raise AssertionError("the bot ended early")
        known = bool(self.discord.commands.get(None))
        return client is not None and client.user is not None and client.is_ready() and known

    async def down(self) -> None:
        """Stop it as a supervisor does."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def again(self) -> None:
        """Stop and start."""
        await self.down()
        await self.up()

    # ------------------------------------------------------------ looking
    def stored(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Look into the bot's database from outside."""
        address = f"file:{self.folder / 'troupe.sqlite3'}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=10)) as database:
            return database.execute(query, values).fetchall()

    def restore(self) -> None:
        """Back to a model that answers and a Discord that works."""
        self.model.script.clear()
        self.model.refuses.clear()
        self.model.context = None
        self.model.set_script("reply", echo)
        self.discord.faults.clear()

    def check(self) -> None:
        """Fail when the bot logged an error or broke a rule of Discord."""
        errors = self.errors.described()
        self.errors.take()
        assert not errors, f"errors were logged:\n{errors}"
        violations = self.discord.take_violations()
        assert not violations, "\n".join(map(str, violations))

    def watch_log(self) -> None:
        """Keep errors apart, and every line that an owner would read."""
        self.errors.addFilter(self._keep)
        self.errors.setLevel(logging.INFO)
        logging.getLogger().addHandler(self.errors)
        self._patch.setattr(logging.getLogger("bot"), "level", logging.INFO)
        logging.getLogger("bot").manager._clear_cache()  # type: ignore[attr-defined]

    def _keep(self, record: logging.LogRecord) -> bool:
        self.log.append(record.getMessage())
        return record.levelno >= logging.ERROR

    def holding(self, word: str) -> list[str]:
        """Every table and column of the database where a word stands."""
        tables = [name for (name,) in self.stored("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = []
        for table in tables:
            for column in self.stored(f"PRAGMA table_info('{table}')"):
                query = f'SELECT count(*) FROM "{table}" WHERE CAST("{column[1]}" AS TEXT) LIKE ?'
                if self.stored(query, f"%{word}%") != [(0,)]:
                    found.append(f"{table}.{column[1]}")
        return found

    async def indexed(self, seconds: float = 10.0) -> None:
        """Every memory is in the search index."""
        async with asyncio.timeout(seconds):
            while await self.app.store.memories.count_to_index(self.encoder.id):
                await asyncio.sleep(0.02)


@asynccontextmanager
async def running(
    folder: Path,
    *,
    encoder: Any = None,
    start: bool = True,
    discord: Mapping[str, Any] | None = None,
    **settings: Any,
) -> AsyncIterator[InProcess]:
    """Both servers listening and, with `start`, the bot connected."""
    async with DiscordServer(**(discord or {})) as server, ModelServer() as model:
        play = InProcess(server, model, folder, encoder or InstantEncoder(), settings=settings)
        play.install()
        play.watch_log()
        play.restore()
        try:
            if start:
                await play.up()
            yield play
        finally:
            await play.down()
            logging.getLogger().removeHandler(play.errors)
            play.uninstall()


async def unbounded(play: InProcess, table: Table) -> None:
    """Let few members of the guild ask as much as many would."""
    for option in ("member_rate", "waiting_replies"):
        await play.app.troupe.options.set(table.guild.id, 0, option, "0")


async def lay(play: InProcess, name: str) -> Table:
    """A guild of its own, with the short words of the end-to-end tests."""
    return await Table.lay(cast("Stage", play), name)


async def feast(
    table: Table, *, channel: str = "inn", member: str = "Anna", persona: str = "Mira", **texts: str
) -> tuple[Channel, ScriptedUser]:
    """A persona in a scene, and a member to talk to it."""
    inn, anna = table.channel(channel), table.member(member)
    await table.persona(persona, inn, **texts)
    await table.scene("Feast", inn)
    if greeting := texts.get("greeting"):  # it comes after the command's answer
        await table.stage.discord.wait_for_message(inn, lambda one: one.content[-9:] == greeting[-9:])
    return inn, anna


def since(play: InProcess) -> Callable[[], list[Any]]:
    """The requests to Discord from now on."""
    start = play.discord.request_count
    return lambda: [one for one in play.discord.requests if one.index >= start]
