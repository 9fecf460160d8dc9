"""/scene: start, switch, show, change, pause and end role-plays, and who is in them."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

import aiohttp
import discord
from discord import app_commands
from discord.ext import commands

from bot.core.types import Persona, Place, Scene
from bot.engine.audit import change as diff
from bot.engine.notices import NO_SCENE
from bot.errors import DeliveryError, UserFacing
from cogs.answers import Asked, say, shorten, think
from cogs.audit import note
from cogs.bot_rights import check_bot_may
from cogs.greetings import TakeBack, greeting_buttons
from cogs.names import Choices, cast_choices, find_scene, here, persona_choices, scene_choices
from cogs.permissions import moderators_by_default
from cogs.privacy import Remembered
from cogs.scene_share import SceneShareCommands

if TYPE_CHECKING:
    from bot.engine.scenes import SceneView
    from bot.engine.troupe import Troupe

Name = app_commands.Range[str, 1, 100]
Line = app_commands.Range[str, 1, 1000]


class Announce(Protocol):
    """Posts a line in the bot's own name, with buttons; the message's id."""

    def __call__(self, place: Place, text: str, *, view: discord.ui.View | None = None) -> Awaitable[int]: ...


SpeakingTrouble = Callable[[Place], Awaitable[str | None]]

REMEMBERED: Final = "-# From now on this scene is remembered, until it is paused or ended."

FROM_NOW_ON: Final = "What is said here from now on is remembered."
STILL_PAUSED: Final = "It is still paused: nothing is remembered or answered until `/scene resume`."


@app_commands.default_permissions(moderators_by_default())
class Scenes(SceneShareCommands, commands.GroupCog, name="scene", description="Role-plays in this channel"):
    """Thin: words and checks; the engine keeps the scenes."""

    cast = app_commands.Group(name="cast", description="Who is in the scene")

    def __init__(
        self, *, troupe: Troupe, announce: Announce, speaking_trouble: SpeakingTrouble, take_back: TakeBack
    ) -> None:
        """`announce` posts a line in the bot's own name; `speaking_trouble` says why webhooks do not work."""
        super().__init__()
        self._take_back = take_back
        self._troupe = troupe
        self._announce = announce
        self._speaking_trouble = speaking_trouble

    # ------------------------------------------------------------ start and switch
    @app_commands.command(description="Begin a scene here; what is said from now on is remembered")
    @app_commands.describe(
        name="What it is called",
        persona="Who joins; may be left out when there is only one",
        location="Where it plays",
        situation="What is going on",
        story="A story that scenes share; a new name begins a new story",
    )
    async def start(
        self,
        interaction: Asked,
        *,
        name: Name,
        persona: str | None = None,
        location: Line | None = None,
        situation: Line | None = None,
        story: Name | None = None,
    ) -> None:
        """The channel is told first, then the persona greets."""
        await think(interaction)
        place = here(interaction)
        lacking = check_bot_may(interaction, place)
        found = await self._troupe.personas.find(place.space_id, persona) if persona else None
        everybody = [found] if found else await self._troupe.personas.all(place.space_id)
        if len(everybody) == 1:  # an only persona joins by itself
            self._troupe.trust.approval.check_age(place, everybody[0])
        notice_id = await self._tell_channel(place, name)
        try:
            started = await self._troupe.scenes.start(
                place,
                name=name,
                persona_id=found.id if found else None,
                location=location or "",
                situation=situation or "",
                story=story,
                after=notice_id,
            )
        except BaseException:
            await _take_back(interaction, notice_id)
            raise
        await note(self._troupe, interaction, "scene start", started.scene.name)
        told = [f"Scene “{started.scene.name}” has begun. Everything said here is part of it from now on."]
        if started.persona is not None:
            told.append(f"**{started.persona.name}** joins and greets.")
        if started.hint:
            told.append(started.hint)
        if lacking:
            told.append(lacking)
        elif trouble := await self._speaking_trouble(place):
            told.append(f"Personas speak in plain messages here: {trouble}")
        await say(interaction, "\n".join(told), **self._greetings(place, started.persona, started.scene))

    def _greetings(self, place: Place, persona: Persona | None, scene: Scene) -> dict[str, Any]:
        return greeting_buttons(
            troupe=self._troupe, place=place, persona=persona, scene=scene, take_back=self._take_back
        )

    async def _tell_channel(self, place: Place, name: str) -> int:
        try:
            values = await self._troupe.options.effective(place.space_id, place.id)
            own = str(values["privacy_notice"].value)
            lines = [
                f"**{discord.utils.escape_markdown(name)}**",
                REMEMBERED,
                *([f"-# {own}"] if own else []),
            ]
            return await self._announce(place, "\n".join(lines), view=Remembered(troupe=self._troupe))
        except DeliveryError as problem:
            raise UserFacing(
                f"I could not write in <#{place.id}>, so no scene began ({problem}). "
                "Check my permissions there and try again."
            ) from problem

    @app_commands.command(description="Go to another scene of this channel, as it was left")
    @app_commands.describe(scene="Which one")
    async def switch(self, interaction: Asked, scene: str) -> None:
        """The other scene waits meanwhile."""
        await think(interaction)
        place = here(interaction)
        check_bot_may(interaction, place)
        wanted = await find_scene(self._troupe, place, scene)
        former = await self._troupe.scenes.current(place.id)
        switched = await self._troupe.scenes.switch(place, wanted.id)
        await note(self._troupe, interaction, "scene switch", switched.name)
        told = f"Back to “{switched.name}”. " + (STILL_PAUSED if switched.paused else FROM_NOW_ON)
        if former is not None and former.scene.id != switched.id:
            told += f" “{former.scene.name}” waits."
        await say(interaction, told)

    # ------------------------------------------------------------ see
    @app_commands.command(name="list", description="All scenes of this channel")
    async def list_all(self, interaction: Asked) -> None:
        """Newest first."""
        await think(interaction)
        scenes = await self._troupe.scenes.list(here(interaction).id)
        if not scenes:
            await say(interaction, "There is no scene in this channel yet. `/scene start` begins one.")
            return
        await say(interaction, "\n".join(_in_list(scene) for scene in scenes))

    @app_commands.command(description="The scene as it is now")
    async def show(self, interaction: Asked) -> None:
        """Place, situation, cast, aliases."""
        await think(interaction)
        view = await self._troupe.scenes.current(here(interaction).id)
        if view is None:
            await say(interaction, NO_SCENE)
            return
        await say(interaction, _described(view))

    # ------------------------------------------------------------ change
    @app_commands.command(name="set", description="Change where, what or when it is")
    @app_commands.describe(location="Where it plays", situation="What is going on", time="The story's time")
    async def change(
        self,
        interaction: Asked,
        location: Line | None = None,
        situation: Line | None = None,
        time: Line | None = None,
    ) -> None:
        """Takes effect from the next reply."""
        await think(interaction)
        view = await self._troupe.scenes.current(here(interaction).id)
        scene = await self._troupe.scenes.set(
            here(interaction), location=location, situation=situation, time=time
        )
        if view is not None:
            pairs = [
                ("location", view.scene.location, location),
                ("situation", view.scene.situation, situation),
                ("time", view.scene.story_time, time),
            ]
            parts = [f"{word} {diff(old, new)}" for word, old, new in pairs if new is not None]
            await note(self._troupe, interaction, "scene set", f"{scene.name}: {', '.join(parts)}")
        await say(interaction, f"“{scene.name}” is changed.\n{_where(scene)}")

    @app_commands.command(description="Stop listening until /scene resume")
    async def pause(self, interaction: Asked) -> None:
        """Nothing is remembered meanwhile."""
        await think(interaction)
        scene = await self._troupe.scenes.pause(here(interaction))
        await note(self._troupe, interaction, "scene pause", scene.name)
        await say(
            interaction, f"“{scene.name}” is paused: nothing is remembered or answered until `/scene resume`."
        )

    @app_commands.command(description="Listen again")
    async def resume(self, interaction: Asked) -> None:
        """What was said during the pause stays unread."""
        await think(interaction)
        scene = await self._troupe.scenes.resume(here(interaction), after=interaction.id)
        await note(self._troupe, interaction, "scene resume", scene.name)
        await say(interaction, f"“{scene.name}” goes on. What was said during the pause stays unread.")

    @app_commands.command(description="End the scene; it can be switched to again")
    async def end(self, interaction: Asked) -> None:
        """Nothing of it is lost."""
        await think(interaction)
        scene = await self._troupe.scenes.end(here(interaction))
        await note(self._troupe, interaction, "scene end", scene.name)
        await say(interaction, f"“{scene.name}” has ended. Its memory stays; `/scene switch` brings it back.")

    # ------------------------------------------------------------ cast
    @cast.command(name="add", description="Bring a persona into the scene")
    @app_commands.describe(persona="Who joins")
    async def cast_add(self, interaction: Asked, persona: str) -> None:
        """It greets."""
        await think(interaction)
        place = here(interaction)
        lacking = check_bot_may(interaction, place)
        found = await self._troupe.personas.find(place.space_id, persona)
        self._troupe.trust.approval.check_age(place, found)
        scene = await self._troupe.scenes.cast_add(place, found.id)
        await note(self._troupe, interaction, "scene cast add", f"{found.name} in {scene.name}")
        told = f"**{found.name}** joins “{scene.name}”.\n{lacking}".rstrip()
        await say(interaction, told, **self._greetings(place, found, scene))

    @cast.command(name="remove", description="A persona leaves the scene")
    @app_commands.describe(persona="Who leaves")
    async def cast_remove(self, interaction: Asked, persona: str) -> None:
        """It keeps what it remembers."""
        await think(interaction)
        place = here(interaction)
        found = await self._troupe.personas.find(place.space_id, persona)
        scene = await self._troupe.scenes.cast_remove(place, found.id)
        await note(self._troupe, interaction, "scene cast remove", f"{found.name} from {scene.name}")
        await say(interaction, f"**{found.name}** has left “{scene.name}” and keeps its memories.")

    # ------------------------------------------------------------ completions
    @start.autocomplete("persona")
    @cast_add.autocomplete("persona")
    async def _complete_persona(self, interaction: Asked, current: str) -> Choices:
        return await persona_choices(self._troupe, interaction, current)

    @cast_remove.autocomplete("persona")
    async def _complete_cast(self, interaction: Asked, current: str) -> Choices:
        return await cast_choices(self._troupe, interaction, current)

    @switch.autocomplete("scene")
    async def _complete_scene(self, interaction: Asked, current: str) -> Choices:
        return await scene_choices(self._troupe, interaction, current)


