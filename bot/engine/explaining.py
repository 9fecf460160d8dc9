"""Keeps why each reply came out as it did, and tells it again with the memories that are still there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.core.character import own_strategy, own_weight, recall_settings
from bot.core.emotion import as_list
from bot.core.explanations import Asides, Explanation, ExplanationStore, memory_ids, numbers
from bot.core.mood import current
from bot.core.prompt_parts import Prompt
from bot.core.query_hints import is_question
from bot.core.spontaneous import COOLDOWN_TURNS
from bot.core.stores import MemoryStore, TurnStore
from bot.core.types import Memory, Place, Turn
from bot.core.using import taken
from bot.engine.mood_causes import Felt
from bot.engine.recalling import Recollection
from bot.engine.samples import Voice
from bot.engine.state import ReplyRequest
from bot.errors import UserFacing

FIRST_FEW = 3
_UNKNOWN = (
    "I cannot say why: that message is not a persona's reply, or it was made too long ago. "
    "The newest 300 replies of a channel can be explained."
)


@dataclass(slots=True)
class Trace:
    """What is noted while one reply is made."""

    recollection: Recollection = field(default_factory=Recollection)
    prompt: Prompt | None = None
    complaint: str = ""
    """What was wrong with a first answer, if it had to be asked for twice."""
    voice: Voice = field(default_factory=Voice)
    felt: Felt = field(default_factory=lambda: Felt(""))
    echo: float = 0.0
    """The share of the answer that stands in the last replies too."""
    lore: tuple[tuple[str, int | None], ...] = ()
    """Which entries of lore were told, and the key of each."""
    model_tokens: int = 0
    model: str = ""
    """Which model answered."""
    instead_of: str = ""
    """Which should have, and was down."""
    milliseconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Adds the time that the block takes to a part."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            yield
        finally:
            self.milliseconds[part] = self.milliseconds.get(part, 0.0) + (clock() - began) * 1000


@dataclass(frozen=True, slots=True)
class ToldMemory:
    """A recalled memory as it is now (None when gone), its numbers, and how many words the reply took."""

    memory: Memory | None
    numbers: Mapping[str, Any]
    taken: int = 0


@dataclass(frozen=True, slots=True)
class Why:
    """An explained reply."""

    turn: Turn
    body: Mapping[str, Any]
    recalled: tuple[ToldMemory, ...]
    left_out: tuple[ToldMemory, ...]
    aside: Memory | None
    answered: tuple[Turn, ...]
    cause: Turn | None = None
    """What the mood came from; None when nothing stood out, or it is gone."""


class Explainer:
    """Keeps and tells explanations, and decides what may come to mind by itself."""

    def __init__(self, *, store: ExplanationStore, memories: MemoryStore, turns: TurnStore) -> None:
        self._store = store
        self._memories = memories
        self._turns = turns

    async def aside_resting(self, request: ReplyRequest) -> frozenset[int] | None:
        """The memories that may not come up by themselves now; None when nothing may: the last time was
        less than `spontaneous_turns` ago, or a member asked something."""
        every = int(str(request.options["spontaneous_turns"]))
        if not every or is_question(" ".join(turn.text for turn in request.answers)):
            return None
        known: Asides = await self._store.asides(request.scene.id, cooldown=COOLDOWN_TURNS)
        since = known.turns if known.turns_since is None else known.turns_since
        return known.resting if since >= every else None

    async def asked_before(self, request: ReplyRequest) -> Explanation | None:
        """The persona's last reply, when that and this one answer a question and it took nothing from what
        was recalled."""
        if not is_question(" ".join(turn.text for turn in request.answers)):
            return None
        before = await self._store.latest(request.scene.id, persona_id=request.persona.id)
        if before is None or not before.body.get("asked") or before.body.get("taken"):
            return None
        return before

    async def keep(
        self, request: ReplyRequest, trace: Trace, *, turn_id: int, text: str, now: datetime
    ) -> None:
        """Note what went into the reply that became this turn."""
        aside = trace.recollection.aside
        explanation = Explanation(
            turn_id=turn_id,
            place_id=request.place.id,
            scene_id=request.scene.id,
            created_at=now,
            body=_body(request, trace, text),
            aside_id=aside.id if aside else None,
        )
        await self._store.keep(explanation)

    async def why(self, place: Place, message_id: int) -> Why:
        """Everything known about the reply that a message belongs to."""
        turn = await self._turns.by_message(message_id)
        found = await self._store.of_turn(turn.id) if turn and turn.place_id == place.id else None
        if turn is None or found is None:
            raise UserFacing(_UNKNOWN)
        body = found.body
        wanted = [*memory_ids(body), *([found.aside_id] if found.aside_id else [])]
        memories = {memory.id: memory for memory in await self._memories.by_ids(wanted)}
        words: Mapping[str, int] = body.get("taken", {})

        def told(key: str) -> tuple[ToldMemory, ...]:
            return tuple(
                ToldMemory(memories.get(entry["id"]), entry, words.get(str(entry["id"]), 0))
                for entry in body.get(key, ())
            )

        answered = [one for one in await self._turns.by_ids(body.get("answers", ())) if one.text]
        aside = memories.get(found.aside_id) if found.aside_id else None
        moved = [one for one in await self._turns.by_ids([body.get("cause", 0)]) if one.text]
        cause = moved[0] if moved else None
        return Why(turn, body, told("recalled"), told("left_out"), aside, tuple(answered), cause)


def _own_recall(request: ReplyRequest) -> dict[str, Any]:
    """The weight of feeling that was asked for, and what of recall is the persona's own choice."""
    card = request.persona.card
    asked = recall_settings(card, request.options, tokens=0)
    own = {"strategy": own_strategy(card), "weight": own_weight(card)}
    return {"weight": asked.emotion_weight, "own": [key for key, value in own.items() if value is not None]}


