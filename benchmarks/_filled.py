"""Fills a data folder with a long past, through the shipped stores: turns, notes, word and vector index.

The vectors are random unit vectors, since encoding 100,000 sentences takes an hour: a search computes every
distance whatever the vectors hold. The feelings are what the shipped head makes of them. All else is real.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks._encoding import say
from benchmarks._words import Sentences
from bot.adapters.embedder import make_encoder
from bot.adapters.emotion_head import EmotionHead
from bot.adapters.lance_index import MERGE_AFTER, LanceIndex
from bot.adapters.sql_store import SqlStore, open_store
from bot.app import DATABASE, INDEX
from bot.core import cards
from bot.core.emotion import FLAT
from bot.core.events import snowflake
from bot.core.ports import IndexKey
from bot.core.stores import PostEntry
from bot.core.types import Line, Memory, Persona, Place, Scene, TurnDraft, TurnKind
from bot.core.vectors import Vector

PERSONA: Final = "Mira"
MEMBERS: Final = (("Alice", 901), ("Bob", 902), ("Caro", 903), ("Dora", 904))
_BATCH: Final = 4000
_STEP: Final = timedelta(minutes=3)
_SMALL_WRITE: Final = 3
_SAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class _Past:
    """What turns are made from."""

    scenes: Sequence[Scene]
    persona: Persona
    sentences: Sentences
    now: datetime

    def drafts(self, count: int, order: Sequence[int] | None) -> Iterator[TurnDraft]:
        """Members and the persona by turns, the places one after the other (or in the order given), the
        last an hour ago."""
        for number in range(count):
            scene = self.scenes[number % len(self.scenes) if order is None else order[number]]
            speaks = (number // len(self.scenes)) % 2 == 1
            name, owner = MEMBERS[number // (2 * len(self.scenes)) % len(MEMBERS)]
            yield TurnDraft(
                space_id=scene.space_id,
                place_id=scene.place_id,
                scene_id=scene.id,
                story_id=scene.story_id,
                owner_id=0 if speaks else owner,
                speaker=PERSONA if speaks else name,
                text=self.sentences.next(),
                kind=TurnKind.IN_CHARACTER,
                created_at=self.now - timedelta(hours=1) - _STEP * (count - number) / len(self.scenes),
                witnesses=(self.persona.id,),
                persona_id=self.persona.id if speaks else None,
            )


async def fill(
    folder: Path,
    places: Sequence[Place],
    memories: int,
    *,
    seed: int = 1,
    order: Sequence[int] | None = None,
) -> None:
    """Make a guild with a persona, a scene in each place and so many memories; all is covered and indexed.

    `order` gives for each memory the position of its place; without it they take turns.
    """
    async with open_store(folder / DATABASE) as store:
        past = await begin(store, places, Sentences(seed))
        await _say_everything(store, past, memories, order)
        for scene in past.scenes:
            await _take_notes(store, scene)
        await _index(store, folder, places[0].space_id, memories, seed)


async def prepare(folder: Path, places: Sequence[Place]) -> None:
    """Make a guild with a persona and a scene in each place, where nothing was said yet."""
    async with open_store(folder / DATABASE) as store:
        await begin(store, places, Sentences())


async def begin(store: SqlStore, places: Sequence[Place], sentences: Sentences) -> _Past:
    card = cards.new_card(
        name=PERSONA,
        description=f"{PERSONA} keeps the inn at the harbour. {sentences.next()} {sentences.next()}",
        personality="Warm, curious, slow to anger.",
        greeting="",
        examples="",
    )
    made = Persona(
        id=0, space_id=places[0].space_id, name=PERSONA, card=card, temperament=cards.temperament(card)
    )
    persona = await store.personas.create(made)
    await store.settings.set_option(made.space_id, 0, "member_rate", "0")  # a few members ask for many
    now = datetime.now(UTC)
    scenes: list[Scene] = []
    for place in places:
        scene = await store.scenes.start(
            place,
            name=f"A night at {place.name}",
            location="The harbour",
            situation="",
            story=None,
            after=snowflake(now),
        )
        scenes.append(await store.scenes.join(scene.id, persona.id))
    for _ in range(_SAMPLES):
        await store.personas.add_sample(persona.id, sentences.next(), None)
    return _Past(scenes, persona, sentences, now)


async def _say_everything(store: SqlStore, past: _Past, count: int, order: Sequence[int] | None) -> None:
    waiting: list[PostEntry] = []
    for number, draft in enumerate(past.drafts(count, order), 1):
        waiting.append(PostEntry(draft))
        if len(waiting) == _BATCH or number == count:
            await store.turns.commit(waiting)
            waiting = []
            say(f"stored {number} of {count} turns")


async def _take_notes(store: SqlStore, scene: Scene) -> None:
    """Cover every turn, with a few notes from the newest."""
    before = await store.scenes.scratchpad(scene.id)
    turns = await store.turns.uncovered(scene.id, 1_000_000)
    lines = [Line("events", f"{turn.speaker} told: {turn.text[:120]}", (turn.id,)) for turn in turns[-12:]]
    await store.scenes.rewrite(before, lines, [turn.id for turn in turns], ())


async def _index(store: SqlStore, folder: Path, space_id: int, memories: int, seed: int) -> None:
    """As upkeep leaves a table halfway between two merges: in good order, and 75 small writes behind it, of
    which the newest keys were folded together as they came."""
    encoder = make_encoder("bundled")
    head = EmotionHead.load(encoder.id)
    generator = np.random.default_rng(seed)
    small = min(MERGE_AFTER // 2, memories // (_SMALL_WRITE * 4))
    ordered = memories - small * _SMALL_WRITE
    done = 0
    async with LanceIndex.open(folder / INDEX, encoder_id=encoder.id, dimensions=encoder.dimensions) as index:
        while waiting := await store.memories.to_index(
            encoder.id, min(_BATCH, ordered - done) if done < ordered else _SMALL_WRITE
        ):
            vectors = generator.standard_normal((len(waiting), encoder.dimensions)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            scores = head.scores(vectors) if head else np.tile(FLAT, (len(waiting), 1))
            keys = [_key(memory, *rows) for memory, *rows in zip(waiting, vectors, scores, strict=True)]
            await index.upsert(space_id, keys)
            source = head.source if head else "none"
            emotions = {memory.id: (row, source) for memory, row in zip(waiting, scores, strict=True)}
            await store.memories.indexed(encoder.id, emotions, list(emotions))
            done += len(waiting)
            if done == ordered:
                await index.rewrite(space_id)
            elif done > ordered:
                await index.maintain()
            if done <= ordered:
                say(f"indexed {done} of {memories} memories")
    await encoder.close()


def _key(memory: Memory, vector: Vector, emotion: Vector) -> IndexKey:
    return IndexKey(
        memory_id=memory.id,
        part=0,
        kind=memory.kind.value,
        place_id=memory.place_id,
        story_id=memory.story_id,
        scene_id=memory.scene_id,
        audience_id=memory.audience_id,
        vector=vector,
        emotion=emotion,
        emotion_known=True,
    )
