"""Names of places, personas, scenes, memories and settings: found from what was typed, and completed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING, Final, TypeVar

from discord import app_commands

from bot.core.names import fold
from bot.core.types import Persona, Place, Scene
from bot.errors import UserFacing, new_reference
from cogs.answers import Asked, shorten
from cogs.door import place_of

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe

log = logging.getLogger(__name__)

T = TypeVar("T")
Choices = list[app_commands.Choice[str]]
MOST_CHOICES: Final = 25
LONGEST: Final = 100
PATIENCE_S: Final = 2.0
"""Discord shows completions only when they come within three seconds."""


def here(interaction: Asked) -> Place:
    """The place in which a command was used."""
    if interaction.channel_id is None:
        raise UserFacing("Please use this command in a channel.")
    return place_of(interaction.channel, channel_id=interaction.channel_id, guild_id=interaction.guild_id)


async def find_scene(troupe: Troupe, place: Place, text: str) -> Scene:
    """The scene that a completion named (its id) or a member typed (its name)."""
    scenes = await troupe.scenes.list(place.id)
    wanted = fold(text)
    for scene in scenes:
        if text == str(scene.id) or fold(scene.name) == wanted:
            return scene
    if not scenes:
        raise UserFacing("There is no scene in this channel yet. `/scene start` begins one.")
    known = ", ".join(f"“{shorten(scene.name, 60)}”" for scene in scenes[:10])
    raise UserFacing(f"There is no scene “{shorten(text, 60)}” in this channel. Scenes: {known}.")


async def persona_choices(troupe: Troupe, interaction: Asked, current: str) -> Choices:
    """Personas of the guild whose name contains what was typed."""
    personas = await in_time(troupe.personas.all(here(interaction).space_id))
    return matching(((persona.name, persona.name) for persona in personas or ()), current)


async def cast_choices(troupe: Troupe, interaction: Asked, current: str) -> Choices:
    """Personas that are in the active scene."""
    view = await in_time(troupe.scenes.current(here(interaction).id))
    cast: tuple[Persona, ...] = view.cast if view else ()
    return matching(((persona.name, persona.name) for persona in cast), current)


async def scene_choices(troupe: Troupe, interaction: Asked, current: str) -> Choices:
    """Scenes of this place, newest first."""
    scenes = await in_time(troupe.scenes.list(here(interaction).id))
    return matching(((scene.name, str(scene.id)) for scene in scenes or ()), current)


def matching(pairs: Iterable[tuple[str, str]], current: str) -> Choices:
    """At most 25 choices of at most 100 characters whose label contains what was typed, best first."""
    wanted = fold(current)
    fitting = [
        (label, value)
        for label, value in pairs
        if wanted in fold(label) and label.strip() and 1 <= len(value) <= LONGEST
    ]
    fitting.sort(key=lambda pair: not fold(pair[0]).startswith(wanted))
    return [
        app_commands.Choice(name=shorten(label, LONGEST), value=value)
        for label, value in fitting[:MOST_CHOICES]
    ]


async def in_time(answer: Awaitable[T]) -> T | None:
    """The answer if it comes soon; a completion never fails, it just offers nothing."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await answer
    except TimeoutError:
        return None
    except UserFacing:
        return None
    except Exception:  # the edge of a completion: Discord could show no error anyway
        log.exception("A completion failed (reference %s)", new_reference())
        return None
