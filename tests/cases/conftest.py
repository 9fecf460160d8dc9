"""One bot in this process per module; each test has a guild of its own in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.cases.in_process import InProcess, lay, running
from tests.e2e.bot_process import Table


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running_bot(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[InProcess]:
    """The bot of this module, connected; the module's SETTINGS are on top of the ordinary ones."""
    settings = getattr(request.module, "SETTINGS", {})
    async with running(tmp_path_factory.mktemp("bot"), **settings) as play:
        yield play


@pytest_asyncio.fixture(loop_scope="module")
async def table(request: pytest.FixtureRequest, running_bot: InProcess) -> AsyncIterator[Table]:
    """A guild for one test. Afterwards the bot must have logged no error and broken no rule of Discord."""
    running_bot.restore()
    running_bot.errors.take()
    running_bot.encoder.delay = 0.0
    yield await lay(running_bot, request.node.name[:90])
    running_bot.restore()
    if request.node.get_closest_marker("logs_exceptions"):
        running_bot.errors.take()
    running_bot.check()
