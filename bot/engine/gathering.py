"""Gathers what the prompt of a reply tells. What does not wait for another runs beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.budgets import Budgets
from bot.core.candidates import Recalled
from bot.core.character import recall_settings
from bot.core.knowledge import Always, KnowledgeStore
from bot.core.prompt_parts import Note, ReplyScene
from bot.core.prompting import window_turns
from bot.core.templates import Prompts
from bot.core.window import Count, Roster
from bot.engine.calm import Calm
from bot.engine.explaining import Explainer, was_ignored
from bot.engine.lore import Lore
from bot.engine.mood_causes import Felt, MoodCauses
from bot.engine.recalling import Asking, Recaller, Recollection, Wanted
from bot.engine.relations import Relations
from bot.engine.samples import Samples, Voice
from bot.engine.state import ReplyRequest, Told

MOST_WAYS = 2
"""In so many ways at most a hint says how the voice was left."""
DATE_TOKENS = 16
"""What the date and mark of a recalled memory cost beside its words."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """All that one prompt is made from."""

    given: ReplyScene
    recollection: Recollection
    ignored: bool
    """Whether the last reply took no notice of what was recalled for the same question."""
    voice: Voice
    felt: Felt
    told: Told
    """What of this was read: when it changes, the prompt is no longer right."""


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
        samples: Samples,
        causes: MoodCauses,
        prompts: Prompts,
        count: Count,
        calm: Calm,
        now: Callable[[], datetime],
    ) -> None:
        self._recaller = recaller
        self._knowledge = knowledge
        self._relations = relations
        self._explainer = explainer
        self._lore = lore
        self._samples = samples
        self._causes = causes
        self._prompts = prompts
        self._count = count
        self._calm = calm
        self._now = now

    async def gather(self, request: ReplyRequest, room: Budgets) -> Gathered:
        """Everything for the prompt of this reply, within the budgets."""
        roster = Roster.of(request.cast, request.speakers).joined(request.answers)
        asking = self._recaller.asking(request.scene, request.persona.id, request.answers)
        with self._calm.disturbed():
            return await self._gathered(request, room, roster, asking)

    async def _gathered(
        self,
        request: ReplyRequest,
        room: Budgets,
        roster: Roster,
        asking: AbstractAsyncContextManager[Asking],
    ) -> Gathered:
        async with asking as asked:
            (voice, kept, relations, lore), (resting, before, causes) = await asyncio.gather(
                asyncio.gather(
                    self._samples.for_reply(request),
                    self._knowledge.always(request.scene.story_id, persona_id=request.persona.id),
                    self._relations.present(request, roster),
                    self._lore.for_reply(request, roster),
                ),
                asyncio.gather(
                    self._explainer.aside_resting(request),
                    self._explainer.asked_before(request),
                    self._causes.known(request),
                ),
            )
            given = replace(
                _with_kept(self._given(request, roster), request, kept, voice),
                relations=relations,
                lore=lore,
            )
            given = self._with_notes(given, request, room)
            found = await self._recall(request, given, room, asked, resting)
        felt = self._causes.of(request, causes, found.heard, given.roster, given.now)
        given = replace(_with_memories(given, found), mood=felt.words, hints=self._hints(request, voice))
        return Gathered(
            given, found, was_ignored(before, found), voice, felt, _told(request, kept, voice, felt, found)
        )

    def _hints(self, request: ReplyRequest, voice: Voice) -> tuple[str, ...]:
        """One short hint when the last replies left the persona's voice."""
        if not voice.drift:
            return ()
        how = "; ".join(way.value for way in voice.drift[:MOST_WAYS])
        return (self._prompts.fill("hints.drifted", name=request.persona.name, how=how),)

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
        asking: Asking,
        resting: frozenset[int] | None,
    ) -> Recollection:
        shown = window_turns(given, prompts=self._prompts, budgets=room, count=self._count)
        wanted = Wanted(
            scene=request.scene,
            persona_id=request.persona.id,
            answers=request.answers,
            shown=(*shown.turns, *request.answers),
            mood=request.mood,
            settings=recall_settings(request.persona.card, request.options, tokens=room.recall),
            cooling=request.cooling,
            cost=self._cost,
            aside_resting=resting,
        )
        return await self._recaller.recall(wanted, asking)

    def _cost(self, item: Recalled) -> int:
        return self._count(f"{item.speaker}: {item.text}") + DATE_TOKENS


def _with_kept(given: ReplyScene, request: ReplyRequest, kept: Always, voice: Voice) -> ReplyScene:
    """With what the story keeps in mind (pins, wishes from its other scenes), and how the persona sounds."""
    return replace(
        given,
        standing=[wish.text for wish in kept.wishes if wish.scene_id != request.scene.id],
        pinned=[pin.text for pin in kept.pins],
        samples=tuple(sample.text for sample in voice.shown),
    )


def _told(request: ReplyRequest, kept: Always, voice: Voice, felt: Felt, found: Recollection) -> Told:
    said = {sample.turn_id for sample in voice.shown if sample.turn_id is not None}
    return Told(
        memories=found.told.union(pin.id for pin in kept.pins),
        turns=frozenset({*said, felt.turn_id} - {0}),
        scenes=frozenset(wish.scene_id for wish in kept.wishes) - {request.scene.id},
    )


def _with_memories(given: ReplyScene, found: Recollection) -> ReplyScene:
    notes = [
        Note.of(
            found.memories[item.memory_id],
            until=found.until.get(item.memory_id),
            partly=found.partly.get(item.memory_id),
        )
        for item in found.choice.items
    ]
    aside = Note.of(found.aside) if found.aside else None
    return replace(given, notes=notes, aside=aside, language=found.language)
