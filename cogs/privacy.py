"""/privacy: what is kept about oneself, as a file, no longer, or not at all."""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING, Any, Final

import discord
from discord import app_commands
from discord.ext import commands

from bot.core.moderation import Checked
from cogs import privacy_words as words
from cogs.answers import Asked, Buttons, report, say, think
from cogs.export_file import zipped
from cogs.names import here

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe

FILES_A_MESSAGE: Final = 5


class Privacy(commands.GroupCog, name="privacy", description="What I keep about you, and how to end it"):
    """Everybody decides about oneself, in a server or in a direct message."""

    def __init__(self, *, troupe: Troupe) -> None:
        super().__init__()
        self._troupe = troupe

    @app_commands.command(description="What I keep, where, for how long, and who sees it")
    async def about(self, interaction: Asked) -> None:
        """In plain words, with the server's own."""
        await think(interaction)
        await say(interaction, await about_text(self._troupe, interaction))

    @app_commands.command(description="Everything that I keep about you, as a file")
    async def export(self, interaction: Asked) -> None:
        """Complete, and shown to the asker alone."""
        await think(interaction)
        member_id = interaction.user.id
        export = await self._troupe.privacy.export(member_id)
        opted_out = self._troupe.privacy.is_out(member_id)
        archives = await asyncio.to_thread(zipped, export, opted_out=opted_out)
        for start in range(0, len(archives), FILES_A_MESSAGE):
            files = [
                discord.File(io.BytesIO(archive), filename=f"my-data-{number}.zip")
                for number, archive in enumerate(archives[start : start + FILES_A_MESSAGE], start + 1)
            ]
            await say(interaction, words.EXPORTED, files=files)

    @app_commands.command(name="forget-me", description="Erase everything that I keep about you, everywhere")
    async def forget_me(self, interaction: Asked) -> None:
        """Shows what will go; a button does it."""
        await think(interaction)
        owned = await self._troupe.privacy.owned(interaction.user.id)
        direct = interaction.guild_id is None
        if owned.nothing and not direct and not self._troupe.privacy.is_out(interaction.user.id):
            await say(interaction, words.NOTHING)
            return
        await say(interaction, words.what_goes(owned), view=Confirm(troupe=self._troupe))

    @app_commands.command(name="opt-out", description="Write down nothing of what you say, anywhere")
    async def opt_out(self, interaction: Asked) -> None:
        """Personas still answer."""
        await think(interaction)
        await say(interaction, await opted_out(self._troupe, interaction.user.id))

    @app_commands.command(name="opt-in", description="Remember what you say in scenes again")
    async def opt_in(self, interaction: Asked) -> None:
        """Takes an opt-out back."""
        await think(interaction)
        new = await self._troupe.privacy.opt_in(interaction.user.id)
        await say(interaction, words.OPTED_IN if new else words.OPTED_IN_ALREADY)


class Confirm(Buttons):
    """Erases, once."""

    def __init__(self, *, troupe: Troupe) -> None:
        super().__init__()
        self._troupe = troupe
        self._pressed = False

    @discord.ui.button(label="Erase everything", style=discord.ButtonStyle.danger)
    async def erase(self, interaction: Asked, _: discord.ui.Button[Confirm]) -> None:
        """The answer comes when the bytes are gone."""
        await think(interaction)
        if self._pressed:
            await say(interaction, "It is being erased already.")
            return
        self._pressed = True
        direct_id = here(interaction).id if interaction.guild_id is None else 0
        try:
            await self._troupe.privacy.forget(interaction.user.id, direct_id=direct_id)
        except BaseException:
            self._pressed = False
            raise
        await say(interaction, words.FORGOTTEN)

    @discord.ui.button(label="Keep it", style=discord.ButtonStyle.secondary)
    async def keep(self, interaction: Asked, _: discord.ui.Button[Confirm]) -> None:
        """Nothing happens."""
        await interaction.response.edit_message(content="Nothing was erased.", view=None)
        self.stop()


class Remembered(discord.ui.View):
    """Stands under the line that says a channel is remembered; anybody may press it, also after a restart."""

    def __init__(self, *, troupe: Troupe) -> None:
        super().__init__(timeout=None)
        self._troupe = troupe

    @discord.ui.button(label="Opt out", style=discord.ButtonStyle.secondary, custom_id="privacy:opt-out")
    async def out(self, interaction: Asked, _: discord.ui.Button[Remembered]) -> None:
        """For the one who presses."""
        await think(interaction)
        await say(interaction, await opted_out(self._troupe, interaction.user.id))

    @discord.ui.button(label="More", style=discord.ButtonStyle.secondary, custom_id="privacy:more")
    async def more(self, interaction: Asked, _: discord.ui.Button[Remembered]) -> None:
        """What is kept, for how long, who sees it."""
        await think(interaction)
        await say(interaction, await about_text(self._troupe, interaction))

    async def on_error(self, interaction: Asked, error: Exception, item: discord.ui.Item[Any], /) -> None:
        await report(interaction, error)


async def opted_out(troupe: Troupe, member_id: int) -> str:
    """Opt a member out; what to say."""
    return words.OPTED_OUT if await troupe.privacy.opt_out(member_id) else words.OPTED_OUT_ALREADY


async def about_text(troupe: Troupe, interaction: Asked) -> str:
    """What holds everywhere, and what this server says itself."""
    place = here(interaction)
    values = await troupe.options.effective(place.space_id, place.id)
    days, own = values["retention_days"].value, str(values["privacy_notice"].value)
    lines = [words.ABOUT]
    if days and place.guild_id:
        lines.append(f"**In this server** what was said is deleted after {days} days.")
    checked = troupe.trust.guard.checked(place)
    if checked is not Checked.OFF:
        what = {"members": "what you say", "replies": "what personas say"}.get(checked, "what is said")
        lines.append(f"**Here** {what} in scenes goes to a moderation server first, without your name or id.")
    feeds = [one for one in await troupe.trust.sharing.around(place) if one.source.id == place.id]
    if fed := sum(one.allowed for one in feeds):
        lines.append(
            f"**From here** what is remembered may come up in {fed} other channel{'s' * (fed > 1)} as well: "
            "a moderator linked them."
        )
    if own:
        lines.append(f"**The moderators of this server say**: {own}")
    return "\n".join(lines)
