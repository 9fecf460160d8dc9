"""/persona library: ready personas, added in two clicks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from discord import app_commands, ui
from discord.ext import commands

from bot.errors import NameTaken
from cogs.answers import Asked, Buttons, say, shorten, think
from cogs.audit import note
from cogs.names import here
from cogs.persona_files import add_persona

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe

OFFERED: Final = 25


class Offered(Protocol):
    """A persona on the shelf."""

    @property
    def name(self) -> str: ...
    @property
    def tagline(self) -> str: ...
    @property
    def card(self) -> Mapping[str, Any]: ...
    @property
    def avatar(self) -> bytes | None: ...


Library = Callable[[], Awaitable[Sequence[Offered]]]


class PersonaLibraryCommands(commands.Cog):
    """A part of the group `/persona`; `cogs.persona` puts it together."""

    _troupe: Troupe
    _library: Library

    @app_commands.command(description="Ready personas to add")
    async def library(self, interaction: Asked) -> None:
        """A line about each, and a menu."""
        await think(interaction)
        offered = (await self._library())[:OFFERED]
        if not offered:
            await say(interaction, "The library is empty: there is no card in the folder `personas`.")
            return
        lines = [f"**{one.name}** – {shorten(one.tagline, 120)}" for one in offered]
        view = LibraryChoice(troupe=self._troupe, offered=offered)
        await say(interaction, "\n".join([*lines, "Choose whom to add."]), view=view)


class LibraryChoice(Buttons):
    """A menu that stays, so that several can be added."""

    def __init__(self, *, troupe: Troupe, offered: Sequence[Offered]) -> None:
        super().__init__()
        self._troupe, self._offered = troupe, offered
        for number, one in enumerate(offered):
            self.chosen.add_option(
                label=shorten(one.name, 100), value=str(number), description=shorten(one.tagline, 100) or None
            )

    @ui.select(placeholder="Add …")
    async def chosen(self, interaction: Asked, select: ui.Select[LibraryChoice]) -> None:
        """One more persona for this server."""
        await interaction.response.defer()
        one = self._offered[int(select.values[0])]
        try:
            added = await add_persona(
                self._troupe,
                here(interaction).space_id,
                one.card,
                by=interaction.user.id,
                avatar=one.avatar,
            )
            await note(self._troupe, interaction, "persona library", added.name)
            told = f"**{added.name}** is here. `/scene start` brings it into a channel."
        except NameTaken:
            told = (
                f"There is a persona called **{one.name}** already. Rename that one with `/persona edit` "
                "or delete it, then choose again."
            )
        await interaction.edit_original_response(content=told, view=self)
