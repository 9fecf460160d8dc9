"""What a story always keeps in mind: pins of moderators and wishes of members, listed and removed."""

from __future__ import annotations

from collections.abc import Callable

from bot.core.knowledge import Always, KnowledgeStore
from bot.core.stores import MemoryStore, SceneStore, TurnStore
from bot.core.types import Memory, MemoryDraft, MemoryKind, Place, Scratchpad
from bot.engine.conduct import Conduct
from bot.engine.noted_memories import snapshots
from bot.engine.places import Places
from bot.engine.scenes import active_scene
from bot.engine.state import PlaceState
from bot.errors import UserFacing

MOST_PINS = 24
MOST_REVISIONS = 25
_GONE = "That is gone already. `/memory scratchpad` shows what is kept."


class Keeping:
    """Pins and wishes of the story that is played in a place. Permissions are the caller's to check."""

    def __init__(
        self,
        *,
        knowledge: KnowledgeStore,
        memories: MemoryStore,
        scenes: SceneStore,
        turns: TurnStore,
        places: Places,
        conduct: Conduct,
        wake_indexer: Callable[[], None],
        note_uncovered: Callable[[Place, int, int], None],
    ) -> None:
        self._knowledge = knowledge
        self._memories = memories
        self._scenes = scenes
        self._places = places
        self._conduct = conduct
        self._wake_indexer = wake_indexer
        self._turns = turns
        self._note_uncovered = note_uncovered

    async def always(self, place: Place) -> Always:
        """All that is pinned and wished for."""
        return await self._knowledge.always((await active_scene(self._scenes, place.id)).story_id)

    async def pin(self, place: Place, memory_id: int) -> Memory:
        """Keep a memory in every prompt of its story. The pin goes with the turns that it comes from."""
        pin = await self._places.do(place, lambda state: self._pin(place, memory_id))
        self._wake_indexer()
        return pin

    async def _pin(self, place: Place, memory_id: int) -> Memory:
        memory = next(iter(await self._memories.by_ids([memory_id])), None)
        if memory is None or memory.place_id != place.id:
            raise UserFacing("There is no such memory here. `/memory search` shows those there are.")
        kept = await self._knowledge.always(memory.story_id)
        if len(kept.pins) >= MOST_PINS:
            raise UserFacing(
                f"There are {MOST_PINS} pins already. Remove one with `/memory scratchpad` first."
            )
        text = f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text
        if memory.kind is MemoryKind.PINNED or text in {pin.text for pin in kept.pins}:
            raise UserFacing("That is pinned already.")
        draft = MemoryDraft(
            kind=MemoryKind.PINNED,
            space_id=memory.space_id,
            place_id=memory.place_id,
            story_id=memory.story_id,
            scene_id=memory.scene_id,
            text=text,
            created_at=memory.created_at,
            witnesses=memory.witnesses,
            sources=memory.sources,
            owner_ids=memory.owner_ids,
            story_time=memory.story_time,
        )
        pins = await self._memories.add([draft], made_of={memory.id: memory.text})
        if not pins:
            raise UserFacing("That memory changed just now. Please try again.")
        return pins[0]

    async def drop_wish(self, place: Place, wish_id: int) -> str:
        """Take a standing instruction out of the notes of its scene; what it said."""
        kept = await self.always(place)
        wish = next((wish for wish in kept.wishes if wish.id == wish_id), None)
        if wish is None:
            raise UserFacing(_GONE)

        async def change(state: PlaceState) -> Scratchpad | None:
            before = await self._scenes.scratchpad(wish.scene_id)
            lines = [line for line in before.lines if line.text != wish.text]
            after = await self._scenes.rewrite(before, lines, [], [])
            if after is not None and state.scene is not None and state.scene.id == wish.scene_id:
                await self._conduct.take_notes(state, after)
            return after

        if await self._places.do(place, change) is None:
            raise UserFacing("The notes changed just now. Please try again.")
        return wish.text

    async def history(self, place: Place) -> list[Scratchpad]:
        """The newest revisions of the active scene's notes, newest first, the present one among them."""
        return await self._scenes.revisions((await active_scene(self._scenes, place.id)).id, MOST_REVISIONS)

    async def restore(self, place: Place, revision_id: int) -> Scratchpad:
        """Bring older notes back. What they do not know is kept as memories, and turns that
        only later notes told of are summarised again."""
        scene = await active_scene(self._scenes, place.id)

        async def change(state: PlaceState) -> Scratchpad | None:
            before = await self._scenes.scratchpad(scene.id)
            old = next((one for one in await self.history(place) if one.revision_id == revision_id), None)
            if old is None:
                return None
            gone = [line for line in before.lines if line not in old.lines]
            ids = {turn_id for line in gone for turn_id in line.sources}
            turns = {turn.id: turn for turn in await self._turns.by_ids(ids)}
            kept = snapshots(gone, scene, turns)
            after = await self._knowledge.restore_notes(before, revision_id, kept)
            if after is not None and state.scene is not None and state.scene.id == scene.id:
                await self._conduct.take_notes(state, after)
                state.uncovered = await self._turns.count_uncovered(scene.id)
                self._note_uncovered(place, scene.id, state.uncovered)
            return after

        after = await self._places.do(place, change)
        if after is None:
            raise UserFacing("Those notes are not there any more. Please look at the list again.")
        self._wake_indexer()
        return after
