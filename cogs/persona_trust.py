"""/persona sleep, wake, restrict and waiting: the panic switch, the age limit, the approval queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discord import app_commands
from discord.ext import commands

from cogs.answers import Asked, say, shorten, think
from cogs.approval import buttons
from cogs.audit import note
from cogs.names import Choices, here, persona_choices

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

    @app_commands.command(description="Let a persona play only in age-restricted channels, or everywhere")
    @app_commands.describe(persona="Which one", age_restricted="Yes: there and in their threads alone")
    async def restrict(self, interaction: Asked, persona: str, age_restricted: bool = True) -> None:
        """Scenes elsewhere are told when somebody addresses it."""
        await think(interaction)
        found = await self._troupe.personas.find(here(interaction).space_id, persona)
        changed = await self._troupe.personas.restrict(found.id, age_restricted=age_restricted)
        where = "only in age-restricted channels" if age_restricted else "in every channel"
        await note(self._troupe, interaction, "persona restrict", f"{changed.name} plays {where}")
        await say(interaction, f"**{changed.name}** plays {where} now.")

    @restrict.autocomplete("persona")
    async def _complete_restricted(self, interaction: Asked, current: str) -> Choices:
        return await persona_choices(self._troupe, interaction, current)

    @app_commands.command(description="Personas made by members that wait for you")
    async def waiting(self, interaction: Asked) -> None:
        """What each is, with buttons."""
        await think(interaction)
        waiting = await self._troupe.trust.approval.waiting(here(interaction).space_id)
        if not waiting:
            await say(interaction, "No persona waits for a moderator.")
            return
        lines = [
            f"**{one.name}** by <@{one.created_by}>: {shorten(one.text('description'), 300) or '…'}"
            for one in waiting
        ]
        await say(interaction, "\n".join(lines), view=buttons(*waiting))

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
