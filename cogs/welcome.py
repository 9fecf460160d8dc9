"""The first steps, said once when the bot joins a guild."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import aiohttp
import discord

log = logging.getLogger(__name__)

FIRST_STEPS = (
    "Hello! I play **personas** in role-play scenes, and I remember them.\n"
    "1. `/persona create` – describe a character (needs Manage Channels).\n"
    "2. `/scene start` – begin a scene in a channel; the persona joins and greets.\n"
    "3. Talk. Call the persona by its name, or reply to it.\n"
    "-# Privacy: only messages in a channel with an active scene are remembered, and only there; "
    "deleting a message makes me forget it. `/help` tells more."
)


async def welcome(guild: discord.Guild) -> None:
    """Post the first steps in the system channel, or in the first channel where the bot may write."""
    for channel in _writable(guild):
        try:
            await channel.send(FIRST_STEPS)
            return
        except discord.Forbidden:
            continue
        except (discord.HTTPException, aiohttp.ClientError, OSError) as problem:
            log.info("Guild %s: the first steps were not shown: %s", guild.id, problem)
            return
    log.info("Guild %s: no channel to show the first steps in", guild.id)


def _writable(guild: discord.Guild) -> Iterator[discord.TextChannel]:
    seen = set()
    for channel in (guild.system_channel, *guild.text_channels):
        if channel is None or channel.id in seen:
            continue
        seen.add(channel.id)
        allowed = channel.permissions_for(guild.me)
        if allowed.view_channel and allowed.send_messages:
            yield channel
