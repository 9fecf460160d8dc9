"""What members see of the memory: searching it, reading the notes, forgetting one thing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot.core.dates import dated, earlier
from bot.core.events import MessagesDeleted
from bot.core.knowledge import KnowledgeStore, subject_owner
from bot.core.pictures import Timeline, timeline
from bot.core.stores import MemoryStore, SceneStore, TurnStore
from bot.core.types import Memory, MemoryKind, Place, Scratchpad, Turn
from bot.engine.journal import Journal
from bot.engine.recalling import Recaller
from bot.engine.scenes import active_scene
from bot.engine.unlearning import Unlearning
from bot.errors import UserFacing

MOST_FELT = 600
"""Turns that a timeline shows, the newest."""
FEWEST_FELT = 3


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory that a search found, its finding score (larger is better) and when it was, in words."""

    memory: Memory
    score: float
    when: str
    earlier: str = ""
    """Until when it held, if a newer memory replaced it."""


class Memories:
    """The long-term memory of the story that is played in a place. Whether one owns it is checked here."""

    def __init__(
        self,
        *,
        store: MemoryStore,
        knowledge: KnowledgeStore,
        scenes: SceneStore,
        turns: TurnStore,
        recaller: Recaller,
        journal: Journal,
        unlearning: Unlearning,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._knowledge = knowledge
        self._scenes = scenes
        self._turns = turns
        self._recaller = recaller
        self._journal = journal
        self._unlearning = unlearning
        self._now = now

    async def search(
        self, place: Place, query: str, *, persona_id: int | None = None, limit: int = 10
    ) -> list[FoundMemory]:
        """What the active scene's story remembers of this, best first; of one persona's if given."""
        if not query.strip():
            raise UserFacing("Say what to look for, for example `/memory search query:the silver key`.")
        scene = await active_scene(self._scenes, place.id)
        found = await self._recaller.find(scene, query, persona_id=persona_id, limit=limit)
        now = self._now()
        return [
            FoundMemory(
                memory,
                score,
                dated(memory.created_at, now, memory.story_time),
                earlier(until, now) if until else "",
            )
            for memory, score, until in found
        ]

    async def scratchpad(self, place_id: int) -> Scratchpad:
        """The present notes of the active scene."""
        return await self._scenes.scratchpad((await active_scene(self._scenes, place_id)).id)

    async def forget(self, place: Place, memory_id: int, *, by: int, moderator: bool) -> Memory:
        """Forget one memory everywhere. Members may forget what is their own, moderators everything here.

        A turn's memory takes the turn with it: window, notes, snapshots, keys.
        """
        found = await self._store.by_ids([memory_id])
        memory = next((memory for memory in found if memory.place_id == place.id), None)
        if memory is None:
            raise UserFacing("There is no such memory here. `/memory search` shows those there are.")
        allowed = moderator or memory.owner_ids == (by,)
        if not allowed and subject_owner(await self._knowledge.fact(memory_id)) != by:
            raise UserFacing("You can forget what you said yourself; a moderator can forget the rest.")
        if memory.kind is MemoryKind.TURN and memory.turn_id is not None:
            turn = await self._turn(memory.turn_id)
            if turn is not None and turn.message_ids:
                self._journal.submit(MessagesDeleted(place.id, turn.message_ids))
                await self._journal.flushed()
                return memory
        await self._store.remove([memory_id])
        self._unlearning.unlearn(place.space_id, [memory_id])
        return memory

    async def around(self, place: Place, memory_id: int) -> list[Turn]:
        """What was said around a memory, oldest first: the turns next to the one that it comes from."""
        found = await self._store.by_ids([memory_id])
        memory = next((memory for memory in found if memory.place_id == place.id), None)
        if memory is None or not memory.sources:
            raise UserFacing("It comes from no turn that is still there.")
        return await self._knowledge.around(memory.sources[-1], before=3, after=3)

    async def timeline(self, place: Place) -> Timeline:
        """How the active scene felt, turn by turn. UserFacing while hardly any feeling is known."""
        scene = await active_scene(self._scenes, place.id)
        found = timeline(scene.name, await self._knowledge.felt_in(scene.id, limit=MOST_FELT))
        if len(found.feelings) < FEWEST_FELT:
            raise UserFacing("There is too little to show yet. Feelings are known a moment after each turn.")
        return found

    async def turn_of(self, place: Place, message_id: int) -> Turn:
        """The turn that a message belongs to. UserFacing when it is none."""
        turn = await self._turns.by_message(message_id)
        if turn is None or turn.place_id != place.id or not turn.text:
            raise UserFacing("I do not remember that message: only messages of running scenes are kept.")
        return turn

    async def memory_of(self, turn_id: int) -> int:
        """The memory made with a turn. UserFacing when there is none."""
        found = await self._store.of_turns([turn_id])
        if turn_id not in found:
            raise UserFacing("There is no memory of that message.")
        return found[turn_id]

    async def _turn(self, turn_id: int) -> Turn | None:
        return next(iter(await self._turns.by_ids([turn_id])), None)
