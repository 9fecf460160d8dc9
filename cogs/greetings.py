"""Buttons that swipe through a persona's greetings, for whoever brought it into the scene."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import discord
from discord import ui

from bot.core.cards import greetings
from bot.core.types import Persona, Place, Scene
from bot.errors import DeliveryError
from cogs.answers import Asked, Buttons

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe

TakeBack = Callable[[Place, Sequence[int]], Awaitable[None]]
"""Deletes messages that the bot said in a place; `DeliveryError` when Discord refuses."""


def greeting_buttons(
    *, troupe: Troupe, place: Place, persona: Persona | None, scene: Scene, take_back: TakeBack
) -> dict[str, Any]:
    """The `view` argument of an answer, when the persona has more than one greeting."""
    if persona is None or len(greetings(persona.card, group=len(scene.cast) > 1)) < 2:
        return {}
    return {"view": GreetingButtons(troupe=troupe, place=place, persona=persona, take_back=take_back)}


class GreetingButtons(Buttons):
    """Back and forth, until somebody answers."""

    def __init__(self, *, troupe: Troupe, place: Place, persona: Persona, take_back: TakeBack) -> None:
        super().__init__()
        self._troupe, self._place, self._persona, self._take_back = troupe, place, persona, take_back

    @ui.button(label="◀ Greeting", style=discord.ButtonStyle.secondary)
    async def previous(self, interaction: Asked, _: ui.Button[GreetingButtons]) -> None:
        """The one before."""
        await self._swipe(interaction, -1)

    @ui.button(label="Next greeting ▶", style=discord.ButtonStyle.primary)
    async def following(self, interaction: Asked, _: ui.Button[GreetingButtons]) -> None:
        """The next one."""
        await self._swipe(interaction, 1)

    async def _swipe(self, interaction: Asked, step: int) -> None:
        await interaction.response.defer()
        swiped = await self._troupe.greetings.swipe(self._place, self._persona.id, step)
        told = f"**{self._persona.name}**: greeting {swiped.number} of {swiped.total}."
        try:
            await self._take_back(self._place, swiped.message_ids)
        except DeliveryError as problem:
            told += f" I could not take the old one back ({problem}); please delete it."
        await interaction.edit_original_response(content=told, view=self)
