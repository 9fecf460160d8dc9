"""Rewrites scratchpads in the background: the oldest uncovered turns become notes, facts and feelings."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from bot.core.answer_watch import AnswerWatcher
from bot.core.background import MemoryPrompt, background_prompt, emotion_prompt
from bot.core.chat import Completion
from bot.core.ports import MemoryIndex
from bot.core.rewrite import REWRITE_SCHEMA, Refused, Rewrite, parse_emotions, parse_rewrite
from bot.core.spending import Payer
from bot.core.stores import MemoryStore, PersonaStore, SceneStore, TurnStore
from bot.core.templates import Prompts
from bot.core.types import NOBODY, Persona, Place, Scene, Scratchpad, Turn
from bot.core.vectors import Vector
from bot.core.window import Roster, Speaker
from bot.engine.due_notes import Due, DueNotes
from bot.engine.jobs import Closing
from bot.engine.known_facts import KnownFacts, shown
from bot.engine.limits import OverLimit
from bot.engine.model_rooms import ModelRooms
from bot.engine.noted_memories import Reading, drafts, pointed, sources_of
from bot.engine.paid_calls import Call, PaidCalls
from bot.engine.places import Places
from bot.engine.reflecting import Reflector
from bot.engine.slots import GiveWay, Priority
from bot.engine.state import PlaceState
from bot.errors import ContextOverflow, ModelError, StorageError, new_reference

log = logging.getLogger(__name__)

FIRST_RETRY = timedelta(seconds=30)
LAST_RETRY = timedelta(hours=2)
SHRINK, LEAST_CONTEXT = 0.7, 800
"""A prompt that is too long is made so much shorter, as long as some turns still fit."""
MOST_TURNS = 60
FEWEST_TURNS = 4
MOST_REFUSALS = 6
"""After so many unusable answers, each over fewer turns, the oldest turns are covered without new notes."""
MOST_SCORINGS = 5
"""After so many failed calls for the feelings of the same turns those that the small head gave stay."""


class Summariser:
    """Owns all background calls of the model. They start only when no reply waits, and give way to one."""

    def __init__(
        self,
        *,
        turns: TurnStore,
        scenes: SceneStore,
        personas: PersonaStore,
        memories: MemoryStore,
        index: MemoryIndex,
        known_facts: KnownFacts,
        reflector: Reflector,
        places: Places,
        calls: PaidCalls,
        prompts: Prompts,
        context_tokens: int,
        score_emotions: bool,
        take_notes: Callable[[PlaceState, Scratchpad], Awaitable[None]],
        wake_indexer: Callable[[], None],
        now: Callable[[], datetime],
        workers: int = 2,
    ) -> None:
        self._turns = turns
        self._scenes = scenes
        self._personas = personas
        self._memories = memories
        self._index = index
        self._known_facts = known_facts
        self._reflector = reflector
        self._places = places
        self._model = calls.model()
        self._calls = calls
        self._prompts = prompts
        self._rooms = ModelRooms(context_tokens)
        self._score_emotions = score_emotions
        self._take_notes = take_notes
        self._wake_indexer = wake_indexer
        self._now = now
        self._workers = workers
        self._due = DueNotes(now=now)
        self._wake = asyncio.Event()
        self.failure = ""

    # ------------------------------------------------------------ what waits
    def note(self, place: Place, scene_id: int, uncovered: int) -> None:
        """So many turns of the scene are uncovered now."""
        self._due.note(place, scene_id, uncovered)
        self._wake.set()

    @property
    def waiting(self) -> int:
        """How many turns wait to be summarised, in all scenes known."""
        return self._due.waiting

    @property
    def busy(self) -> bool:
        """Whether notes are being rewritten now."""
        return self._due.busy

    async def run(self) -> None:
        """Work for ever, a few scenes at a time; the owner cancels it."""
        places = {place.id: place for place in await self._scenes.places()}
        for place_id, scene_id, count in await self._turns.waiting():
            if place_id in places:  # not one that began in between: it is noted by itself
                self.note(places[place_id], scene_id, count)
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"summariser {number}")

    async def _work(self) -> None:
        while True:
            due = self._due.take()
            if due is not None:
                await self._attempt(due)
                continue
            self._wake.clear()
            try:
                async with asyncio.timeout(self._due.pause()):
                    await self._wake.wait()
            except TimeoutError:
                continue

    # ------------------------------------------------------------ one scene
    async def _attempt(self, due: Due) -> None:
        try:
            if due.unscored:
                await self._score(due)
            if due.uncovered and due.notes_when() <= self._now():
                await self._rewrite(due)
        except GiveWay:
            due.not_before = self._now() + timedelta(seconds=1)
        except ContextOverflow as problem:
            self._too_long(due, problem)
        except ModelError as problem:
            self._failed(due, f"the model gave no notes: {type(problem).__name__}")
            log.warning("Notes of scene %s wait: %s", due.scene_id, problem)
        except Closing:
            pass  # these notes are made again after the next start
        except StorageError as problem:
            self._failed(due, "the database takes nothing")
            log.warning("Notes of scene %s wait: %s", due.scene_id, problem)
        except Exception:
            number = new_reference()
            self._failed(due, f"writing notes failed, see the log (ref {number})")
            log.exception("Notes of scene %s could not be rewritten (ref %s)", due.scene_id, number)
        finally:
            self._due.give_back(due)

    def _too_long(self, due: Due, problem: ContextOverflow) -> None:
        """Learn how much the model takes, and ask at once for less."""
        model = problem.model or self._model.name
        before = self._rooms.of(model)
        stated = problem.limit if problem.limit and problem.limit < before else int(before * SHRINK)
        if stated < LEAST_CONTEXT:
            self._failed(due, "the model takes too short a prompt for notes")
        else:
            self._rooms.learn(model, stated)
        log.info("Notes of scene %s: the prompt was too long for %s (%s tokens)", due.scene_id, model, before)

    def _failed(self, due: Due, failure: str) -> None:
        due.failures += 1
        due.not_before = self._now() + min(LAST_RETRY, FIRST_RETRY * 2 ** min(due.failures - 1, 12))
        self.failure = failure

    async def _rewrite(self, due: Due) -> None:
        scene = await self._scenes.get(due.scene_id)
        before = await self._scenes.scratchpad(due.scene_id)  # before the turns: a later edit makes it stale
        most = max(FEWEST_TURNS, MOST_TURNS >> due.refusals)
        turns = await self._turns.uncovered(due.scene_id, most) if scene else []
        if scene is None or not turns:
            await self._places.do(due.place, lambda state: self._count(due, state))
            return
        reading = await self._reading(scene, turns)
        prompt = background_prompt(
            turns,
            scene=scene,
            lines=before.lines,
            known=shown(reading.known),
            cast=reading.cast,
            roster=reading.roster,
            prompts=self._prompts,
            context_tokens=self._rooms.of(self._model.name),
            count=self._model.count_tokens,
        )
        completion = await self._ask(due, scene, prompt, "memory", REWRITE_SCHEMA)
        if completion is None:
            return
        read = prompt.turns
        answer = parse_rewrite(
            completion.text,
            turn_ids=[turn.id for turn in read],
            current=before.lines,
            known=[fact.memory.id for fact in reading.known[: prompt.known]],
            texts=[turn.text for turn in read],
            truncated=completion.truncated,
        )
        if isinstance(answer, Refused):
            log.info("Notes of scene %s are kept as they are: %s", scene.id, answer.reason)
            self._failed(due, f"the model's last notes were refused: {answer.reason}")
            due.refusals += 1
            if due.refusals < MOST_REFUSALS:
                return
            # Nothing is lost: these turns stay verbatim in the long-term memory.
            answer = Rewrite(before.lines, replaced=(), facts=(), emotions={}, triggers=())
        await self._keep(due, reading, before, answer, read)
        if self._score_emotions:
            due.unscored += [turn.id for turn in read]
            await self._score(due)
        if await self._reflector.reflect(
            scene, reading.cast, partial(self._ask, due, scene), room=self._rooms.of(self._model.name)
        ):
            self._wake_indexer()

    async def _ask(
        self,
        due: Due,
        scene: Scene,
        prompt: MemoryPrompt,
        purpose: str,
        schema: Mapping[str, object] | None,
    ) -> Completion | None:
        """One background call; None when a limit is used up (the turns wait until it is not)."""
        payer, most = Payer(scene.space_id, scene.place_id), prompt.max_tokens
        call = Call(payer, prompt.messages, purpose, most, schema=schema)
        watcher = AnswerWatcher()
        try:
            completion = await self._calls.complete(call, priority=Priority.BACKGROUND, on_text=watcher.feed)
        except OverLimit:
            due.not_before = self._now() + timedelta(minutes=30)
            return None
        return replace(completion, truncated=completion.truncated or watcher.stopped)

    async def _keep(
        self, due: Due, reading: Reading, before: Scratchpad, answer: Rewrite, read: Sequence[Turn]
    ) -> None:
        """Store the new notes through the place's actor; a stale answer is dropped and asked for anew."""
        scene = reading.scene
        turns = {turn.id: turn for turn in await self._turns.by_ids(sources_of(answer))}
        made = drafts(answer, reading, turns)

        async def change(state: PlaceState) -> Scratchpad | None:
            after = await self._scenes.rewrite(
                before, answer.lines, [turn.id for turn in read], made, pointed(answer.triggers)
            )
            if after is not None and state.scene is not None and state.scene.id == scene.id:
                await self._take_notes(state, after)
            await self._count(due, state)
            return after

        after = await self._places.do(due.place, change)
        due.since = self._now()
        if after is None:
            return
        due.failures, due.refusals, self.failure = 0, 0, ""
        await self._feel(scene, answer.emotions, read)
        self._wake_indexer()

    async def _count(self, due: Due, state: PlaceState) -> None:
        """See how many turns are left; in the place's order, so that none that is noted meanwhile is lost."""
        due.uncovered = await self._turns.count_uncovered(due.scene_id)
        if state.scene is not None and state.scene.id == due.scene_id:
            state.uncovered = due.uncovered

    async def _score(self, due: Due) -> None:
        """The paper's way: a call of its own that reasons and scores each text. What fails is asked again
        later, some times."""
        scene = await self._scenes.get(due.scene_id)
        left = [turn for turn in await self._turns.by_ids(due.unscored) if turn.text] if scene else []
        due.unscored = [turn.id for turn in left]
        if scene is None or not left:
            return
        roster = Roster.of(await self._cast(scene), await self._members(scene))
        while left:
            prompt = emotion_prompt(
                left,
                roster=roster,
                prompts=self._prompts,
                context_tokens=self._rooms.of(self._model.name),
                count=self._model.count_tokens,
            )
            if due.scorings >= MOST_SCORINGS or not prompt.turns:
                log.info("Scene %s: %s turns keep the feelings of the small head", scene.id, len(left))
                due.unscored, due.scorings = [], 0
                return
            if not await self._scored(due, scene, prompt):
                return
            left = left[len(prompt.turns) :]
            due.unscored = [turn.id for turn in left]

    async def _scored(self, due: Due, scene: Scene, prompt: MemoryPrompt) -> bool:
        """One such call; False when it is to be repeated later."""
        due.scorings += 1
        try:
            completion = await self._ask(due, scene, prompt, "emotion", None)
        except GiveWay:
            due.scorings -= 1
            raise
        if completion is None:
            due.scorings -= 1
            return False
        found = parse_emotions(completion.text, ids=[turn.id for turn in prompt.turns])
        if not found:
            self._failed(due, "the model told no feelings")
            return False
        due.scorings, due.failures, self.failure = 0, 0, ""
        await self._feel(scene, found, prompt.turns)
        return True

    async def _feel(self, scene: Scene, emotions: Mapping[int, Vector], read: Sequence[Turn]) -> None:
        """The model's numbers replace the head's, in the store and in the index, where turns still say what
        it read."""
        if not emotions:
            return
        source = f"model:{self._model.name}"
        said = {turn.id: turn.text for turn in read}
        memories = await self._memories.set_emotions(
            {turn: (vector, source) for turn, vector in emotions.items()}, said=said
        )
        by_memory = {memory: emotions[turn] for turn, memory in memories.items()}
        await self._index.set_emotions(scene.space_id, by_memory)

    async def _reading(self, scene: Scene, turns: Sequence[Turn]) -> Reading:
        cast, members = await self._cast(scene), await self._members(scene)
        speakers = (*(Speaker(NOBODY, persona.name, persona.id) for persona in cast), *members)
        known = await self._known_facts.near(scene, turns)
        return Reading(scene, Roster.of(cast, members), cast, speakers, known)

    async def _cast(self, scene: Scene) -> tuple[Persona, ...]:
        found = [await self._personas.get(persona_id) for persona_id in scene.cast]
        return tuple(persona for persona in found if persona is not None)

    async def _members(self, scene: Scene) -> list[Speaker]:
        return [Speaker(owner, name) for owner, name in await self._turns.speakers(scene.id)]
