"""/scene share and unshare: memories of one channel feed another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import discord
from discord import app_commands
from discord.ext import commands

from bot.errors import UserFacing
from cogs.answers import Asked, say, think
from cogs.audit import note
from cogs.names import here
from cogs.permissions import Channel, require_in

if TYPE_CHECKING:
    from bot.core.types import Place
    from bot.engine.sharing import Feed
    from bot.engine.troupe import Troupe


_ONLY_IN_A_SERVER: Final = "Only the channels of a server can share what is remembered in them."


class ChannelChoice(app_commands.Transformer):
    """Any channel in which a scene may play, as Discord gives it: with what the asker may do there."""

    @property
    def type(self) -> discord.AppCommandOptionType:
        """See the base."""
        return discord.AppCommandOptionType.channel

    @property
    def channel_types(self) -> list[discord.ChannelType]:
        """See the base. A forum itself has no scenes, its posts are threads."""
        kinds = discord.ChannelType
        threads = [kinds.news_thread, kinds.public_thread, kinds.private_thread]
        return [kinds.text, kinds.news, kinds.voice, kinds.stage_voice, *threads]

    async def transform(self, interaction: Asked, value: Channel, /) -> Channel:
        """As it is."""
        return value


Chosen = app_commands.Transform[Channel, ChannelChoice]


class SceneShareCommands(commands.Cog):
    """A part of the group `/scene`; `cogs.scene` puts it together."""

    _troupe: Troupe

    @app_commands.command(description="Let what is remembered in another channel come up here too")
    @app_commands.describe(channel="Whose memories feed this channel")
    async def share(self, interaction: Asked, channel: Chosen) -> None:
        """One way; personas still know only what they witnessed."""
        await think(interaction)
        place = here(interaction)
        if not place.guild_id:
            raise UserFacing(_ONLY_IN_A_SERVER)
        await require_in(interaction, self._troupe.options, channel)
        await self._troupe.trust.sharing.share(place, channel.id, by=interaction.user.id)
        await note(self._troupe, interaction, "scene share", f"<#{channel.id}> feeds <#{place.id}>")
        await say(
            interaction,
            f"What is remembered in <#{channel.id}> may come up here now, with personas who were present. "
            "It ends with `/scene unshare`, and by itself while that channel is private and this one is not. "
            "`/settings show` lists it.",
        )

    @app_commands.command(description="Another channel's memories come up here no longer")
    @app_commands.describe(channel="Whose memories feed this channel")
    async def unshare(self, interaction: Asked, channel: Chosen) -> None:
        """From the next reply on."""
        await think(interaction)
        place = here(interaction)
        await self._troupe.trust.sharing.unshare(place, channel.id)
        await note(self._troupe, interaction, "scene unshare", f"<#{channel.id}> fed <#{place.id}>")
        await say(interaction, f"What is remembered in <#{channel.id}> comes up here no longer.")


def told(feeds: Sequence[Feed], place: Place) -> list[str]:
    """A line for each link of a place, for `/settings show`."""
    lines = []
    for feed in feeds:
        rests = "" if feed.allowed else " – *rests: it is not visible to everyone, or not known*"
        if feed.place.id == place.id:
            lines.append(f"🔗 memories of <#{feed.source.id}> feed this channel{rests}")
        else:
            lines.append(f"🔗 memories of this channel feed <#{feed.place.id}>{rests}")
    return lines
