"""The shipped recall and indexer on a data folder, and turns to ask them with."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks._encoding import say
from bot.adapters.embedder import make_encoder
from bot.adapters.emotion_head import EmotionHead
from bot.adapters.lance_index import LanceIndex
from bot.adapters.sql_store import SqlStore, open_store
from bot.app import DATABASE, INDEX
from bot.core.ports import Encoder
from bot.core.types import Persona, Scene, Turn, TurnDraft, TurnKind
from bot.engine.index_probe import IndexProbe
from bot.engine.indexing import Indexer
from bot.engine.recalling import Recaller
from bot.engine.recent_vectors import RecentVectors
from bot.engine.story_words import StoryWords

MEMBER_ID: Final = 901


@dataclass(frozen=True)
class Memory:
    """The parts of the bot that remember, put together as it does."""

    store: SqlStore
    encoder: Encoder
    head: EmotionHead
    indexer: Indexer
    recaller: Recaller
    recent: RecentVectors


async def open_memory(folder: Path, model: str, stack: AsyncExitStack) -> Memory:
    """Open a data folder. SystemExit when there is no emotion head for the model."""
    encoder = await stack.enter_async_context(make_encoder(model, threads=1))
    head = EmotionHead.load(encoder.id)
    if head is None:
        raise SystemExit(f"there is no emotion head for {encoder.id}")
    say("loading the embedding model")
    await encoder.load()
    store = await stack.enter_async_context(open_store(folder / DATABASE))
    index = await stack.enter_async_context(
        LanceIndex.open(folder / INDEX, encoder_id=encoder.id, dimensions=encoder.dimensions)
    )
    recent = RecentVectors()
    words = StoryWords(memories=store.memories)
    stack.push_async_callback(words.close)
    indexer = Indexer(
        memories=store.memories,
        index=index,
        encoder=encoder,
        probe=IndexProbe(store=store.settings, encoder=encoder),
        scorer=head,
        felt=lambda place_id, feelings: None,
        erase_bytes=store.erase_bytes,
        now=lambda: datetime.now(UTC),
    )
    recaller = Recaller(
        memories=store.memories, index=index, encoder=encoder, scorer=head, words=words, recent=recent
    )
    return Memory(store, encoder, head, indexer, recaller, recent)


def draft(scene: Scene, persona: Persona, speaker: str, text: str, moment: datetime) -> TurnDraft:
    """A turn of the scene that the persona witnesses; its own when it is named as the speaker."""
    own = speaker == persona.name
    return TurnDraft(
        space_id=scene.space_id,
        place_id=scene.place_id,
        scene_id=scene.id,
        story_id=scene.story_id,
        owner_id=0 if own else MEMBER_ID,
        speaker=speaker,
        text=text,
        kind=TurnKind.IN_CHARACTER,
        created_at=moment,
        witnesses=(persona.id,),
        persona_id=persona.id if own else None,
    )


def unstored(drafted: TurnDraft, number: int) -> Turn:
    """A turn that recall may be asked with, though no store knows it."""
    return Turn(**{name: getattr(drafted, name) for name in TurnDraft.__dataclass_fields__}, id=number)
