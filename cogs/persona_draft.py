"""The draft of a persona: shown, edited in a form, and saved only when the form is sent."""

from __future__ import annotations

import discord
from discord import ui

from cogs.answers import Asked, Buttons
from cogs.card_form import MAIN_PAGE, Submit, Texts, open_form


class DraftOffer(Buttons):
    """Under a draft: look at it in the form. Sending the form is the yes."""

    def __init__(self, *, draft: Texts, submit: Submit) -> None:
        super().__init__()
        self._draft, self._submit = draft, submit

    @ui.button(label="Edit and save", style=discord.ButtonStyle.primary)
    async def edit(self, interaction: Asked, _: ui.Button[DraftOffer]) -> None:
        """The form, filled with the draft."""
        await open_form(
            interaction, title="New persona", fields=MAIN_PAGE, values=self._draft, submit=self._submit
        )

    @ui.button(label="Throw away", style=discord.ButtonStyle.secondary)
    async def drop(self, interaction: Asked, _: ui.Button[DraftOffer]) -> None:
        """Nothing was stored."""
        self.stop()
        await interaction.response.edit_message(content="The draft is gone; nothing was saved.", view=None)


def told(draft: Texts) -> str:
    """The draft as text."""
    parts = [f"**{field.label}**\n{draft[field.word]}" for field in MAIN_PAGE if draft.get(field.word)]
    return "\n".join(["A draft. Nothing is saved yet: **Edit and save** opens it in a form.", *parts])
