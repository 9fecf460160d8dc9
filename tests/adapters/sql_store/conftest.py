"""A real database file per test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.adapters.sql_store import SqlStore, open_store
from tests.adapters.sql_store.helpers import Clock, Stage, set_stage


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "troupe.db"


@pytest.fixture
async def store(path: Path, clock: Clock) -> AsyncIterator[SqlStore]:
    async with open_store(path, clock=clock) as opened:
        yield opened


@pytest.fixture
async def stage(store: SqlStore) -> Stage:
    return await set_stage(store)
