"""In every language a marked memory comes back by other forms of its words: real encoder, real index."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.adapters.embedder import ThreadedEncoder, make_encoder
from bot.adapters.stemmers import Stemmers
from bot.core.types import Place
from bot.engine import indexing
from tests.engine.stage import BOB, TAVERN, Stage
from tests.engine.test_true_recall import true_stage
from tests.engine.tongues import MARKED, tongue

TALK = 20


@pytest.fixture(autouse=True)
def hurried_indexer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.0)


@pytest.fixture
async def encoder() -> AsyncIterator[ThreadedEncoder]:
    async with make_encoder("bundled", threads=1) as one:
        await one.load()
        yield one


async def play(stage: Stage, language: str, place: Place) -> None:
    """A scene of its own in which the marked line stands among small talk."""
    told = tongue(language)
    await stage.scene(await stage.persona(f"Mira {language}"), place=place)
    for line in (*told.talk[:8], told.marked, *told.talk[8:TALK]):
        stage.say(line, by=BOB, place=place)
    await stage.quiet()


async def indexed(stage: Stage, encoder: ThreadedEncoder) -> None:
    async with asyncio.timeout(220):
        while await stage.store.memories.count_to_index(encoder.id):
            await asyncio.sleep(0.05)


@pytest.mark.timeout(300)
async def test_a_marked_memory_is_found_in_every_language(tmp_path: Path, encoder: ThreadedEncoder) -> None:
    places = {name: replace(TAVERN, id=TAVERN.id + number) for number, name in enumerate(MARKED)}
    async with true_stage(tmp_path, encoder, stemmer_of=Stemmers().of) as stage:
        for language, place in places.items():
            await play(stage, language, place)
        await indexed(stage, encoder)
        first = {}
        for language, place in places.items():
            found = await stage.troupe.memories.search(place, tongue(language).asked, limit=1)
            first[language] = found[0].memory.text
        assert first == {language: marked for language, (marked, _) in MARKED.items()}
        assert stage.troupe.words.language_of(found[0].memory.story_id) == "tr"
