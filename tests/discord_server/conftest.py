"""Makes the fixtures of the loopback Discord known to its own tests, and a connected sample bot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from .fixtures import discord_server, logged_errors
from .sample_bot import SampleBot
from .server import DiscordServer

__all__ = ["bot", "discord_server", "logged_errors"]


@pytest.fixture
async def bot(discord_server: DiscordServer) -> AsyncIterator[SampleBot]:
    """A sample bot on the unmodified client that has logged in."""
    client = SampleBot()
    task = asyncio.create_task(client.start(discord_server.token), name="sample-bot")
    waiting = asyncio.create_task(discord_server.ready(), name="sample-bot-ready")
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        waiting.cancel()
        await task
    yield client
    await client.close()
    await asyncio.gather(task, return_exceptions=True)