async def _take_back(interaction: Asked, message_id: int) -> None:
    channel = interaction.client.get_partial_messageable(interaction.channel_id or 0)
    with contextlib.suppress(discord.HTTPException, aiohttp.ClientError, OSError):
        await channel.get_partial_message(message_id).delete()


def _in_list(scene: Scene) -> str:
    state = "" if not scene.active else " – *paused*" if scene.paused else " – **active**"
    where = f" ({shorten(scene.location, 80)})" if scene.location else ""
    return f"“{scene.name}”{where}{state}"


def _where(scene: Scene) -> str:
    parts = [("Where", scene.location), ("When", scene.story_time), ("What", scene.situation)]
    return "\n".join(f"{word}: {text}" for word, text in parts if text) or "Nothing is set."


def _described(view: SceneView) -> str:
    scene = view.scene
    lines = [f"**{scene.name}**" + (" (paused)" if scene.paused else ""), _where(scene)]
    lines.append("Cast: " + (", ".join(one.name for one in view.cast) or "nobody; `/scene cast add`"))
    if view.aliases:
        lines.append("Aliases: " + ", ".join(f"{alias.name} (<@{alias.owner_id}>)" for alias in view.aliases))
    lines.append(f"Turns not yet in the notes: {view.uncovered}")
    return "\n".join(lines)
