"""What happens to a place's state: loading, new turns, edits, greetings, committed replies, moods."""

from __future__ import annotations

import asyncio
import bisect
import json
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.core import mood as moods
from bot.core.events import MessagePosted
from bot.core.mood import Mood, Step
from bot.core.mood_steps import moved, without
from bot.core.prompting import greeting
from bot.core.splitting import split
from bot.core.stores import Changed, PersonaStore, SceneStore, TurnStore
from bot.core.types import NOBODY, OutboxRow, Persona, Place, Scratchpad, Turn, TurnDraft, TurnKind
from bot.core.window import speaker_of
from bot.engine.addressing import Addressing
from bot.engine.delivery import Delivery
from bot.engine.indexing import Feeling
from bot.engine.live import LiveScenes
from bot.engine.loading import said_at, take_past, take_scene
from bot.engine.notices import Notices
from bot.engine.options import Options
from bot.engine.state import (
    Address,
    PlaceState,
    ReplyRequest,
    RunningReply,
    Told,
    is_unwritten,
    newest_unwritten,
)
from bot.engine.story_words import StoryWords
from bot.engine.summarising import Summariser
from bot.errors import StorageError

log = logging.getLogger(__name__)

ANSWER_WITHIN = timedelta(minutes=10)
LOADS_AT_ONCE = 4
"""So many waking places are read at the same time: what is written must not wait for all of them."""
COOLING_REPLIES = 4
"""A recalled memory counts as nagging for so many replies."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A finished reply, cleaned and split, with what the state should remember of it."""

    text: str
    parts: tuple[str, ...]
    start_id: int
    notes: Scratchpad
    recalled: tuple[int, ...]
    sample: bool
    """Good enough to be a style sample."""


