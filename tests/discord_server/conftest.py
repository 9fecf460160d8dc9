"""A small world with a sample bot, for the tests of the loopback Discord itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import discord
import pytest

from .models import Channel, Guild, Message
from .sample_bot import SampleBot
from .server import DiscordServer
from .users import ScriptedUser


@dataclass
class Tavern:
    """One guild with a channel, a forum and two people."""

    server: DiscordServer
    guild: Guild
    inn: Channel
    forum: Channel
    alice: ScriptedUser
    mod: ScriptedUser


@pytest.fixture
def tavern(discord_server: DiscordServer) -> Tavern:
    """A small world."""
    guild = discord_server.add_guild("Tavern")
    return Tavern(
        discord_server,
        guild,
        discord_server.add_channel(guild, "inn"),
        discord_server.add_channel(guild, "tales", kind="forum"),
        discord_server.add_member(guild, "Alice"),
        discord_server.add_moderator(guild, "Mod"),
    )


@pytest.fixture
async def bot(tavern: Tavern) -> AsyncIterator[SampleBot]:
    """A sample bot on the unmodified client that is ready in the tavern."""
    client = SampleBot()
    async with running(client, tavern.server):
        yield client


class running:
    """Keeps a client logged in inside `async with`."""

    def __init__(self, client: SampleBot, server: DiscordServer) -> None:
        """Log `client` in to `server`."""
        self._client = client
        self._server = server
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> SampleBot:
        """Start and wait until the client is ready."""
        self._task = asyncio.create_task(self._client.start(self._server.token), name="sample-bot")
        waiting = asyncio.create_task(self._client.wait_until_ready_safely(), name="sample-bot-ready")
        done, _ = await asyncio.wait({self._task, waiting}, timeout=20, return_when=asyncio.FIRST_COMPLETED)
        if waiting not in done:
            waiting.cancel()
            await self._task
        return self._client

    async def __aexit__(self, *_: object) -> None:
        """Log out."""
        await self._client.close()
        assert self._task is not None
        await asyncio.gather(self._task, return_exceptions=True)


async def heard(bot: SampleBot, message: Message) -> discord.Message:
    """Return a message once the bot has got its event."""
    return await bot.until(lambda: next((item for item in bot.heard if item.id == message.id), None))
