"""Puts together what remembers: words, the search index, recall, and the notes of scenes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.core.types import Scratchpad
from bot.engine.index_probe import IndexProbe
from bot.engine.indexing import Felt, Indexer
from bot.engine.known_facts import KnownFacts
from bot.engine.paid_calls import PaidCalls
from bot.engine.parts import Parts
from bot.engine.pasts import Pasts
from bot.engine.places import Places
from bot.engine.recalling import Recaller
from bot.engine.recent_vectors import RecentVectors
from bot.engine.reflecting import Reflector
from bot.engine.sharing import Sharing
from bot.engine.state import PlaceState
from bot.engine.story_words import StoryWords
from bot.engine.summarising import Summariser
from bot.engine.unlearning import Unlearning


@dataclass(frozen=True, kw_only=True)
class Remembering:
    """Made by `remembering`."""

    words: StoryWords
    indexer: Indexer
    probe: IndexProbe
    unlearning: Unlearning
    pasts: Pasts
    sharing: Sharing
    recaller: Recaller
    summariser: Summariser


def remembering(
    parts: Parts,
    *,
    places: Places,
    calls: PaidCalls,
    felt: Felt,
    take_notes: Callable[[PlaceState, Scratchpad], Awaitable[None]],
) -> Remembering:
    """The memory over these parts. `calls` are those of the background; `felt` hears what new turns feel
    like, and `take_notes` has a place show new notes."""
    store = parts.store
    words = StoryWords(memories=store.memories, stemmer_of=parts.stemmer_of)
    recent = RecentVectors()
    probe = IndexProbe(store=store.settings, encoder=parts.encoder)
    indexer = Indexer(
        recent=recent,
        memories=store.memories,
        index=parts.index,
        encoder=parts.encoder,
        probe=probe,
        scorer=parts.scorer,
        felt=felt,
        erase_bytes=store.erase_bytes,
        now=parts.now,
    )
    unlearning = Unlearning(words=words, places=places, wake_indexer=indexer.wake)
    pasts = Pasts(
        store=store.pasts, memories=store.memories, unlearning=unlearning, wake_indexer=indexer.wake
    )
    sharing = Sharing(links=store.links, scenes=store.scenes, channels=parts.channels)
    recaller = Recaller(
        sharing=sharing,
        recent=recent,
        pasts=pasts,
        memories=store.memories,
        index=parts.index,
        encoder=parts.encoder,
        scorer=parts.scorer,
        words=words,
    )
    return Remembering(
        words=words,
        indexer=indexer,
        probe=probe,
        unlearning=unlearning,
        pasts=pasts,
        sharing=sharing,
        recaller=recaller,
        summariser=Summariser(
            turns=store.turns,
            scenes=store.scenes,
            personas=store.personas,
            memories=store.memories,
            index=parts.index,
            reflector=_reflector(parts),
            known_facts=KnownFacts(
                knowledge=store.knowledge, memories=store.memories, index=parts.index, encoder=parts.encoder
            ),
            places=places,
            calls=calls,
            prompts=parts.prompts,
            context_tokens=parts.background_context,
            score_emotions=parts.score_emotions,
            take_notes=take_notes,
            wake_indexer=indexer.wake,
            now=parts.now,
        ),
    )


def _reflector(parts: Parts) -> Reflector:
    return Reflector(
        knowledge=parts.store.knowledge,
        memories=parts.store.memories,
        prompts=parts.prompts,
        context_tokens=parts.background_context,
        count=parts.background.count_tokens,
    )
