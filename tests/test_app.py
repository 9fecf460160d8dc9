"""The whole of what `bot.app` opens, on real parts: SQLite, LanceDB, the bundled embedding model."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.adapters.sentence_model import bundled_folder
from bot.app import INDEX, App, open_app
from bot.core.events import MessagePosted, snowflake
from bot.data_lock import AlreadyOwned
from bot.settings import Settings
from tests.engine.stage import ALICE, TAVERN, FakeMessenger, RealClock
from tests.model_server import ModelServer

pytestmark = [pytest.mark.timeout(180), pytest.mark.usefixtures("hurried_indexer")]


@asynccontextmanager
async def running(
    folder: Path, server: ModelServer, **environ: str
) -> AsyncIterator[tuple[App, FakeMessenger]]:
    messenger = FakeMessenger(RealClock())
    values = {
        "DISCORD_TOKEN": "token",
        "LLM_BASE_URL": server.url,
        "LLM_MODEL": "scripted",
        "DATA_DIR": str(folder),
        "CONTEXT_TOKENS": "2048",
        **environ,
    }
    async with open_app(Settings.load(values, None), lambda: messenger) as app:
        await app.troupe.start()
        yield app, messenger


async def indexed(app: App) -> None:
    async with asyncio.timeout(120):
        while not app.encoder.ready or await app.store.memories.count_to_index(app.encoder.id):
            await asyncio.sleep(0.05)


def say(app: App, messenger: FakeMessenger, text: str) -> None:
    message_id = messenger.next_id()
    app.troupe.hear(
        MessagePosted(TAVERN, message_id, ALICE, "Alice", text, messenger.clock(), mentions_bot=False)
    )


async def start_scene(app: App) -> None:
    mira = await app.troupe.personas.create(TAVERN.space_id, name="Mira")
    after = snowflake(RealClock()()) - (1 << 22)
    await app.troupe.scenes.start(TAVERN, name="The feast", persona_id=mira.id, after=after)


async def found(app: App, query: str) -> list[str]:
    return [hit.memory.text for hit in await app.troupe.memories.search(TAVERN, query, limit=3)]


async def test_meaning_is_found_without_a_common_word_and_feelings_are_read(
    tmp_path: Path, model_server: ModelServer
) -> None:
    async with running(tmp_path, model_server) as (app, messenger):
        await start_scene(app)
        for text in (
            "My kitten hid under the stove.",
            "The harvest was poor.",
            "I am so scared of the dark!",
        ):
            say(app, messenger, text)
        await app.troupe.journal.flushed()
        await indexed(app)
        assert (await found(app, "a small cat"))[0] == "My kitten hid under the stove."
        memories = await app.store.memories.of_story(1)
        fear = memories[2].emotion
        assert fear is not None
        assert fear.argmax() == 2
        assert str(memories[2].emotion_source).startswith("head:")


async def test_another_embedding_model_is_noticed_and_the_index_built_anew(
    tmp_path: Path, model_server: ModelServer
) -> None:
    data, copy = tmp_path / "data", tmp_path / "another-model"
    async with running(data, model_server) as (app, messenger):
        await start_scene(app)
        say(app, messenger, "My kitten hid under the stove.")
        await app.troupe.journal.flushed()
        await indexed(app)
        first = app.encoder.id
    await asyncio.to_thread(shutil.copytree, bundled_folder(), copy)
    async with running(data, model_server, EMBEDDING_MODEL=str(copy)) as (app, _):
        assert app.encoder.id != first
        assert await found(app, "kitten") == ["My kitten hid under the stove."]
        await indexed(app)
        assert await found(app, "a small cat") == ["My kitten hid under the stove."]
        async with asyncio.timeout(20):
            while app.index.stale_tables():
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("harm", ["deleted", "damaged"])
async def test_a_lost_index_is_built_again_at_the_next_start(
    tmp_path: Path, model_server: ModelServer, harm: str
) -> None:
    async with running(tmp_path, model_server) as (app, messenger):
        await start_scene(app)
        say(app, messenger, "My kitten hid under the stove.")
        await app.troupe.journal.flushed()
        await indexed(app)
    if harm == "deleted":
        await asyncio.to_thread(shutil.rmtree, tmp_path / INDEX)
    else:
        await asyncio.to_thread(_damage, tmp_path / INDEX)
    async with running(tmp_path, model_server) as (app, _):
        async with asyncio.timeout(60):
            while await app.index.is_damaged() or not await app.index.count(TAVERN.space_id):
                await asyncio.sleep(0.05)
        await indexed(app)
        assert await found(app, "a small cat") == ["My kitten hid under the stove."]


@pytest.mark.parametrize(
    "variables", [("BASE_URL", "MODEL", "API_KEY"), ("BASE_URL", "MODEL"), ("MODEL",), ("API_KEY",)]
)
async def test_the_work_behind_the_replies_goes_to_its_own_model(
    tmp_path: Path, model_server: ModelServer, variables: tuple[str, ...]
) -> None:
    async with ModelServer() as other:
        values = {"BASE_URL": other.url, "MODEL": "small", "API_KEY": "second-key"}
        own = {f"LLM_BACKGROUND_{name}": values[name] for name in variables}
        async with running(tmp_path, model_server, LLM_API_KEY="first-key", **own) as (app, messenger):
            await start_scene(app)
            for number in range(10):
                say(app, messenger, f"Mira, the {number}th cup is empty.")
            async with asyncio.timeout(60):
                while not (other.of("memory") + model_server.of("memory") and model_server.of("reply")):
                    await asyncio.sleep(0.05)
        asked = other if "BASE_URL" in variables else model_server
        notes, reply = asked.of("memory")[0], model_server.of("reply")[0]
        assert other.of("reply") == []
        assert reply.headers["authorization"] == "Bearer first-key"
        assert reply.body["model"] == "scripted"
        key = "second-key" if "API_KEY" in variables else "none" if asked is other else "first-key"
        assert notes.headers["authorization"] == f"Bearer {key}"
        assert notes.body["model"] == ("small" if "MODEL" in variables else "scripted")


async def test_a_second_process_does_not_get_the_folder(tmp_path: Path, model_server: ModelServer) -> None:
    async with running(tmp_path, model_server):
        with pytest.raises(AlreadyOwned):
            async with running(tmp_path, model_server):
                pass


def _damage(folder: Path) -> None:
    for file in folder.rglob("*.lance"):
        if file.is_file():
            file.write_bytes(b"not a table")