def was_ignored(before: Explanation | None, found: Recollection) -> bool:
    """Whether the reply `asked_before` took nothing from the very memory that is the best for this question
    again."""
    if before is None or not found.choice.items:
        return False
    best = min(found.choice.items, key=lambda item: item.rank)
    return best.memory_id in [entry["id"] for entry in before.body["recalled"][:FIRST_FEW]]


def _body(request: ReplyRequest, trace: Trace, text: str) -> dict[str, Any]:
    """Plain values; of the words that the reply took from a memory only their number."""
    found, prompt = trace.recollection, trace.prompt
    first = prompt.start_id if prompt else 0
    asked = {turn.id for turn in request.answers}
    elsewhere = [turn.text for turn in request.window if turn.id >= first or turn.id in asked]
    took = {
        str(item.memory_id): len(words)
        for item in found.choice.items
        if (words := taken(text, item.text, elsewhere))
    }
    return {
        "answers": [turn.id for turn in request.answers],
        "asked": is_question(" ".join(turn.text for turn in request.answers)),
        "strategy": found.strategy.value,
        "mood": as_list(current(request.mood)),
        "heard": None if found.heard is None else as_list(found.heard),
        "recalled": [numbers(item) for item in sorted(found.choice.items, key=lambda item: item.rank)],
        "left_out": [numbers(item) for item in found.choice.left_out],
        "taken": took,
        "parts": dict(prompt.parts) if prompt else {},
        "no_room": list(prompt.left_out) if prompt else [],
        "lore": [list(one) for one in trace.lore],
        "complaint": trace.complaint,
        "echo": round(trace.echo, 2),
        "drift": [way.name for way in trace.voice.drift],
        "samples": [sample.id for sample in trace.voice.shown],
        "cause": trace.felt.turn_id,
        **_own_recall(request),
        "answer_tokens": trace.model_tokens,
        "model": trace.model,
        "instead_of": trace.instead_of,
        "milliseconds": {part: round(spent, 1) for part, spent in trace.milliseconds.items()},
    }
