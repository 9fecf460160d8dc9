"""Personas made by members wait for a moderator: who made what, and buttons that outlast restarts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import discord
from discord import ui

from bot.core.types import Persona, Place
from bot.errors import DeliveryError
from cogs.answers import Asked, report, say, shorten
from cogs.audit import note
from cogs.names import here
from cogs.permissions import require

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe
    from cogs.scene import Announce

SHOWN = 5


class Decide(
    ui.DynamicItem[ui.Button[ui.View]], template=r"persona:(?P<what>approve|reject):(?P<id>[0-9]{1,18})"
):
    """Approves or rejects one persona, when a moderator presses it."""

    def __init__(self, what: str, persona_id: int, name: str = "") -> None:
        approve = what == "approve"
        super().__init__(
            ui.Button(
                label=shorten(f"{'Approve' if approve else 'Reject'} {name}".strip(), 80),
                style=discord.ButtonStyle.success if approve else discord.ButtonStyle.danger,
                custom_id=f"persona:{what}:{persona_id}",
            )
        )
        self._what = what
        self._persona_id = persona_id

    @classmethod
    async def from_custom_id(cls, interaction: Asked, item: ui.Item[Any], match: re.Match[str], /) -> Decide:
        """Made anew from the button of a message, also of one from before a restart."""
        return cls(match["what"], int(match["id"]))

    async def callback(self, interaction: Asked) -> None:
        """Checks the right of whoever pressed it."""
        troupe: Troupe = interaction.client.troupe
        try:
            await require(interaction, troupe.options, "persona waiting")
            await interaction.response.defer()
            space_id = here(interaction).space_id
            if self._what == "approve":
                persona = await troupe.trust.approval.approve(space_id, self._persona_id)
                told = f"**{persona.name}** is approved. `/scene start` brings it into a channel."
            else:
                persona = await troupe.trust.approval.reject(space_id, self._persona_id)
                told = f"**{persona.name}** is rejected and gone."
            await note(troupe, interaction, "persona waiting", f"{persona.name}: {self._what}")
            await _replace(interaction, told)
        except Exception as problem:  # the edge of a button, as in `cogs.answers.Buttons`
            await report(interaction, problem)


async def _replace(interaction: Asked, told: str) -> None:
    """What happened instead of the question, unless others are asked in the same message."""
    shown = interaction.message.components if interaction.message else []
    if sum(len(getattr(row, "children", ())) for row in shown) > 2:
        await say(interaction, told)
    else:
        who = interaction.user.mention
        await interaction.edit_original_response(content=f"{told} (by {who})", view=None)


def buttons(*personas: Persona) -> ui.View:
    """Two for each, for at most five personas."""
    view = ui.View(timeout=None)
    for persona in personas[:SHOWN]:
        named = persona.name if len(personas) > 1 else ""
        view.add_item(Decide("approve", persona.id, named))
        view.add_item(Decide("reject", persona.id, named))
    return view


async def ask_moderators(troupe: Troupe, interaction: Asked, persona: Persona, announce: Announce) -> str:
    """Post the request where moderators see it: the log channel, else here; what to tell the member."""
    place = here(interaction)
    values = await troupe.options.effective(place.space_id)
    channel_id = values["log_channel"].value
    target = place
    if isinstance(channel_id, int) and channel_id:
        log = Place(id=channel_id, guild_id=place.guild_id, name="log")
        target = log if troupe.trust.channels.about(log).known else place
    name = discord.utils.escape_markdown(persona.name)
    about = shorten(discord.utils.escape_markdown(persona.text("description")), 500)
    text = f"<@{persona.created_by}> made a persona that waits for a moderator: **{name}**\n{about}"
    try:
        await announce(target, text, view=buttons(persona))
    except DeliveryError:
        return "I could not tell the moderators; they find it with `/persona waiting`."
    return "A moderator looks at it."
