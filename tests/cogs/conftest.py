"""A guild on the loopback Discord with a connected client, for the tests of the cogs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from bot.client import TroupeClient
from tests.connected import connected
from tests.discord_server import Channel, DiscordServer, Guild, ScriptedUser
from tests.fakes_troupe import FakeTroupe


@dataclass
class Stage:
    """A guild with a channel, a moderator, a member, and the bot in it."""

    server: DiscordServer
    troupe: FakeTroupe
    client: TroupeClient
    guild: Guild
    channel: Channel
    moderator: ScriptedUser
    member: ScriptedUser


@pytest.fixture
async def stage(discord_server: DiscordServer) -> AsyncIterator[Stage]:
    troupe = FakeTroupe()
    guild = discord_server.add_guild("Tavern")
    channel = discord_server.add_channel(guild, "inn")
    moderator = discord_server.add_moderator(guild, "Mona")
    member = discord_server.add_member(guild, "Alice")
    async with connected(discord_server, troupe) as client:
        yield Stage(discord_server, troupe, client, guild, channel, moderator, member)
