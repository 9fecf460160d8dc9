"""What feeling does to recall: the memory that each strategy puts first, over a set of our own.

Three invented personas remember 153 things, three to a topic, each of another feeling. A query is *relevant*
when only the mood can tell which of a topic's memories is meant, *irrelevant* when its words ask for one of
them whatever the mood, and *comfort* when a low mood asks for a memory that lifts. Memories go through the
shipped store, indexer, encoder, head and search index, moods through the shipped head, queries through the
shipped recall. The set was written down before anything was measured on it.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks._encoding import say
from benchmarks._feelings import KINDS, Asked, Character, read
from benchmarks._recalling import Memory, draft, open_memory, unstored
from bot.core import cards
from bot.core.candidates import DEFAULT_WEIGHT, RecallSettings
from bot.core.mood import Mood, at_rest, update
from bot.core.stores import PostEntry
from bot.core.strategies import Strategy
from bot.core.types import Memory as Remembered
from bot.core.types import Persona, Place, Scene, Turn
from bot.engine.recalling import Asking, Recollection, Wanted

SPACE: Final = 1
FIRST: Final = datetime(2026, 1, 5, 18, 0, tzinfo=UTC)
APART: Final = timedelta(days=2, hours=5)
BASELINE: Final = Strategy.SEMANTIC_ONLY.value
UNFELT: Final = "balanced_without_feeling"
"""`balanced` with `emotion_weight` 0, which a comforting persona takes."""
RESAMPLES: Final = 10_000
_MOST: Final = 20
_MISSED: Final = 1_000

Hits = npt.NDArray[np.bool_]


def run(arguments: Sequence[str], characters: Sequence[Character] | None = None) -> dict[str, Any]:
    """Return for each kind of query and each strategy `top1`, `top5` (shares of queries whose memory came
    first, or among the first five), and `difference` of top-1 to `semantic_only` with the `low` and `high`
    end of its 95% interval (paired bootstrap over the queries); under `feeling_alone` the difference that
    feeling makes to `balanced`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks feeling", description=__doc__)
    parser.add_argument("--model", default="bundled", help="the embedding model (EMBEDDING_MODEL)")
    parser.add_argument("--weight", type=float, default=DEFAULT_WEIGHT, help="emotion_weight")
    chosen = parser.parse_args(arguments)
    return asyncio.run(_run(chosen.model, variants(chosen.weight), characters or read()))


def variants(weight: float = DEFAULT_WEIGHT) -> dict[str, RecallSettings]:
    """The six strategies, and ours without feeling; the budget is no bound here."""
    named = {one.value: RecallSettings(strategy=one, emotion_weight=weight) for one in Strategy}
    named[UNFELT] = RecallSettings(strategy=Strategy.BALANCED, emotion_weight=0.0)
    return {name: replace(one, tokens=_MOST, most=_MOST) for name, one in named.items()}


async def _run(
    model: str, settings: Mapping[str, RecallSettings], characters: Sequence[Character]
) -> dict[str, Any]:
    places: dict[str, dict[str, list[int]]] = {kind: {name: [] for name in settings} for kind in KINDS}
    with tempfile.TemporaryDirectory(prefix="troupe-") as folder:
        async with AsyncExitStack() as stack:
            memory = await open_memory(Path(folder), model, stack)
            for number, character in enumerate(characters, 1):
                remembering = await _remember(memory, character, number)
                for asked in character.queries:
                    found = await remembering.places_of_gold(asked, settings)
                    for name, place in found.items():
                        places[asked.kind][name].append(place)
                say(f"{character.name}: {len(character.memories)} memories, {len(character.queries)} queries")
    return {
        "memories": sum(len(character.memories) for character in characters),
        "queries": {kind: len(places[kind][BASELINE]) for kind in KINDS},
        **{kind: _compared(places[kind]) for kind in KINDS},
        "feeling_alone": {
            kind: _difference(places[kind][Strategy.BALANCED.value], places[kind][UNFELT]) for kind in KINDS
        },
    }


def _compared(places: Mapping[str, Sequence[int]]) -> dict[str, dict[str, float]]:
    return {
        name: {
            "top1": _within(found, 1),
            "top5": _within(found, 5),
            **({} if name == BASELINE else _difference(found, places[BASELINE])),
        }
        for name, found in places.items()
    }


def _within(places: Sequence[int], cut: int) -> float:
    return round(float(np.mean(np.array(places) <= cut)), 3)


