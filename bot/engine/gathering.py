"""Gathers what the prompt of a reply tells. What does not wait for another runs beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core import mood as moods
from bot.core.budgets import Budgets
from bot.core.candidates import Recalled, RecallSettings
from bot.core.knowledge import Always, KnowledgeStore
from bot.core.prompting import Note, ReplyScene, window_turns
from bot.core.stores import PersonaStore
from bot.core.strategies import Strategy
from bot.core.templates import Prompts
from bot.core.types import StyleSample
from bot.core.vectors import Vector
from bot.core.window import Count, Roster
from bot.engine.explaining import Explainer
from bot.engine.feelings import Relations
from bot.engine.lore import Lore
from bot.engine.recalling import Recaller, Recollection, Wanted
from bot.engine.state import ReplyRequest

DATE_TOKENS = 16
"""What the date and mark of a recalled memory cost beside its words."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """All that one prompt is made from."""

    given: ReplyScene
    recollection: Recollection
    ignored: bool
    """Whether the last reply took no notice of what was recalled for the same question."""


class Gatherer:
    """Reads beside the encoder, which takes longer than all else before a prompt."""

    def __init__(
        self,
        *,
        recaller: Recaller,
        knowledge: KnowledgeStore,
        relations: Relations,
        explainer: Explainer,
        lore: Lore,
        personas: PersonaStore,
        prompts: Prompts,
        count: Count,
        now: Callable[[], datetime],
    ) -> None:
        self._recaller = recaller
        self._knowledge = knowledge
        self._relations = relations
        self._explainer = explainer
        self._lore = lore
        self._personas = personas
        self._prompts = prompts
        self._count = count
        self._now = now

    async def gather(self, request: ReplyRequest, room: Budgets) -> Gathered:
        """Everything for the prompt of this reply, within the budgets."""
        roster = Roster.of(request.cast, request.speakers).joined(request.answers)
        own = asyncio.create_task(self._recaller.vector_of(request.answers), name="read what is asked")
        try:
            samples, kept, relations, lore, resting = await asyncio.gather(
                self._personas.samples(request.persona.id),
                self._knowledge.always(request.scene.story_id, persona_id=request.persona.id),
                self._relations.present(request, roster),
                self._lore.for_reply(request, roster),
                self._explainer.aside_resting(request),
            )
            given = replace(
                _with_kept(self._given(request, roster), request, kept, samples),
                relations=relations,
                lore=lore,
            )
            given = self._with_notes(given, request, room)
            recollection = await self._recall(request, given, room, own, resting)
        finally:
            own.cancel()
        ignored = await self._explainer.was_ignored(request, recollection)
        return Gathered(_with_memories(given, request, recollection), recollection, ignored)

    def _given(self, request: ReplyRequest, roster: Roster) -> ReplyScene:
        """What the actor knew."""
        return ReplyScene(
            persona=request.persona,
            scene=request.scene,
            cast=request.cast,
            roster=roster,
            history=request.history,
            answering=request.answers,
            scratchpad=request.scratchpad,
            now=self._now(),
            start_id=request.start_id,
        )

    def _with_notes(self, given: ReplyScene, request: ReplyRequest, room: Budgets) -> ReplyScene:
        """The notes of the last prompt as long as its window begins where it began: what they do not tell yet
        is still shown, and the model's cache of the prompt holds. Then the newest."""
        if request.held is None:
            return given
        same = replace(given, scratchpad=request.held)
        shown = window_turns(same, prompts=self._prompts, budgets=room, count=self._count)
        return same if shown.start_id == request.start_id else given

    async def _recall(
        self,
        request: ReplyRequest,
        given: ReplyScene,
        room: Budgets,
        own: Awaitable[Vector | None],
        resting: frozenset[int] | None,
    ) -> Recollection:
        options = request.options
        shown = window_turns(given, prompts=self._prompts, budgets=room, count=self._count)
        wanted = Wanted(
            scene=request.scene,
            persona_id=request.persona.id,
            answers=request.answers,
            shown=(*shown.turns, *request.answers),
            mood=request.mood,
            settings=RecallSettings(
                strategy=Strategy(str(options["recall_strategy"])),
                emotion_weight=float(str(options["emotion_weight"])),
                tokens=room.recall,
            ),
            cooling=request.cooling,
            cost=self._cost,
            aside_resting=resting,
        )
        return await self._recaller.recall(wanted, own)

    def _cost(self, item: Recalled) -> int:
        return self._count(f"{item.speaker}: {item.text}") + DATE_TOKENS


def _with_kept(
    given: ReplyScene, request: ReplyRequest, kept: Always, samples: list[StyleSample]
) -> ReplyScene:
    """With what the story keeps in mind (pins, wishes from its other scenes), and the persona's samples of
    this place: a reply may quote what only its channel should know."""
    here = {None, request.place.id}
    return replace(
        given,
        standing=[wish.text for wish in kept.wishes if wish.scene_id != request.scene.id],
        pinned=[pin.text for pin in kept.pins],
        samples=tuple(sample.text for sample in samples if sample.place_id in here),
    )


def _with_memories(given: ReplyScene, request: ReplyRequest, found: Recollection) -> ReplyScene:
    mood = moods.update(
        request.mood, temperament=request.persona.temperament, heard=found.heard, now=given.now
    )
    notes = [
        Note.of(found.memories[item.memory_id], until=found.until.get(item.memory_id))
        for item in found.choice.items
    ]
    aside = Note.of(found.aside) if found.aside else None
    return replace(given, notes=notes, aside=aside, mood=moods.describe(mood))
