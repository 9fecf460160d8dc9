"""The whole bot on an embeddings endpoint: indexed, found, felt, and going on when that server is down."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.adapters.embedding_server import BATCH, ServedEncoder
from bot.adapters.seed_head import seed_head_path, seeds
from bot.engine import indexing
from tests.model_server import Fail, ModelServer
from tests.test_app import found, indexed, running, say, start_scene

pytestmark = pytest.mark.timeout(180)
SERVED = {"EMBEDDING_MODEL": "openai:embed-3"}


@pytest.fixture(autouse=True)
def hurried_indexer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.0)


async def test_memories_are_indexed_and_found_and_a_head_is_fitted_once(
    tmp_path: Path, model_server: ModelServer
) -> None:
    async with running(tmp_path, model_server, **SERVED) as (app, messenger):
        await start_scene(app)
        async with asyncio.timeout(60):
            while not seed_head_path(tmp_path, app.encoder.id).is_file():
                await asyncio.sleep(0.05)
        say(app, messenger, "My kitten hid under the stove.")
        await app.troupe.journal.flushed()
        await indexed(app)
        assert app.encoder.dimensions == 8
        assert await found(app, "kitten") == ["My kitten hid under the stove."]
        (memory,) = await app.store.memories.of_story(1)
        assert str(memory.emotion_source).startswith("head:openai-embed-3-seeds-")
    asked = len(model_server.of("embedding"))
    assert asked >= len(seeds()[1]) // BATCH
    async with running(tmp_path, model_server, **SERVED) as (app, _):
        await indexed(app)
        assert await found(app, "kitten") == ["My kitten hid under the stove."]
    assert len(model_server.of("embedding")) <= asked + 3, "the seeds are not sent again"


async def test_when_the_server_is_down_words_serve(tmp_path: Path, model_server: ModelServer) -> None:
    async with running(tmp_path, model_server, **SERVED) as (app, messenger):
        assert isinstance(app.encoder, ServedEncoder)
        await start_scene(app)
        say(app, messenger, "My kitten hid under the stove.")
        await app.troupe.journal.flushed()
        await indexed(app)
        model_server.set_script("embedding", lambda _: Fail(401, {"error": {"message": "key expired"}}))
        assert await found(app, "the kitten under the stove") == ["My kitten hid under the stove."]
