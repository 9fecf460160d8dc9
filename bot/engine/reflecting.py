"""Has personas reflect, in the background, when enough has moved them since the last time."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from bot.core.background import MemoryPrompt
from bot.core.chat import Completion
from bot.core.knowledge import KnowledgeStore
from bot.core.reflecting import ENOUGH, INSIGHTS_SCHEMA, Insight, parse_insights, reflection_prompt, weight
from bot.core.stores import MemoryStore
from bot.core.templates import Prompts
from bot.core.types import Memory, MemoryDraft, MemoryKind, Persona, Scene
from bot.core.window import Count

log = logging.getLogger(__name__)

Ask = Callable[[MemoryPrompt, str, Mapping[str, object]], Awaitable[Completion | None]]
"""Makes one background call: prompt, purpose, schema. None when the day's tokens are used up."""
LOOKED_AT = 300


class Reflector:
    """A crash repeats a reflection and loses none: what is due follows from the memories alone."""

    def __init__(
        self,
        *,
        knowledge: KnowledgeStore,
        memories: MemoryStore,
        prompts: Prompts,
        context_tokens: int,
        count: Count,
    ) -> None:
        self._knowledge = knowledge
        self._memories = memories
        self._prompts = prompts
        self._context_tokens = context_tokens
        self._count = count
        self._tried: dict[tuple[int, int], int] = {}
        """Story and persona to the newest memory of the last attempt, so that junk is not asked for again."""

    async def reflect(
        self, scene: Scene, cast: Sequence[Persona], ask: Ask, *, room: int | None = None
    ) -> bool:
        """Let the first persona for whom it is due look back; whether thoughts were stored. `room`: the
        tokens that the model was found to take."""
        for persona in cast:
            found = await self._knowledge.unreflected(scene.story_id, persona.id, limit=LOOKED_AT)
            last = self._tried.get((scene.story_id, persona.id), 0)
            moved = [memory for memory in found if memory.id > last]
            if weight(moved) >= ENOUGH:
                return await self._look_back(scene, persona, moved, ask, room or self._context_tokens)
        return False

    async def _look_back(
        self, scene: Scene, persona: Persona, memories: Sequence[Memory], ask: Ask, room: int
    ) -> bool:
        made = reflection_prompt(
            persona,
            memories,
            prompts=self._prompts,
            context_tokens=min(room, self._context_tokens),
            count=self._count,
        )
        completion = await ask(made.prompt, "reflection", INSIGHTS_SCHEMA)
        if completion is None:
            return False
        self._tried[scene.story_id, persona.id] = max(memory.id for memory in memories)
        known = {memory.id: memory for memory in made.memories}
        stored = False
        for insight in parse_insights(completion.text, ids=list(known)):
            evidence = [known[memory_id] for memory_id in insight.evidence]
            thought = _draft(scene, persona, insight, evidence)
            made_of = {memory.id: memory.text for memory in evidence}
            stored |= bool(await self._memories.add([thought], made_of=made_of))
        if not stored:
            log.info("%s found nothing to think about in story %s", persona.name, scene.story_id)
        return stored


def _draft(scene: Scene, persona: Persona, insight: Insight, evidence: Sequence[Memory]) -> MemoryDraft:
    """A thought of the persona alone."""
    return MemoryDraft(
        kind=MemoryKind.REFLECTION,
        space_id=scene.space_id,
        place_id=scene.place_id,
        story_id=scene.story_id,
        scene_id=scene.id,
        text=insight.text,
        created_at=max(memory.created_at for memory in evidence),
        witnesses=(persona.id,),
        sources=tuple(memory.turn_id for memory in evidence if memory.turn_id is not None),
        owner_ids=tuple(sorted({owner for memory in evidence for owner in memory.owner_ids})),
        speaker=persona.name,
        story_time=scene.story_time,
        importance=weight(evidence) / len(evidence),
    )
