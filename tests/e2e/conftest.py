"""One running bot per module; each test has a guild of its own in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.e2e.bot_process import Stage, Table, stage


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: the test runs a real language model")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """The bot of this module, connected."""
    async with stage(tmp_path_factory.mktemp("bot")) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def table(request: pytest.FixtureRequest, running: Stage) -> AsyncIterator[Table]:
    """A guild for one test. Afterwards the bot must have logged no error and broken no rule of Discord."""
    running.restore()
    if not running.bot.running:  # a test before this one failed between stop and start
        await running.up()
    yield await Table.lay(running, request.node.name[:90])
    running.check()
