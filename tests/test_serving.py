"""The bot as a process: it starts, stops in time, and says why when it cannot."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.discord_server import BotProcess, DiscordServer
from tests.model_server import ModelServer

pytestmark = pytest.mark.timeout(200)
READY_S = 120


def settings(model: ModelServer, **more: str) -> dict[str, str]:
    return {"LLM_BASE_URL": model.url, "LLM_MODEL": model.model, **more}


async def test_it_starts_stops_on_sigterm_in_time_and_owns_its_data(
    discord_server: DiscordServer, model_server: ModelServer, tmp_path: Path
) -> None:
    async with BotProcess(discord_server, tmp_path, env=settings(model_server)) as bot:
        await bot.ready(READY_S)
        (announced,) = [line for line in bot.lines if line.startswith("Troupe: ")]
        assert "the Discord bot" in announced
        assert model_server.url in announced
        assert str(tmp_path) in announced

        second = BotProcess(discord_server, tmp_path, env=settings(model_server))
        await second.start()
        assert await asyncio.wait_for(second._started().wait(), READY_S) == 78
        await second._drained()
        assert "Another Troupe is running" in second.output

        began = time.monotonic()
        assert await bot.terminate() == 0
        assert time.monotonic() - began < 11
        assert discord_server.token not in bot.output


async def test_a_refused_token_exits_78_and_is_not_shown(
    discord_server: DiscordServer, model_server: ModelServer, tmp_path: Path
) -> None:
    env = settings(model_server, DISCORD_TOKEN="MTIzNDU2Nzg5MDEyMzQ1Njc4.wrong.token")
    bot = BotProcess(discord_server, tmp_path, env=env)
    await bot.start()
    assert await asyncio.wait_for(bot._started().wait(), READY_S) == 78
    await bot._drained()
    assert "DISCORD_TOKEN is refused by Discord" in bot.output
    assert "wrong.token" not in bot.output
    assert "Traceback" not in bot.output
