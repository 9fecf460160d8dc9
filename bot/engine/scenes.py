"""What moderators do with scenes; each change runs in the place's actor."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from bot.core.events import snowflake
from bot.core.names import fold
from bot.core.stores import PersonaStore, SceneStore, TurnStore
from bot.core.types import Alias, Persona, Place, Scene, Scratchpad
from bot.engine.conduct import Conduct
from bot.engine.notices import NO_SCENE
from bot.engine.places import Places
from bot.engine.state import PlaceState
from bot.errors import UserFacing

REMEMBERED_AGAIN: Final = (
    "-# What is said here is remembered again. `/privacy about` tells what is kept; `/privacy opt-out` "
    "leaves you out."
)
"""Said for all to see where recording begins anew, under the line that says which scene it is."""


@dataclass(frozen=True, slots=True)
class SceneStarted:
    """A scene that began, the persona that joined it by itself, and what to do next when none did."""

    scene: Scene
    persona: Persona | None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class SceneView:
    """A scene as a moderator sees it."""

    scene: Scene
    cast: tuple[Persona, ...]
    aliases: tuple[Alias, ...]
    uncovered: int
    scratchpad: Scratchpad


class Scenes:
    """Scenes of every place. Permissions are the caller's job."""

    def __init__(
        self, *, places: Places, store: SceneStore, turns: TurnStore, personas: PersonaStore, conduct: Conduct
    ) -> None:
        self._places = places
        self._store = store
        self._turns = turns
        self._personas = personas
        self._conduct = conduct

    async def start(
        self,
        place: Place,
        *,
        name: str,
        persona_id: int | None,
        location: str = "",
        situation: str = "",
        story: str | None = None,
        after: int,
    ) -> SceneStarted:
        """Begin a scene; the named persona, or the space's only one, joins and greets.

        Messages after the id `after` are recorded. A scene that was active waits and can be switched to.
        """
        name = checked_text(name, 100, "A scene's name")
        persona, hint = await self._first_persona(place, persona_id)

        async def change(state: PlaceState) -> Scene:
            self._conduct.interrupt(state)
            self._conduct.record_from(place, after)
            scene = await self._store.start(
                place,
                name=name,
                location=location.strip(),
                situation=situation.strip(),
                story=story,
                after=after,
            )
            if persona is not None:
                scene = await self._store.join(scene.id, persona.id)
            await self._conduct.load(state)
            if persona is not None:
                await self._conduct.greet(state, persona)
            return scene

        return SceneStarted(await self._places.do(place, change), persona, hint)

    async def _first_persona(self, place: Place, persona_id: int | None) -> tuple[Persona | None, str | None]:
        if persona_id is not None:
            persona = await self._personas.get(persona_id)
            if persona is None or persona.space_id != place.space_id:
                raise UserFacing("That persona does not exist here. `/persona list` shows those there are.")
            return persona, None
        known = await self._personas.of_space(place.space_id)
        if len(known) == 1:
            return known[0], None
        if not known:
            return (
                None,
                "Nobody is in the scene yet: make a persona with `/persona create`, then `/scene cast add`.",
            )
        return None, "Nobody is in the scene yet: bring personas in with `/scene cast add`."

    async def switch(self, place: Place, scene_id: int) -> Scene:
        """Bring back another scene of the place and say in one line where we are."""
        scene = await self._store.get(scene_id)
        if scene is None or scene.place_id != place.id:
            raise UserFacing("There is no such scene here. `/scene list` shows those there are.")

        async def change(state: PlaceState) -> Scene:
            self._conduct.interrupt(state)
            listened = state.scene is not None and not state.scene.paused
            after = snowflake(self._conduct.now())
            self._conduct.record_from(place, after)
            await self._store.activate(scene_id, after=after)
            await self._conduct.load(state)
            assert state.scene is not None
            line = where_we_are(state.scene, state.cast)
            quiet = listened or state.scene.paused
            await self._conduct.announce(state, line if quiet else f"{line}\n{REMEMBERED_AGAIN}")
            return state.scene

        return await self._places.do(place, change)

    async def set(
        self,
        place: Place,
        *,
        name: str | None = None,
        location: str | None = None,
        situation: str | None = None,
        time: str | None = None,
    ) -> Scene:
        """Change what is given, in the middle of the scene."""
        wanted = {"name": name, "location": location, "situation": situation, "story_time": time}
        changes = {key: value.strip() for key, value in wanted.items() if value is not None}
        if not changes:
            raise UserFacing("Say what should change: `location`, `situation` or `time`.")
        return await self._update(place, **changes)

    async def pause(self, place: Place) -> Scene:
        """Stop recording and answering until `resume`."""
        return await self._update(place, paused=True)

    async def resume(self, place: Place, *, after: int) -> Scene:
        """Record and answer again, from the message id `after` on: what was said meanwhile stays unread."""

        async def change(state: PlaceState) -> Scene:
            scene = await active_scene(self._store, place.id)
            if not scene.paused:
                raise UserFacing(f"The scene “{scene.name}” is not paused.")
            self._conduct.record_from(place, after)
            await self._store.update(scene.id, paused=False)
            await self._store.activate(scene.id, after=after)
            resumed = await self._reload(state)
            await self._conduct.announce(state, f"*“{resumed.name}” goes on.*\n{REMEMBERED_AGAIN}")
            return resumed

        return await self._places.do(place, change)

    async def end(self, place: Place) -> Scene:
        """Close the active scene. It can be switched to again; nothing of it is lost."""

        async def change(state: PlaceState) -> Scene:
            scene = await active_scene(self._store, place.id)
            self._conduct.interrupt(state)
            ended = await self._store.update(scene.id, active=False, paused=False)
            await self._conduct.load(state)
            return ended

        return await self._places.do(place, change)

    async def list(self, place_id: int) -> list[Scene]:
        """Every scene of the place, newest first."""
        return await self._store.of_place(place_id)

    async def current(self, place_id: int) -> SceneView | None:
        """The active scene, or None."""
        scene = await self._store.active(place_id)
        if scene is None:
            return None
        cast = [await self._personas.get(persona_id) for persona_id in scene.cast]
        return SceneView(
            scene=scene,
            cast=tuple(persona for persona in cast if persona is not None),
            aliases=tuple(await self._store.aliases(scene.id)),
            uncovered=await self._turns.count_uncovered(scene.id),
            scratchpad=await self._store.scratchpad(scene.id),
        )

    async def cast_add(self, place: Place, persona_id: int) -> Scene:
        """A persona joins the active scene and greets."""

        async def change(state: PlaceState) -> Scene:
            scene = await active_scene(self._store, place.id)
            persona = await self._personas.get(persona_id)
            if persona is None or persona.space_id != place.space_id:
                raise UserFacing("That persona does not exist here. `/persona list` shows those there are.")
            if persona_id in scene.cast:
                raise UserFacing(f"{persona.name} is in “{scene.name}” already.")
            await self._store.join(scene.id, persona_id)
            changed = await self._reload(state)
            await self._conduct.greet(state, persona)
            return changed

        return await self._places.do(place, change)

    async def cast_remove(self, place: Place, persona_id: int) -> Scene:
        """A persona leaves; it keeps its memories and may come back."""

        async def change(state: PlaceState) -> Scene:
            scene = await active_scene(self._store, place.id)
            if persona_id not in scene.cast:
                raise UserFacing("That persona is not in this scene. `/scene show` tells who is.")
            await self._store.leave(scene.id, persona_id)
            if state.reply is not None and state.reply.request.persona.id == persona_id:
                state.reply.cancel()
            return await self._reload(state)

        return await self._places.do(place, change)

    # ------------------------------------------------------------ helpers
    async def _update(self, place: Place, **changes: object) -> Scene:
        async def change(state: PlaceState) -> Scene:
            scene = await active_scene(self._store, place.id)
            if changes.get("paused"):
                self._conduct.interrupt(state)
            await self._store.update(scene.id, **changes)
            return await self._reload(state)

        return await self._places.do(place, change)

    async def _reload(self, state: PlaceState) -> Scene:
        await self._conduct.load(state)
        if state.scene is None:
            raise UserFacing(NO_SCENE)
        return state.scene


async def active_scene(store: SceneStore, place_id: int) -> Scene:
    """The scene that is played there. `UserFacing` when there is none."""
    scene = await store.active(place_id)
    if scene is None:
        raise UserFacing(NO_SCENE)
    return scene


def where_we_are(scene: Scene, cast: Collection[Persona]) -> str:
    """One short line that says which scene this is."""
    where = f" {scene.location}." if scene.location else ""
    who = f" Here: {', '.join(persona.name for persona in cast)}." if cast else ""
    return f"*Back to “{scene.name}”.{where}{who}*"


def checked_text(value: str, limit: int, what: str) -> str:
    """One line of 1 to `limit` characters, some of them visible; `UserFacing` otherwise."""
    value = " ".join(value.split())
    if len(value) > limit or not fold(value):
        raise UserFacing(f"{what} has 1 to {limit} characters that can be seen.")
    return value
