"""A search index that was deleted or damaged is built again from the database, at a start or in between."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from bot.adapters.lance_index import LanceIndex
from bot.engine import indexing
from bot.errors import SearchIndexError
from tests.engine.gates import Held
from tests.engine.stage import TAVERN, Stage, open_stage
from tests.fakes_encoder import HashEncoder
from tests.fakes_index import FakeIndex

SAID = 12


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.01)
    monkeypatch.setattr(indexing, "PATIENCE_SECONDS", 0.05)


@asynccontextmanager
async def playing(folder: Path) -> AsyncIterator[Stage]:
    encoder = HashEncoder()
    opened = LanceIndex.open(folder / "lancedb", encoder_id=encoder.id, dimensions=encoder.dimensions)
    async with opened as index, open_stage(folder, index=index) as stage:  # type: ignore[arg-type]
        yield stage


async def indexed(stage: Stage, number: int) -> None:
    """Wait until every memory has its key, and no more; calls fail while the index is thrown away."""
    async with asyncio.timeout(20):
        while True:
            with suppress(SearchIndexError):
                waiting = await stage.store.memories.count_to_index(stage.encoder.id)
                keys = await stage.index.count(TAVERN.space_id)
                if not waiting and keys == number and not await stage.index.is_damaged():
                    return
            await asyncio.sleep(0.02)


def delete_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def delete_table(folder: Path) -> None:
    shutil.rmtree(next(folder.glob("space_*")))


def cut_data(folder: Path) -> None:
    for path in folder.rglob("*.lance"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:64])


def cut_versions(folder: Path) -> None:
    for path in folder.rglob("*.manifest"):
        path.write_bytes(b"\0" * 100)


DAMAGES = [delete_folder, delete_table, cut_data, cut_versions]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_before_a_start(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    async with playing(tmp_path) as stage:
        await stage.scene(await stage.persona())
        for number in range(SAID):
            stage.say(f"The bell rings {number} times.")
        await stage.quiet()
        await indexed(stage, SAID)
    damage(tmp_path / "lancedb")
    async with playing(tmp_path) as stage:
        await indexed(stage, SAID)
        stage.say("Once more.")
        await stage.quiet()
        await indexed(stage, SAID + 1)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_while_the_bot_runs(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    async with playing(tmp_path) as stage:
        await stage.scene(await stage.persona())
        for number in range(SAID):
            stage.say(f"The bell rings {number} times.")
        await stage.quiet()
        await indexed(stage, SAID)
        damage(tmp_path / "lancedb")
        stage.say("Mira, who rang the bell?")
        await stage.quiet()
        assert len(stage.messenger.texts()) == 1, "words serve"
        await indexed(stage, SAID + 2)


class Doubtful(FakeIndex):
    """An index that fails once when it is tidied, and is found damaged then."""

    def __init__(self) -> None:
        super().__init__()
        self.breaks = self.damaged = False

    async def drop_stale(self) -> int:
        if self.breaks:
            self.breaks, self.damaged = False, True
            raise SearchIndexError("a file is missing")
        return 0

    async def is_damaged(self) -> bool:
        return self.damaged

    async def reset(self) -> None:
        self.damaged = False
        await super().reset()


async def test_a_damage_found_while_the_index_is_being_rebuilt_loses_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Doubtful()
    async with open_stage(tmp_path, index=index) as stage:
        await stage.scene(await stage.persona())
        for number in range(SAID):
            stage.say(f"The bell rings {number} times.")
        await stage.quiet()
        await indexed(stage, SAID)
        index.breaks = True
        stage.troupe.indexer.wake()
        async with asyncio.timeout(5):
            while index.breaks:
                await asyncio.sleep(0)
        index.damaged = False
        marking = Held(monkeypatch, stage.store.memories, "indexed", before=True)
        rebuilding = asyncio.create_task(stage.troupe.indexer.rebuild(lambda done, total: None))
        await marking.reached()
        index.damaged = True
        await asyncio.sleep(3 * indexing.PATIENCE_SECONDS)
        marking.go.set()
        await rebuilding
        await indexed(stage, SAID)
