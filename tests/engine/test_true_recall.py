"""What long-term memory brings back with the bundled embedding model and the real search index."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.adapters.embedder import ThreadedEncoder, make_encoder
from bot.adapters.lance_index import LanceIndex
from bot.engine import indexing
from tests.engine.stage import BOB, Stage, open_stage

SMALL_TALK = (
    "The soup needs salt.",
    "Who left the cellar door open?",
    "A cart with barrels came up from the harbour.",
    "My boots are wet again.",
    "Put another log on the fire, will you?",
    "That bard sings too loud.",
    "I will have the bread and the cheese.",
    "The moon is nearly full tonight.",
    "Somebody should sweep the stairs.",
    "Rain, rain, nothing but rain this week.",
)


@pytest.fixture(autouse=True)
def hurried_indexer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.0)


@pytest.fixture
async def encoder() -> AsyncIterator[ThreadedEncoder]:
    async with make_encoder("bundled", threads=1) as one:
        await one.load()
        yield one


@asynccontextmanager
async def true_stage(folder: Path, encoder: ThreadedEncoder, **options: object) -> AsyncIterator[Stage]:
    """The whole engine with the real encoder and index; only Discord and the model are played."""
    async with LanceIndex.open(
        folder / "index", encoder_id=encoder.id, dimensions=encoder.dimensions
    ) as index:
        async with open_stage(
            folder, index=index, encoder=encoder, context_tokens=1200, **options
        ) as stage:
            yield stage


def notes(**changes: object) -> str:
    line = {"section": "place", "text": "The inn, on a rainy evening.", "turns": [1]}
    answer = {"keep": [], "lines": [line], "facts": [], "triggers": [], "emotions": []}
    return json.dumps({**answer, **changes})


async def settled(stage: Stage, encoder: ThreadedEncoder) -> None:
    """Everything said is noted and indexed."""
    async with asyncio.timeout(50):
        while stage.troupe.summariser.waiting >= 10 or stage.troupe.summariser.busy:
            await asyncio.sleep(0.02)
        while await stage.store.memories.count_to_index(encoder.id):
            await asyncio.sleep(0.02)


async def chatter(stage: Stage, rounds: int) -> None:
    for number in range(rounds):
        for line in SMALL_TALK:
            stage.say(f"{line} ({number})", by=BOB)
    await stage.quiet()


async def last_notes(stage: Stage) -> str:
    """What the last prompt showed as remembered."""
    content = stage.model.of("reply")[-1].messages[-1].content
    return content[content.rfind("<notes>") : content.rfind("</notes>")]


@pytest.mark.parametrize("triggered", [True, False])
async def test_a_remark_recalls_an_old_remark_by_its_trigger(
    tmp_path: Path, encoder: ThreadedEncoder, triggered: bool
) -> None:
    """The remark shares no word and little meaning with what it should bring back."""
    first = notes(
        triggers=[{"text": "somebody offers or bakes a cake with almonds", "turns": [1]}] if triggered else []
    )
    scripts = {"memory": [first, *[notes()] * 30]}
    async with true_stage(tmp_path, encoder, script=scripts) as stage:
        await stage.scene(await stage.persona())
        stage.say("My sister stopped breathing at that wedding, and we were glad the healer stood near.")
        await chatter(stage, 12)
        await settled(stage, encoder)
        stage.say("Mira, I baked you an almond cake this morning.")
        await stage.quiet()
        assert ("stopped breathing" in await last_notes(stage)) is triggered
