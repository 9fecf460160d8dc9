"""Which channel of a guild is for its moderators, by Discord's own word."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast
from unittest.mock import create_autospec

import discord
import pytest

from bot.adapters.channels import DiscordChannels


def client(*, may_send: bool = True, has_channel: bool = True) -> discord.Client:
    guild = create_autospec(discord.Guild, instance=True)
    channel = create_autospec(discord.TextChannel, instance=True)
    channel.id = 77
    channel.permissions_for.return_value = discord.Permissions(view_channel=True, send_messages=may_send)
    guild.public_updates_channel = channel if has_channel else None
    return cast(
        "discord.Client", SimpleNamespace(get_guild=lambda guild_id: guild if guild_id == 9 else None)
    )


@pytest.mark.parametrize(
    ("guild_id", "may_send", "has_channel", "found"),
    [(9, True, True, 77), (9, False, True, 0), (9, True, False, 0), (8, True, True, 0)],
)
def test_moderators_are_told_in_the_channel_for_community_updates_where_the_bot_may_write(
    guild_id: int, may_send: bool, has_channel: bool, found: int
) -> None:
    channels = DiscordChannels(client=client(may_send=may_send, has_channel=has_channel))
    assert channels.for_moderators(guild_id) == found
