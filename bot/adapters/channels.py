"""What channels are by Discord's own word: whose, read by whom, for which age."""

from __future__ import annotations

import discord

from bot.core.trust import Surroundings
from bot.core.types import Place

_UNKNOWN = Surroundings()


class DiscordChannels:
    """Fulfils `bot.core.trust.Channels` from what the client knows; the rest is taken with care."""

    def __init__(self, *, client: discord.Client) -> None:
        self._client = client

    def about(self, place: Place) -> Surroundings:
        """See the port. A thread that is not known (an archived one) has its channel's age limit."""
        guild = self._client.get_guild(place.guild_id) if place.guild_id else None
        if guild is None:
            return _UNKNOWN
        found = guild.get_channel_or_thread(place.id)
        if isinstance(found, discord.Thread):
            parent = found.parent
            if parent is None:
                return Surroundings(known=True)
            everyone = not found.is_private() and _is_for_everyone(parent)
            return Surroundings(True, everyone, _is_age_restricted(parent))
        if found is not None:
            return Surroundings(True, _is_for_everyone(found), _is_age_restricted(found))
        parent_of = guild.get_channel(place.parent_id) if place.parent_id else None
        return _UNKNOWN if parent_of is None else Surroundings(False, False, _is_age_restricted(parent_of))

    def for_moderators(self, guild_id: int) -> int:
        """See the port: the channel for community updates."""
        guild = self._client.get_guild(guild_id)
        channel = guild.public_updates_channel if guild is not None else None
        if guild is None or channel is None:
            return 0
        allowed = channel.permissions_for(guild.me)
        return channel.id if allowed.view_channel and allowed.send_messages else 0


def _is_for_everyone(channel: discord.abc.GuildChannel) -> bool:
    return channel.permissions_for(channel.guild.default_role).view_channel


def _is_age_restricted(channel: discord.abc.GuildChannel) -> bool:
    return bool(getattr(channel, "nsfw", False))
