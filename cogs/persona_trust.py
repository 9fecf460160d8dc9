"""/persona sleep and wake: the panic switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discord import app_commands
from discord.ext import commands

from cogs.answers import Asked, say, think
from cogs.audit import note
from cogs.names import here

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe


class PersonaTrustCommands(commands.Cog):
    """A part of the group `/persona`; `cogs.persona` puts it together."""

    _troupe: Troupe

    @app_commands.command(description="Panic switch: every persona of this server falls silent at once")
    async def sleep(self, interaction: Asked) -> None:
        """First the silence, then the answer."""
        space_id = here(interaction).space_id
        stopped = await self._troupe.trust.sleep.sleep(space_id)
        await note(self._troupe, interaction, "persona sleep")
        gave_up = f" {stopped} replies under way were stopped." if stopped else ""
        await say(
            interaction,
            f"All personas here are asleep.{gave_up} Nobody answers until `/persona wake`, also after a "
            "restart. What is said in scenes is still remembered; `/scene pause` stops that.",
        )

    @app_commands.command(description="Let the personas of this server answer again")
    async def wake(self, interaction: Asked) -> None:
        """Ends every sleep, of the server and of single channels."""
        await think(interaction)
        space_id = here(interaction).space_id
        if not await self._troupe.trust.sleep.wake(space_id):
            await say(interaction, "The personas here are awake.")
            return
        await note(self._troupe, interaction, "persona wake")
        await say(interaction, "The personas are awake again and answer what is said from now on.")
