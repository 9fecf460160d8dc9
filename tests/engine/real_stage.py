"""The whole engine with the bundled embedding model, its emotion head and the real search index."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from bot.adapters.embedder import Model, ThreadedEncoder, make_encoder
from bot.adapters.emotion_head import EmotionHead
from bot.adapters.lance_index import LanceIndex
from bot.adapters.sentence_model import BUNDLED_DIMENSIONS, bundled_folder, load_sentence_model
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


@cache
def _model() -> Model:
    """Loaded once for all tests of a process."""
    return load_sentence_model(str(bundled_folder()), local=True, threads=1, cache_dir=None)


@asynccontextmanager
async def real_stage(folder: Path, **options: object) -> AsyncIterator[Stage]:
    """Only Discord and the language model are played. Opening the same folder again is a restart."""
    name = make_encoder("bundled").id
    async with ThreadedEncoder(encoder_id=name, dimensions=BUNDLED_DIMENSIONS, loader=_model) as encoder:
        await encoder.load()
        parts = {"encoder": encoder, "scorer": EmotionHead.load(name), "context_tokens": 1200}
        async with (
            LanceIndex.open(folder / "index", encoder_id=name, dimensions=BUNDLED_DIMENSIONS) as index,
            open_stage(
                folder,
                **{**parts, "index": index, **options},  # type: ignore[arg-type]
            ) as stage,
        ):
            yield stage


def notes(**changes: object) -> str:
    """An answer of the background model."""
    line = {"section": "place", "text": "The inn, on a rainy evening.", "turns": [1]}
    answer = {"keep": [], "lines": [line], "facts": [], "triggers": [], "emotions": []}
    return json.dumps({**answer, **changes})


async def chatter(stage: Stage, rounds: int, lines: Sequence[str] = SMALL_TALK) -> None:
    """Talk until what was said before is out of the window, then wait until all is noted and indexed."""
    for number in range(rounds):
        for line in lines:
            stage.say(f"{line} ({number})", by=BOB)
    await stage.quiet()
    async with asyncio.timeout(50):
        while stage.troupe.summariser.waiting >= 10 or stage.troupe.summariser.busy:
            await asyncio.sleep(0.02)
        await indexed(stage)


async def indexed(stage: Stage, *, within: float = 50.0) -> None:
    """Wait until every memory has its key."""
    async with asyncio.timeout(within):
        while await stage.store.memories.count_to_index(stage.troupe.indexer._encoder.id):
            await asyncio.sleep(0.02)


async def recalled(stage: Stage, question: str, **by: object) -> str:
    """What a prompt shows as remembered, when a member asks this."""
    stage.say(question, **by)  # type: ignore[arg-type]
    await stage.quiet()
    content = stage.model.of("reply")[-1].messages[-1].content
    return content[content.rfind("<notes>") : content.rfind("</notes>")]
