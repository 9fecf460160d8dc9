"""Pages about persons, places and things: what is known of each, put right and added to by people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.dates import dated, earlier
from bot.core.knowledge import Entity, EntityKind, FactDraft, KnowledgeStore, KnownFact, subject_owner
from bot.core.names import find_name, fold
from bot.core.stores import MemoryStore, PersonaStore, SceneStore, TurnStore
from bot.core.supersession import newest_in_line
from bot.core.types import NOBODY, Memory, MemoryDraft, MemoryKind, Place, Scene
from bot.engine.scenes import active_scene, checked_text
from bot.engine.unlearning import Unlearning
from bot.errors import UserFacing

LONGEST_FACT = 300


@dataclass(frozen=True, slots=True)
class Entry:
    """One dated fact. `earlier` tells until when it held, if a newer one replaced it."""

    memory: Memory
    when: str
    earlier: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """What is known of one entity; `others` are the other names that the same member goes by."""

    entity: Entity
    entries: tuple[Entry, ...]
    others: tuple[Page, ...] = ()

    @property
    def all_entries(self) -> tuple[Entry, ...]:
        """Those under every name."""
        return (*self.entries, *(entry for page in self.others for entry in page.entries))


class Pages:
    """The entities of the story that is played in a place. Who may change what is checked here."""

    def __init__(
        self,
        *,
        knowledge: KnowledgeStore,
        memories: MemoryStore,
        scenes: SceneStore,
        turns: TurnStore,
        personas: PersonaStore,
        unlearning: Unlearning,
        wake_indexer: Callable[[], None],
        now: Callable[[], datetime],
    ) -> None:
        self._knowledge = knowledge
        self._memories = memories
        self._scenes = scenes
        self._turns = turns
        self._personas = personas
        self._unlearning = unlearning
        self._wake_indexer = wake_indexer
        self._now = now

    async def names(self, place: Place, *, member: int | None = None) -> list[Entity]:
        """All that something is known of, by present name; for a plain `member` only what is their own."""
        scene = await active_scene(self._scenes, place.id)
        found = await self._knowledge.entities(scene.story_id)
        if member is not None:
            found = [entity for entity in found if entity.owner_id == member]
        return [await self._named(entity) for entity in found]

    async def who(self, place: Place, name: str, *, member: int | None = None) -> Page:
        """The page of the entity with this id, or called so. UserFacing when there is none or several."""
        entities = await self.names(place, member=member)
        entity = _chosen(name, entities)
        known = [entity]
        if entity.owner_id != NOBODY:
            known += [one for one in entities if one.owner_id == entity.owner_id and one.id != entity.id]
        facts = await self._knowledge.facts_about([one.id for one in known], present_only=False)
        pages = [self._page(one, facts) for one in known]
        return replace(pages[0], others=tuple(page for page in pages[1:] if page.entries))

    async def edit(self, place: Place, memory_id: int, text: str, *, by: int, moderator: bool) -> Memory:
        """Give a fact other words. For the member whom it is about, and for moderators."""
        known = await self._knowledge.fact(memory_id)
        if known is None or known.memory.place_id != place.id:
            raise UserFacing("There is no such fact here. `/memory who` shows those there are.")
        if not moderator and by not in (subject_owner(known), *known.memory.owner_ids[:1]):
            raise UserFacing("You can change what is known about you; a moderator can change the rest.")
        memory = await self._knowledge.reword(memory_id, checked_text(text, LONGEST_FACT, "A fact"))
        if memory is None:
            raise UserFacing("That fact is gone meanwhile.")
        self._unlearning.unlearn(place.space_id, [memory_id])
        return memory

    async def add(self, place: Place, text: str, *, by: int) -> KnownFact | Memory:
        """Note something that the personas present know from now on; it goes to the page of whom it names."""
        scene = await active_scene(self._scenes, place.id)
        text = checked_text(text, LONGEST_FACT, "A memory")
        entity = await self._named_in(scene, text)
        owners = {by, *([entity.owner_id] if entity and entity.owner_id != NOBODY else [])}
        plain = MemoryDraft(
            kind=MemoryKind.FACT,
            space_id=scene.space_id,
            place_id=scene.place_id,
            story_id=scene.story_id,
            scene_id=scene.id,
            text=text,
            created_at=self._now(),
            witnesses=scene.cast,
            owner_ids=tuple(sorted(owners)),
            subject=entity.name if entity else "",
            story_time=scene.story_time,
        )
        values = {name: getattr(plain, name) for name in MemoryDraft.__dataclass_fields__}
        (memory,) = await self._memories.add([FactDraft(**values, entity=entity)])
        self._wake_indexer()
        return KnownFact(memory, entity) if entity else memory

    # ------------------------------------------------------------ inside
    def _page(self, entity: Entity, facts: Sequence[KnownFact]) -> Page:
        now = self._now()
        own = {fact.memory.id: fact.memory for fact in facts if fact.entity.id == entity.id}
        newer = newest_in_line({fact.memory.id: fact.memory for fact in facts})
        entries = []
        for memory in own.values():
            holds = newer.get(memory.id)
            if holds is not None and fold(holds.text) == fold(memory.text):
                continue  # only said again
            when = dated(memory.created_at, now, memory.story_time)
            mark = earlier(holds.created_at, now) if holds else "earlier" if memory.superseded_by else ""
            entries.append(Entry(memory, when, mark))
        return Page(entity, tuple(entries))

    async def _named(self, entity: Entity) -> Entity:
        persona = await self._personas.get(entity.persona_id) if entity.persona_id else None
        return replace(entity, name=persona.name) if persona else entity

    async def _named_in(self, scene: Scene, text: str) -> Entity | None:
        """The entity that a text names first: of those known, the speakers and the cast."""
        candidates = await self._knowledge.entities(scene.story_id)
        for owner_id, name in await self._turns.speakers(scene.id):
            candidates.append(Entity(EntityKind.MEMBER, name, owner_id=owner_id))
        for persona_id in scene.cast:
            persona = await self._personas.get(persona_id)
            if persona is not None:
                candidates.append(Entity(EntityKind.PERSONA, persona.name, persona_id=persona_id))
        places = [(find_name(text, entity.name), entity) for entity in candidates]
        found = [(at, -len(entity.name), entity) for at, entity in places if at is not None]
        if not found:
            return None
        first = min(found, key=lambda each: each[:2])[2]
        rivals = {(one.owner_id, one.persona_id) for _, _, one in found if fold(one.name) == fold(first.name)}
        return first if len(rivals) == 1 else None  # two members of one name: nobody knows which is meant


def _chosen(name: str, entities: Sequence[Entity]) -> Entity:
    wanted = fold(name)
    by_id = [entity for entity in entities if str(entity.id) == name.strip()]
    named = [entity for entity in entities if fold(entity.name) == wanted]
    if by_id or len(named) == 1:
        return (by_id or named)[0]
    if named:
        raise UserFacing(f"There are {len(named)} called “{name}”. Please choose one from the list.")
    near = [entity.name for entity in entities if wanted in fold(entity.name)][:10]
    if near:
        raise UserFacing(f"Nothing is known of “{name}”. There is: {', '.join(dict.fromkeys(near))}.")
    raise UserFacing(f"Nothing is known of “{name}” that you may see here.")
