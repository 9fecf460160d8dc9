"""The question before something that cannot be undone: one red button."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import discord
from discord import ui

from cogs.answers import Asked, Buttons


class Confirm(Buttons):
    """One red button that does it, once."""

    def __init__(self, *, label: str, action: Callable[[Asked], Awaitable[str]]) -> None:
        super().__init__()
        self._action = action
        self.confirm.label = label

    @ui.button(label="Yes", style=discord.ButtonStyle.danger)
    async def confirm(self, interaction: Asked, _: ui.Button[Confirm]) -> None:
        """Does it and replaces the question by what happened."""
        self.stop()
        await interaction.response.defer()
        told = await self._action(interaction)
        await interaction.edit_original_response(content=told, view=None)
