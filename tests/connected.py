"""Connects the real client, on a fake engine, to the loopback Discord."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

from bot.client import TroupeClient

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe
from tests.discord_server import DiscordServer
from tests.fakes_troupe import FakeTroupe


class Values:
    """The small value store of the bot, in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    async def load(self, key: str) -> str | None:
        return self.kept.get(key)

    async def save(self, key: str, value: str) -> None:
        self.kept[key] = value


def make_client(troupe: FakeTroupe, values: Values | None = None) -> TroupeClient:
    """A client that is not connected yet."""
    values = values or Values()
    client = TroupeClient(guild_ready_timeout=0.05, first_restart_s=0.05)
    client.attach(cast("Troupe", troupe), load_value=values.load, save_value=values.save)
    return client


@asynccontextmanager
async def connected(
    server: DiscordServer, troupe: FakeTroupe, values: Values | None = None
) -> AsyncIterator[TroupeClient]:
    """A client that is connected, has its commands synced and has told the engine to start."""
    client = make_client(troupe, values)
    task = asyncio.create_task(client.serve(server.token), name="client under test")
    try:
        await until(server, task, lambda: troupe.starts > 0 and bool(server.commands.get(None)))
        yield client
    finally:
        await client.stop()
        await asyncio.gather(task, return_exceptions=True)
    await task


async def eventually(ready: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait for what no signal announces."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not ready():
        assert asyncio.get_running_loop().time() < deadline, "it did not happen"
        await asyncio.sleep(0.01)


async def until(server: DiscordServer, task: asyncio.Task[None], ready: Callable[[], object]) -> None:
    """Wait for a condition that the server may not see change; a client that ended fails at once."""
    async with asyncio.timeout(30):
        while not ready():
            if task.done():
                await task
                raise AssertionError("the client ended early")
            await asyncio.sleep(0.01)
