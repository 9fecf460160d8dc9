"""/alias: the name a member speaks under in a scene."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discord import app_commands
from discord.ext import commands

from bot.errors import UserFacing
from cogs.answers import Asked, say, think
from cogs.names import here
from cogs.presence import PresentNames
from cogs.privacy_words import ALIAS_NEEDS_MEMORY

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe


class Aliases(commands.GroupCog, name="alias", description="The name you speak under in this scene"):
    """Thin: the engine keeps the aliases."""

    def __init__(self, *, troupe: Troupe, present: PresentNames) -> None:
        super().__init__()
        self._troupe = troupe
        self._present = present

    @app_commands.command(description="Speak under another name in this scene")
    @app_commands.describe(name="The name", avatar="The https:// address of a picture")
    async def use(
        self,
        interaction: Asked,
        name: app_commands.Range[str, 1, 80],
        avatar: app_commands.Range[str, 1, 2048] | None = None,
    ) -> None:
        """Holds until cleared."""
        await think(interaction)
        if avatar is not None and not avatar.startswith("https://"):
            raise UserFacing("A picture needs an address that begins with `https://`.")
        if self._troupe.privacy.is_out(interaction.user.id):
            raise UserFacing(ALIAS_NEEDS_MEMORY)
        place = here(interaction)
        alias = await self._troupe.aliases.use(
            place,
            interaction.user.id,
            name,
            avatar_url=avatar,
            present_names=self._present.others(place.id, interaction.user.id),
        )
        await say(interaction, f"In this scene you are **{alias.name}** now. `/alias clear` ends it.")

    @app_commands.command(description="Speak under your own name again")
    async def clear(self, interaction: Asked) -> None:
        """Back to the own name."""
        await think(interaction)
        cleared = await self._troupe.aliases.clear(here(interaction), interaction.user.id)
        await say(
            interaction, "You speak under your own name again." if cleared else "You have no alias here."
        )

    @app_commands.command(name="list", description="Who speaks under which name here")
    async def list_all(self, interaction: Asked) -> None:
        """All aliases of the active scene."""
        await think(interaction)
        aliases = await self._troupe.aliases.list(here(interaction).id)
        lines = [f"**{alias.name}** – <@{alias.owner_id}>" for alias in aliases]
        await say(interaction, "\n".join(lines) or "Nobody uses an alias here. `/alias use` sets one.")