def _difference(found: Sequence[int], base: Sequence[int]) -> dict[str, float]:
    """The difference of two top-1 shares and its interval: the same queries are drawn for both."""
    gain = (np.array(found) == 1).astype(np.int64) - (np.array(base) == 1)
    drawn = np.random.default_rng(7).integers(0, len(gain), size=(RESAMPLES, len(gain)))
    low, high = np.percentile(gain[drawn].mean(axis=1), [2.5, 97.5])
    return {
        "difference": round(float(gain.mean()), 3),
        "low": round(float(low), 3),
        "high": round(float(high), 3),
    }


async def _remember(memory: Memory, character: Character, number: int) -> _Remembering:
    """A scene of the persona in which everything was said."""
    card = cards.new_card(
        name=character.name, description=character.description, personality="", greeting="", examples=""
    )
    persona = await memory.store.personas.create(
        Persona(id=0, space_id=SPACE, name=character.name, card=card, temperament=cards.temperament(card))
    )
    place = Place(number, SPACE, f"place-{number}")
    scene = await memory.store.scenes.start(
        place, name="Long evenings", location="", situation="", story=None, after=1
    )
    scene = await memory.store.scenes.join(scene.id, persona.id)
    drafts = [
        draft(scene, persona, told.speaker, told.text, FIRST + APART * at)
        for at, told in enumerate(character.memories)
    ]
    await memory.store.turns.commit([PostEntry(one) for one in drafts])
    await memory.indexer.catch_up()
    turns = await memory.store.turns.uncovered(scene.id, len(drafts))
    made = await memory.store.memories.of_turns([turn.id for turn in turns])
    ids = [made[turn.id] for turn in sorted(turns, key=lambda turn: turn.created_at)]
    example = (await memory.store.memories.by_ids(ids[:1]))[0]
    return _Remembering(memory, character, persona, scene, ids, FIRST + APART * len(drafts), example)


@dataclass(frozen=True)
class _Remembering:
    """A persona that is asked after everything was said."""

    memory: Memory
    character: Character
    persona: Persona
    scene: Scene
    memory_ids: Sequence[int]
    now: datetime
    example: Remembered

    async def places_of_gold(self, asked: Asked, settings: Mapping[str, RecallSettings]) -> dict[str, int]:
        """The place of the wanted memory by each strategy, from 1; 1,000 where it is not recalled."""
        before, mood = await self._heard(asked.before)
        query = self._turn(asked.text, -len(before) - 1, self.now)
        places = {}
        async with self.memory.recaller.asking(self.scene, self.persona.id, [query]) as asking:
            for name, one in settings.items():
                found = await self._recall(query, before, mood, one, asking)
                ranked = [item.memory_id for item in sorted(found.choice.items, key=lambda item: item.rank)]
                gold = self.memory_ids[asked.gold]
                places[name] = ranked.index(gold) + 1 if gold in ranked else _MISSED
        return places

    async def _recall(
        self, query: Turn, before: Sequence[Turn], mood: Mood, settings: RecallSettings, asking: Asking
    ) -> Recollection:
        wanted = Wanted(
            scene=self.scene,
            persona_id=self.persona.id,
            answers=(query,),
            shown=(*before, query),
            mood=mood,
            settings=settings,
            cooling=frozenset(),
            cost=lambda item: 1,
        )
        return await self.memory.recaller.recall(wanted, asking)

    async def _heard(self, lines: Sequence[str]) -> tuple[list[Turn], Mood]:
        """The turns just before a query, and the mood they leave behind, a minute between them."""
        temperament = self.persona.temperament
        mood = at_rest(temperament, self.now - timedelta(minutes=len(lines)))
        vectors = await self.memory.encoder.embed_passages(
            [f"{self.character.member}: {text}" for text in lines]
        )
        turns = []
        for number, (text, vector) in enumerate(zip(lines, vectors, strict=True), 1):
            moment = self.now - timedelta(minutes=len(lines) - number)
            turns.append(self._turn(text, -number, moment))
            self.memory.recent.keep(replace(self.example, id=-number, turn_id=-number), vector)
            heard = self.memory.head.scores(vector[None])[0]
            mood = update(mood, temperament=temperament, heard=heard, now=moment)
        return turns, mood

    def _turn(self, text: str, number: int, moment: datetime) -> Turn:
        return unstored(draft(self.scene, self.persona, self.character.member, text, moment), number)
