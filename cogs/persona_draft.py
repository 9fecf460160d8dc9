"""The draft of a persona: shown, edited in a form, and saved only when the form is sent."""

from __future__ import annotations

from collections.abc import Sequence

import discord
from discord import ui

from cogs.answers import Asked, Buttons
from cogs.card_form import MAIN_PAGE, Field, Submit, Texts, open_form


class DraftOffer(Buttons):
    """Under a draft: look at it in the form. Sending the form is the yes."""

    def __init__(
        self,
        *,
        draft: Texts,
        submit: Submit,
        title: str = "New persona",
        fields: Sequence[Field] = MAIN_PAGE,
    ) -> None:
        super().__init__()
        self._draft, self._submit = draft, submit
        self._title, self._fields = title, fields

    @ui.button(label="Edit and save", style=discord.ButtonStyle.primary)
    async def edit(self, interaction: Asked, _: ui.Button[DraftOffer]) -> None:
        """The form, filled with the draft."""
        await open_form(
            interaction, title=self._title, fields=self._fields, values=self._draft, submit=self._submit
        )

    @ui.button(label="Throw away", style=discord.ButtonStyle.secondary)
    async def drop(self, interaction: Asked, _: ui.Button[DraftOffer]) -> None:
        """Nothing was stored."""
        self.stop()
        await interaction.response.edit_message(content="The draft is gone; nothing was saved.", view=None)


def told(draft: Texts, fields: Sequence[Field] = MAIN_PAGE) -> str:
    """The draft as text."""
    parts = [f"**{field.label}**\n{draft[field.word]}" for field in fields if draft.get(field.word)]
    return "\n".join(["A draft. Nothing is saved yet: **Edit and save** opens it in a form.", *parts])