class Conduct:
    """The behaviour of all places. Every method runs inside the actor of the state it is given."""

    def __init__(
        self,
        *,
        turns: TurnStore,
        scenes: SceneStore,
        personas: PersonaStore,
        options: Options,
        live: LiveScenes,
        words: StoryWords,
        addressing: Addressing,
        delivery: Delivery,
        notices: Notices,
        summariser: Summariser,
        wake_indexer: Callable[[], None],
        window_turns: int,
        now: Callable[[], datetime],
    ) -> None:
        self._turns = turns
        self._scenes = scenes
        self._personas = personas
        self._options = options
        self._live = live
        self._words = words
        self._addressing = addressing
        self._delivery = delivery
        self._notices = notices
        self._summariser = summariser
        self._wake_indexer = wake_indexer
        self._window_turns = window_turns
        self._loads = asyncio.Semaphore(LOADS_AT_ONCE)
        self.now = now

    # ------------------------------------------------------------ loading
    async def load(self, state: PlaceState) -> None:
        """Fill the state from the store, publish it to the guards, queue what is still owed an answer."""
        place = state.place
        await self._options.load(place.space_id)
        async with self._loads:
            since = self.now() - ANSWER_WITHIN
            record = await self._scenes.record(place.id, turns=self._window_turns, since=since)
        same = record is not None and state.scene is not None and record.scene.id == state.scene.id
        take_scene(state, record)
        if record is not None and not same:
            take_past(state, record)
            self._summariser.note(place, record.scene.id, record.uncovered)
            reply = state.reply if state.reply and state.reply.wanted else None
            being_answered = {turn.id for turn in reply.request.answers} if reply else set()
            for turn in record.unanswered:
                if turn.id not in being_answered:
                    await self._addressing.consider(state, turn)
        self._live.put(place, state.scene, state.aliases)

    async def owing(self) -> list[int]:
        """The places in which turns wait for an answer that is still due."""
        return await self._scenes.owing(self.now() - ANSWER_WITHIN)

    async def take_notes(self, state: PlaceState, scratchpad: Scratchpad) -> None:
        """Show these notes from now on, each to those who witnessed what it comes from."""
        state.scratchpad = scratchpad
        sources = {turn_id for line in scratchpad.lines for turn_id in line.sources}
        turns = await self._turns.by_ids(sources) if sources else []
        state.source_witnesses = {turn.id: frozenset(turn.witnesses) for turn in turns}

    def record_from(self, place: Place, message_id: int) -> None:
        """Messages up to this id are never read from the history."""
        self._live.record_from(place.id, message_id)

    def interrupt(self, state: PlaceState) -> None:
        """The scene stops here: a running reply is no longer wanted, nobody waits for one."""
        state.pending = []
        if state.reply is not None:
            state.reply.cancel()

    # ------------------------------------------------------------ what was heard
    async def recorded(self, state: PlaceState, turn: Turn, event: MessagePosted | None) -> None:
        """Put a new turn into the window and decide who answers it."""
        self._wake_indexer()
        scene = state.scene
        if scene is None or turn.scene_id != scene.id:
            return
        if 0 < turn.id <= state.loaded_to or any(known.id == turn.id for known in state.window):
            return  # the load that woke this actor had read it already
        self._append(state, turn)
        if state.is_long:
            self._words.read_soon(scene.story_id)
        if turn.id not in state.owed and turn.created_at >= self.now() - ANSWER_WITHIN:
            await self._addressing.consider(state, turn)

    async def changed(self, state: PlaceState, changed: Changed) -> None:
        """Edits and deletions reach the window, the notes, those who wait, and a prompt in flight."""
        self._words.forget(changed.memory_ids)
        self._wake_indexer()
        turns = {turn.id: turn for turn in changed.turns}
        state.window = _with_changes(state.window, turns, removed=changed.removed)
        state.pending, state.held = _readdressed(state.pending, turns, removed=changed.removed), {}
        reply = state.reply
        touched = Told(frozenset(changed.memory_ids), frozenset(turns), frozenset(changed.scene_ids))
        if reply is not None and reply.is_touched(turns, touched):
            reply.cancel()
            again = _readdressed(reply.addresses, turns, removed=changed.removed)
            state.pending = again + state.pending
        if state.scene is not None:
            await self._take_back(state, turns)
            await self.take_notes(state, await self._scenes.scratchpad(state.scene.id))
            state.uncovered = await self._turns.count_uncovered(state.scene.id)
            self._summariser.note(state.place, state.scene.id, state.uncovered)

    def _append(self, state: PlaceState, turn: Turn) -> None:
        assert state.scene is not None
        bisect.insort(state.window, turn, key=said_at)  # what was read from the history comes late
        del state.window[: -self._window_turns]
        speaker = speaker_of(turn)
        if turn.persona_id is None and speaker not in state.speakers:
            state.speakers.append(speaker)
        if turn.kind is not TurnKind.OUT_OF_CHARACTER and not turn.unremembered:
            state.uncovered += 1
            self._summariser.note(state.place, state.scene.id, state.uncovered)

    # ------------------------------------------------------------ replies
    def freeze(self, state: PlaceState, addresses: tuple[Address, ...]) -> ReplyRequest:
        """What a reply to these addresses needs, as it is now."""
        assert state.scene is not None
        persona = state.personas[addresses[0].persona_id]
        return ReplyRequest(
            place=state.place,
            scene=state.scene,
            persona=persona,
            cast=state.cast,
            aliases=dict(state.aliases),
            window=(
                *(turn for turn in state.window if perceived(turn, persona.id)),
                *(address.turn for address in addresses if is_unwritten(address.turn)),
            ),
            start_id=state.start_ids.get(persona.id, 0),
            speakers=tuple(state.speakers),
            scratchpad=_witnessed(state, persona.id),
            mood=state.moods.get(persona.id) or moods.at_rest(persona.temperament, self.now()),
            answers=tuple(address.turn for address in addresses),
            options=self._options.known(state.place.space_id, state.place.id),
            cooling=frozenset(
                memory_id
                for memory_id, number in state.recalled.items()
                if state.replies - number < COOLING_REPLIES
            ),
            began=self.now(),
            held=state.held.get(persona.id),
        )

    async def commit(
        self, state: PlaceState, reply: RunningReply, spoken: Spoken
    ) -> tuple[OutboxRow, ...] | None:
        """Store the reply and its outbox rows; None when it is not wanted any more."""
        request, scene = reply.request, state.scene
        if not reply.wanted or scene is None or scene.id != request.scene.id or scene.paused:
            return None
        if hindrance := self._addressing.hindrance(state.place, state.personas.get(request.persona.id)):
            await self._turns.settle([turn.id for turn in request.answers])
            self._notices.unanswerable(state.place, hindrance, request.answers[-1])
            return None
        rows = await self._say(state, request.persona, spoken.text, spoken.parts, request.answers)
        reply.committed = True
        who = request.persona.id
        state.start_ids[who], state.held[who] = spoken.start_id, spoken.notes
        state.replies += 1
        state.hold_until = None
        state.recalled.update(dict.fromkeys(spoken.recalled, state.replies))
        for turn in request.answers:
            state.answered_at[turn.owner_id] = self.now()
            state.cooled.discard(turn.owner_id)
        try:
            await self._pass(state, request.answers)
            if spoken.sample and not newest_unwritten(request.answers):
                await self._personas.add_sample(request.persona.id, spoken.text, rows[0].turn_id)
        except StorageError as problem:  # the reply is stored and must go out, once
            log.warning("Place %s: what goes with a reply is not stored: %s", state.place.id, problem)
        return rows

    async def _pass(self, state: PlaceState, answers: Sequence[Turn]) -> None:
        """What must not be written was answered: a history that is read later begins behind it."""
        if (message_id := newest_unwritten(answers)) and state.scene is not None:
            await self._scenes.activate(state.scene.id, after=message_id)

    async def failed(self, state: PlaceState, reply: RunningReply, hold: float) -> bool:
        """The reply could not be made: its turns get a notice; False when it is not wanted anyway."""
        if not reply.wanted:
            return False
        await self._turns.settle([turn.id for turn in reply.request.answers])
        await self._pass(state, reply.request.answers)
        reply.committed = True
        if hold:
            state.hold_until = self.now() + timedelta(seconds=hold)
        return True

    async def postponed(self, state: PlaceState, reply: RunningReply, hold: float) -> bool:
        """The reply could not be stored: it is made again in a while for turns that are not too old by then;
        False when it is not wanted anyway."""
        if not reply.wanted or reply.committed:
            return False
        reply.committed = True
        oldest = self.now() - ANSWER_WITHIN
        fresh = [address for address in reply.addresses if address.turn.created_at >= oldest]
        state.pending = fresh + state.pending
        state.hold_until = self.now() + timedelta(seconds=hold)
        return True

    async def unsaid(self, state: PlaceState, rows: Sequence[OutboxRow], answers: Sequence[Turn]) -> None:
        """Discord did not take what was to be said: it leaves the window, and nobody waits for another."""
        gone = {row.turn_id for row in rows}
        kept = {turn.id for turn in await self._turns.by_ids(gone) if turn.text}
        state.window = [turn for turn in state.window if turn.id not in gone - kept]
        await self._take_back(state, gone - kept)
        await self._turns.settle([turn.id for turn in answers])

    async def greet(self, state: PlaceState, persona: Persona, number: int = 0) -> None:
        """Say the persona's greeting of that number, when its card has one."""
        assert state.scene is not None
        members = state.named_members
        text = greeting(persona, state.scene, members=members, now=self.now(), number=number)
        if text and self._addressing.hindrance(state.place, persona) is None:
            rows = await self._say(state, persona, text, split(text), ())
            self._delivery.later(state.place, persona, rows)

    async def announce(self, state: PlaceState, text: str) -> None:
        """Say something in the bot's own name, outside of the story."""
        self._notices.plain(state.place, text)

    async def _say(
        self, state: PlaceState, persona: Persona, text: str, parts: Sequence[str], answers: Sequence[Turn]
    ) -> tuple[OutboxRow, ...]:
        scene = state.scene
        assert scene is not None
        draft = TurnDraft(
            space_id=scene.space_id,
            place_id=scene.place_id,
            scene_id=scene.id,
            story_id=scene.story_id,
            owner_id=NOBODY,
            speaker=persona.name,
            text=text,
            kind=TurnKind.IN_CHARACTER,
            created_at=self.now(),
            witnesses=scene.cast,
            persona_id=persona.id,
            unremembered=newest_unwritten(answers) > 0,
        )
        turn, rows = await self._turns.commit_reply(draft, parts, [turn.id for turn in answers])
        self._append(state, turn)
        self._wake_indexer()
        return rows

    # ------------------------------------------------------------ feelings
    async def felt(self, state: PlaceState, feelings: Sequence[Feeling]) -> None:
        """Move the moods of the personas present by what the newest turns felt like."""
        scene, now = state.scene, self.now()
        here = [feeling for feeling in feelings if scene is not None and feeling.scene_id == scene.id]
        living = {turn.id for turn in await self._turns.by_ids([one.turn_id for one in here]) if turn.text}
        steps = [Step(one.turn_id, tuple(one.emotion.tolist()), now) for one in here if one.turn_id in living]
        for persona in state.cast if steps else ():
            mood = state.moods.get(persona.id) or moods.at_rest(persona.temperament, now)
            for step in steps:
                mood = moved(mood, step, temperament=persona.temperament)
            await self._set_mood(state, persona, mood)

    async def _take_back(self, state: PlaceState, turn_ids: Collection[int]) -> None:
        """What changed or is gone has moved nobody; other words do so when they have been read. The store
        knows, unless a mood was written since."""
        for persona in state.cast:
            mood = state.moods.get(persona.id)
            left = without(mood, turn_ids, temperament=persona.temperament) if mood else None
            if left is not None and left is not mood:
                await self._set_mood(state, persona, left)

    async def _set_mood(self, state: PlaceState, persona: Persona, mood: Mood) -> None:
        assert state.scene is not None
        state.moods[persona.id] = mood
        await self._scenes.set_mood(state.scene.id, persona.id, json.dumps(moods.to_json(mood)))


def perceived(turn: Turn, persona_id: int) -> bool:
    """A persona that joined later does not know what was said before; out of character, all listen."""
    return persona_id in turn.witnesses or turn.kind is TurnKind.OUT_OF_CHARACTER


def _witnessed(state: PlaceState, persona_id: int) -> Scratchpad:
    """The notes whose every source the persona witnessed."""
    known = {turn_id for turn_id, who in state.source_witnesses.items() if persona_id in who}
    lines = tuple(line for line in state.scratchpad.lines if known.issuperset(line.sources))
    return replace(state.scratchpad, lines=lines)


def _with_changes(window: Sequence[Turn], changes: dict[int, Turn], *, removed: bool) -> list[Turn]:
    if removed:
        return [turn for turn in window if turn.id not in changes]
    return [changes.get(turn.id, turn) for turn in window]


def _readdressed(addresses: Sequence[Address], changes: dict[int, Turn], *, removed: bool) -> list[Address]:
    if removed:
        return [address for address in addresses if address.turn.id not in changes]
    return [replace(address, turn=changes.get(address.turn.id, address.turn)) for address in addresses]
