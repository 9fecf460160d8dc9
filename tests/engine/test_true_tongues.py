"""In every language a marked memory comes back by other forms of its words: real encoder, real index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.adapters.stemmers import Stemmers
from bot.core.types import Place
from tests.engine.real_stage import indexed, real_stage
from tests.engine.stage import BOB, TAVERN, Stage
from tests.engine.tongues import MARKED, tongue

pytestmark = pytest.mark.usefixtures("hurried_indexer")

TALK = 20


async def play(stage: Stage, language: str, place: Place) -> None:
    """A scene of its own in which the marked line stands among small talk."""
    told = tongue(language)
    await stage.scene(await stage.persona(f"Mira {language}"), place=place)
    for line in (*told.talk[:8], told.marked, *told.talk[8:TALK]):
        stage.say(line, by=BOB, place=place)
    await stage.quiet()


@pytest.mark.timeout(300)
async def test_a_marked_memory_is_found_in_every_language(tmp_path: Path) -> None:
    places = {name: replace(TAVERN, id=TAVERN.id + number) for number, name in enumerate(MARKED)}
    async with real_stage(tmp_path, scorer=None, stemmer_of=Stemmers().of) as stage:
        for language, place in places.items():
            await play(stage, language, place)
        await indexed(stage, within=220)
        first = {}
        for language, place in places.items():
            found = await stage.troupe.memories.search(place, tongue(language).asked, limit=1)
            first[language] = found[0].memory.text
        assert first == {language: marked for language, (marked, _) in MARKED.items()}
        assert stage.troupe.words.language_of(found[0].memory.story_id) == "tr"
