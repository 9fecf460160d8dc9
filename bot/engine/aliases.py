"""The names that members speak under in a scene."""

from __future__ import annotations

from collections.abc import Collection

from bot.core.names import fold
from bot.core.stores import PersonaStore, SceneStore, TurnStore
from bot.core.types import Alias, Place, Scene
from bot.engine.conduct import Conduct
from bot.engine.places import Places
from bot.engine.scenes import active_scene, checked_text
from bot.engine.state import PlaceState
from bot.errors import UserFacing


class Aliases:
    """Aliases of every scene; each change runs in the place's actor."""

    def __init__(
        self,
        *,
        places: Places,
        store: SceneStore,
        turns: TurnStore,
        personas: PersonaStore,
        conduct: Conduct,
    ) -> None:
        self._places = places
        self._store = store
        self._turns = turns
        self._personas = personas
        self._conduct = conduct

    async def use(
        self,
        place: Place,
        owner_id: int,
        name: str,
        *,
        avatar_url: str | None = None,
        present_names: Collection[str] = (),
    ) -> Alias:
        """A member speaks under another name in the active scene."""
        name = checked_text(name, 80, "An alias")

        async def change(state: PlaceState) -> Alias:
            scene = await active_scene(self._store, place.id)
            await self._check(scene, owner_id, name, present_names)
            alias = Alias(scene_id=scene.id, owner_id=owner_id, name=name, avatar_url=avatar_url)
            await self._store.set_alias(alias)
            await self._conduct.load(state)
            return alias

        return await self._places.do(place, change)

    async def _check(self, scene: Scene, owner_id: int, name: str, present_names: Collection[str]) -> None:
        wanted = fold(name)
        for persona in await self._personas.of_space(scene.space_id):
            if wanted in {fold(known) for known in (persona.name, *persona.former_names)}:
                raise UserFacing(f"“{name}” is the name of a persona. Please choose another alias.")
        others = [alias.name for alias in await self._store.aliases(scene.id) if alias.owner_id != owner_id]
        others += [name for owner, name in await self._turns.speakers(scene.id) if owner != owner_id]
        if wanted in {fold(other) for other in (*others, *present_names)}:
            raise UserFacing(f"Somebody here is already called “{name}”. Please choose another alias.")

    async def clear(self, place: Place, owner_id: int) -> bool:
        """The member speaks under the own name again; False when there was no alias."""

        async def change(state: PlaceState) -> bool:
            scene = await active_scene(self._store, place.id)
            cleared = await self._store.clear_alias(scene.id, owner_id)
            await self._conduct.load(state)
            return cleared

        return await self._places.do(place, change)

    async def list(self, place_id: int) -> list[Alias]:
        """The aliases of the active scene."""
        return await self._store.aliases((await active_scene(self._store, place_id)).id)
