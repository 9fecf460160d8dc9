"""What a persona lives by: suggested by the language model, saved only when a moderator sends the form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import discord
from discord import ui

from bot.core.types import Persona
from cogs.answers import Asked, Buttons, say, shorten, think
from cogs.card_form import CHARACTER_PAGE, Field, Texts, changes, value_of
from cogs.names import here
from cogs.persona_draft import DraftOffer, told

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe

Save = Callable[[Asked, Persona, tuple[Field, ...], Texts], Awaitable[None]]
"""Stores what was typed into these fields and tells so."""


async def offer_character(interaction: Asked, troupe: Troupe, persona: Persona, *, save: Save) -> None:
    """Show what the model suggests for what the card does not tell yet, with a button that opens the form."""
    await think(interaction)
    present = {field.word: value_of(persona, field) for field in CHARACTER_PAGE}
    draft = await troupe.drafts.character(here(interaction), persona)
    draft |= {word: text for word, text in present.items() if text}

    async def submit(answer: Asked, typed: Texts) -> None:
        await save(answer, persona, CHARACTER_PAGE, changes(present, typed))

    view = DraftOffer(
        draft=draft, submit=submit, title=shorten(f"Edit {persona.name}", 45), fields=CHARACTER_PAGE
    )
    await say(interaction, told(draft, CHARACTER_PAGE), view=view)


class SuggestCharacter(Buttons):
    """Offered when a persona was made."""

    def __init__(self, *, troupe: Troupe, persona: Persona, save: Save) -> None:
        super().__init__()
        self._troupe, self._persona, self._save = troupe, persona, save

    @ui.button(label="Suggest what it lives by", style=discord.ButtonStyle.secondary)
    async def suggest(self, interaction: Asked, _: ui.Button[SuggestCharacter]) -> None:
        """Values, wants, fears and what it never does, from its texts."""
        await offer_character(interaction, self._troupe, self._persona, save=self._save)
