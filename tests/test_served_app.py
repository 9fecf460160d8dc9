"""The whole bot on an embeddings endpoint: indexed, found, felt, and going on when that server is down."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.adapters.embedding_server import BATCH, ServedEncoder
from bot.adapters.seed_head import seed_head_path, seeds
from bot.app import App
from bot.engine import indexing
from bot.engine.health import HealthLine
from bot.reindex import rebuilder
from tests.engine.stage import TAVERN, FakeMessenger
from tests.model_server import Fail, ModelServer
from tests.model_server.embeddings import Embed
from tests.test_app import found, indexed, running, say, start_scene

pytestmark = [pytest.mark.timeout(180), pytest.mark.usefixtures("hurried_indexer")]
SERVED = {"EMBEDDING_MODEL": "openai:embed-3"}


async def remembered(app: App, messenger: FakeMessenger, text: str) -> None:
    """Say this, and wait until it has its key in the index."""
    say(app, messenger, text)
    await app.troupe.journal.flushed()
    await indexed(app)


async def fitted(app: App, folder: Path) -> None:
    """The head that reads feelings is stored."""
    async with asyncio.timeout(60):
        while not seed_head_path(folder, app.encoder.id).is_file():
            await asyncio.sleep(0.05)


async def test_memories_are_indexed_and_found_and_a_head_is_fitted_once(
    tmp_path: Path, model_server: ModelServer
) -> None:
    async with running(tmp_path, model_server, **SERVED) as (app, messenger):
        await start_scene(app)
        await fitted(app, tmp_path)
        await remembered(app, messenger, "My kitten hid under the stove.")
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
        await remembered(app, messenger, "My kitten hid under the stove.")
        model_server.set_script("embedding", lambda _: Fail(401, {"error": {"message": "key expired"}}))
        assert await found(app, "the kitten under the stove") == ["My kitten hid under the stove."]


async def health_of_the_index(app: App) -> HealthLine:
    return next(line for line in await app.troupe.health() if line.name == "search index")


async def test_another_model_behind_the_same_name_is_told_once_until_a_reindex(
    tmp_path: Path, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path, model_server, **SERVED) as (app, messenger):
        await start_scene(app)
        await fitted(app, tmp_path)
        await remembered(app, messenger, "My kitten hid under the stove.")
    async with running(tmp_path, model_server, **SERVED) as (app, messenger):
        await remembered(app, messenger, "It came out again.")
        assert (await health_of_the_index(app)).ok
    assert "reindex" not in caplog.text
    model_server.set_script("embedding", Embed(model="another"))
    async with running(tmp_path, model_server, **SERVED) as (app, messenger):
        await remembered(app, messenger, "And hid again.")
        await remembered(app, messenger, "And again.")
        line = await health_of_the_index(app)
        assert not line.ok
        assert "python -m bot reindex" in line.text
        assert caplog.text.count("python -m bot reindex") == 1
        head = seed_head_path(tmp_path, app.encoder.id)
        before = head.read_bytes()
        await rebuilder(app.troupe, app.scorer.refit)(0, lambda text: None)
        assert (await health_of_the_index(app)).ok
        assert head.read_bytes() != before, "feelings are read from the new model's vectors"
    async with running(tmp_path, model_server, **SERVED) as (app, _):
        await app.encoder.load()
        await app.troupe.indexer.catch_up()
        assert (await health_of_the_index(app)).ok
    assert caplog.text.count("python -m bot reindex") == 1


async def test_another_length_of_vectors_behind_the_same_name_has_the_index_built_again(
    tmp_path: Path, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "PATIENCE_SECONDS", 0.05)
    async with running(tmp_path, model_server, **SERVED) as (app, messenger):
        await start_scene(app)
        await remembered(app, messenger, "My kitten hid under the stove.")
    model_server.set_script("embedding", Embed(dimensions=16))
    async with running(tmp_path, model_server, **SERVED) as (app, messenger):
        await app.encoder.load()
        assert await found(app, "the kitten under the stove") == ["My kitten hid under the stove."]
        say(app, messenger, "It came out again.")
        await app.troupe.journal.flushed()
        async with asyncio.timeout(20):
            while await app.index.is_damaged() or await app.index.count(TAVERN.space_id) < 2:
                await asyncio.sleep(0.05)
        await indexed(app)
        assert "My kitten hid under the stove." in await found(app, "the kitten under the stove")
        async with asyncio.timeout(20):
            while not app.scorer.ready:
                await asyncio.sleep(0.05)
