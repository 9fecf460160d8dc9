"""/mood: how the personas of a scene feel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discord import app_commands
from discord.ext import commands

from bot.core.emotion import EMOTIONS
from bot.core.mood import current
from bot.core.pictures import DrawWheels, Wheel
from bot.core.relations import Relation, describe
from cogs.answers import Asked, say, think
from cogs.drawn import as_file, legend
from cogs.names import Choices, cast_choices, here

if TYPE_CHECKING:
    from bot.engine.troupe import MoodView, Troupe


class Moods(commands.GroupCog, name="mood", description="How personas feel"):
    """Thin: the engine keeps the moods."""

    def __init__(self, *, troupe: Troupe, draw: DrawWheels) -> None:
        super().__init__()
        self._troupe = troupe
        self._draw = draw

    @app_commands.command(description="How the personas of this scene feel now")
    @app_commands.describe(persona="Only this one")
    async def show(self, interaction: Asked, persona: str | None = None) -> None:
        """In words, and as eight intensities from 1 to 10."""
        await think(interaction)
        place = here(interaction)
        found = await self._troupe.personas.find(place.space_id, persona) if persona else None
        views = await self._troupe.mood(place, found.id if found else None)
        if not views:
            await say(interaction, "Nobody is in the scene.")
            return
        picture = await self._draw([_wheel(view) for view in views])
        told = "\n\n".join(_described(view) for view in views)
        await say(interaction, "\n".join([told, *legend(picture)]), files=as_file(picture, "mood.png"))

    @show.autocomplete("persona")
    async def _complete_cast(self, interaction: Asked, current: str) -> Choices:
        return await cast_choices(self._troupe, interaction, current)


def _wheel(view: MoodView) -> Wheel:
    resting = tuple(map(float, view.temperament))
    return Wheel(view.persona.name, tuple(map(float, current(view.mood))), resting)


def _described(view: MoodView) -> str:
    rows = [
        f"{name:<12} {'█' * round(value)}{'░' * (10 - round(value))} {value:.1f}"
        for name, value in zip(EMOTIONS, map(float, current(view.mood)), strict=True)
    ]
    told = f"**{view.persona.name}**: {view.words}\n```\n" + "\n".join(rows) + "\n```"
    return "\n".join([told, *(_related(name, one) for name, one in view.relations.items())])


def _related(name: str, one: Relation) -> str:
    words = describe(one, name) or f"undecided about {name}"
    numbers = f"warmth {one.warmth:+.2f}, trust {one.trust:+.2f}, tension {one.tension:.2f}"
    return f"-# {words}: {numbers}, from {one.evidence} turns"
