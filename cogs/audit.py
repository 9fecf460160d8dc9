"""Notes down what moderators do with commands, and shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import discord
from discord import ui

from bot.core.trust import ModeratorAction
from bot.engine.audit import PAGE, told
from cogs.answers import Asked, Buttons, say, think
from cogs.names import here

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe


async def note(troupe: Troupe, interaction: Asked, action: str, detail: str = "") -> None:
    """The asker did this here. Give neither secrets nor words of members."""
    await troupe.trust.audit.note(here(interaction), interaction.user.id, action, detail)


async def show_log(troupe: Troupe, interaction: Asked) -> None:
    """The newest actions, with a button for those before."""
    lines = await troupe.trust.audit.newest(here(interaction).space_id)
    await say(interaction, written(lines), view=LogPages(troupe, lines) if len(lines) == PAGE else None)


def written(lines: Sequence[ModeratorAction]) -> str:
    """Newest first, each with its time as the reader's Discord shows it."""
    shown = [f"{_when(line)} {told(line)}"[:300] for line in lines]
    while len(text := "\n".join(shown)) > 2000:
        shown.pop()
    return text or "Moderators have done nothing yet that is noted."


class LogPages(Buttons):
    """Goes back in the log."""

    def __init__(self, troupe: Troupe, lines: Sequence[ModeratorAction]) -> None:
        super().__init__()
        self._troupe, self._lines = troupe, lines

    @ui.button(label="Older", style=discord.ButtonStyle.secondary)
    async def older(self, interaction: Asked, _: ui.Button[LogPages]) -> None:
        """The page before."""
        await think(interaction)
        shown = self._lines[len(written(self._lines).split("\n")) - 1]
        lines = await self._troupe.trust.audit.newest(here(interaction).space_id, shown.id)
        await say(interaction, written(lines), view=LogPages(self._troupe, lines) if lines else None)


def _when(line: ModeratorAction) -> str:
    return discord.utils.format_dt(line.created_at, "R") if line.created_at else ""
