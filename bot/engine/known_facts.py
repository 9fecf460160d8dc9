"""Chooses the older facts that new turns may make untrue: the nearest with the same subject."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence

from bot.core.knowledge import KnowledgeStore, KnownFact
from bot.core.ports import Encoder, MemoryIndex, Scope
from bot.core.stores import MemoryStore
from bot.core.subjects import mentioned
from bot.core.tokens import tokens
from bot.core.types import Scene, Turn
from bot.core.vectors import nearest_distance
from bot.errors import SearchIndexError

log = logging.getLogger(__name__)

OF_A_SUBJECT = 5
IN_ALL = 15
_SUBJECTS = 8
_LOOKED_AT = 60
_CHARACTERS = 2000


class KnownFacts:
    """Looks up what the next background call should be shown. Without the encoder, common words decide."""

    def __init__(
        self, *, knowledge: KnowledgeStore, memories: MemoryStore, index: MemoryIndex, encoder: Encoder
    ) -> None:
        self._knowledge = knowledge
        self._memories = memories
        self._index = index
        self._encoder = encoder

    async def near(self, scene: Scene, turns: Sequence[Turn]) -> tuple[KnownFact, ...]:
        """Facts that hold until now about those who speak or are named in the turns, nearest first."""
        entities = mentioned(await self._knowledge.entities(scene.story_id), turns)[-_SUBJECTS:]
        facts = await self._knowledge.facts_about(
            [entity.id for entity in entities], present_only=True, limit=_LOOKED_AT
        )
        by_entity: dict[int, list[KnownFact]] = defaultdict(list)
        for fact in facts:
            by_entity[fact.entity.id].append(fact)
        far = await self._distances(scene, turns, by_entity)
        chosen = [
            fact
            for group in by_entity.values()
            for fact in sorted(group, key=lambda fact: far[fact.memory.id])[:OF_A_SUBJECT]
        ]
        return tuple(sorted(chosen, key=lambda fact: (far[fact.memory.id], fact.memory.id))[:IN_ALL])

    async def _distances(
        self, scene: Scene, turns: Sequence[Turn], by_entity: dict[int, list[KnownFact]]
    ) -> dict[int, float]:
        """How far each fact is from the turns, smaller is nearer; all alike where nothing is to choose."""
        facts = [fact for group in by_entity.values() for fact in group]
        far = dict.fromkeys((fact.memory.id for fact in facts), 0.0)
        if all(len(group) <= OF_A_SUBJECT for group in by_entity.values()) and len(facts) <= IN_ALL:
            return far
        text = " ".join(turn.text for turn in turns)
        words = set(tokens(text))
        for fact in facts:
            own = set(tokens(fact.memory.text))
            far[fact.memory.id] = 2.0 - len(own & words) / (len(own) or 1)
        if self._encoder.ready:
            far |= await self._meant(scene, turns, list(far))
        return far

    async def _meant(self, scene: Scene, turns: Sequence[Turn], ids: list[int]) -> dict[int, float]:
        """The distance by meaning to the nearest of the turns, where the index knows the fact."""
        audiences = await self._memories.audiences_of(scene.story_id)
        scope = Scope(scene.space_id, scene.place_id, scene.story_id, audiences)
        asked = await self._encoder.embed_passages([turn.text[:_CHARACTERS] for turn in turns])
        try:
            known = await self._index.vectors(scope, ids)
        except SearchIndexError as problem:
            log.warning("The search index failed; words choose among older facts: %s", problem)
            return {}
        return {
            memory_id: min(nearest_distance(vector, keys) for vector in asked)
            for memory_id, keys in known.items()
        }


def shown(facts: Sequence[KnownFact]) -> list[str]:
    """Facts as the background call reads them."""
    return [f"({fact.entity.name}) {fact.memory.text}" for fact in facts]
