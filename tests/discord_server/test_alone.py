"""The server on its own: seams, launcher, command line, control, rate limits, and its own fixtures."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import aiohttp
import discord
import pytest
import yarl

from .conftest import Tavern
from .fixtures import missing_specification
from .limits import RateLimits
from .log import RequestRecord
from .process import ROOT
from .sample_bot import SampleBot
from .seams import check_loopback, seams
from .server import DiscordServer

pytest_plugins = ["pytester"]


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:80/api/v10", "ws://localhost:1/gateway", "http://[::1]:80"]
)
def test_local_addresses_are_taken(address: str) -> None:
    assert check_loopback(address) == address


@pytest.mark.parametrize(
    "address", ["https://discord.com/api", "http://10.0.0.1/", "http://127.0.0.1.example.org/", "", "/api"]
)
def test_other_hosts_are_refused(address: str) -> None:
    with pytest.raises(ValueError, match="not a loopback address"):
        check_loopback(address)


def test_the_seams_are_those_of_the_client(discord_server: DiscordServer) -> None:
    assert discord_server.base_url == discord.http.Route.BASE
    assert yarl.URL(discord_server.gateway_url) == discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY
    names = [name for _, name, _ in seams(discord_server.base_url, discord_server.gateway_url, None)]
    assert names == ["BASE", "DEFAULT_GATEWAY"]


@pytest.mark.parametrize(
    ("env", "complaint"),
    [
        ({}, "LOOPBACK_REST"),
        (
            {"LOOPBACK_REST": "https://discord.com/api/v10", "LOOPBACK_GATEWAY": "ws://localhost"},
            "not a loopback",
        ),
    ],
)
async def test_the_launcher_refuses_foreign_or_missing_addresses(
    tmp_path: Path, env: dict[str, str], complaint: str
) -> None:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("LOOPBACK_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.discord_server.launch_bot",
        cwd=tmp_path,
        env={**kept, "PYTHONPATH": str(ROOT), **env},
        stderr=asyncio.subprocess.PIPE,
    )
    _, error = await process.communicate()
    assert process.returncode == 78
    assert complaint in error.decode()


async def test_it_runs_alone_and_is_controlled_over_http(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.discord_server", "--guilds", "2", "--no-schema"),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        about = json.loads(await process.stdout.readline())
        assert len(about["guilds"]) == 2
        guild = about["guilds"][0]
        async with aiohttp.ClientSession() as session:
            assert await _control(session, about, "statistics", {}) == {
                "requests": 0,
                "by_status": {},
                "sessions": 0,
                "connected": 0,
                "identifies": 0,
                "resumes": 0,
                "syncs": 0,
                "violations": [],
            }
            burst = {"users": guild["members"][:2], "channels": guild["channels"], "count": 5}
            assert (await _control(session, about, "burst", burst))["count"] == 5
            shown = await _control(session, about, "messages", {"channel": guild["channels"][0]})
            assert [item["content"] for item in shown] == ["Message 0", "Message 2", "Message 4"]
            failed = await _control(session, about, "say", {"user": "1", "channel": "2", "text": "x"})
            assert "KeyError" in failed["error"]
    finally:
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def _control(
    session: aiohttp.ClientSession, about: dict[str, Any], name: str, body: dict[str, Any]
) -> Any:
    async with session.post(f"{about['control']}/{name}", json=body) as response:
        return await response.json()


async def test_small_windows_slow_a_client_down_without_losing_messages(
    tavern: Tavern, bot: SampleBot
) -> None:
    tavern.server.limits = RateLimits(limit=2, window=0.2)
    channel = bot.get_channel(tavern.inn.id)
    assert isinstance(channel, discord.TextChannel)
    started = asyncio.get_running_loop().time()
    await asyncio.gather(*(channel.send(str(number)) for number in range(6)))
    assert asyncio.get_running_loop().time() - started > 0.3
    assert len(tavern.server.messages(tavern.inn)) == 6


async def test_the_global_limit_refuses_with_its_own_scope() -> None:
    limits = RateLimits(limit=100, global_limit=3)
    record = RequestRecord(0, "GET", "/users/@me", "/users/@me", {}, {}, {}, None, [], 0.0)
    answers = [limits.refusal(record) for _ in range(4)]
    assert answers[:3] == [None, None, None]
    assert answers[3] is not None
    assert answers[3].headers["X-RateLimit-Scope"] == "global"


async def test_unknown_routes_and_wrong_tokens_are_told(discord_server: DiscordServer) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{discord_server.base_url}/users/@me") as refused:
            assert refused.status == 401
        async with session.get(f"{discord_server.base_url}/nowhere") as missing:
            assert missing.status == 404
    (found,) = discord_server.take_violations()
    assert found.kind == "route"


async def test_an_outage_cuts_everything(tavern: Tavern, bot: SampleBot) -> None:
    tavern.server.faults.outage = True
    with pytest.raises((aiohttp.ClientError, OSError)):
        await bot.fetch_guild(tavern.guild.id)
    tavern.server.faults.clear()
    assert (await bot.fetch_guild(tavern.guild.id)).id == tavern.guild.id


async def test_slow_answers_take_effect_before_or_after_the_wait(tavern: Tavern, bot: SampleBot) -> None:
    channel = bot.get_channel(tavern.inn.id)
    assert isinstance(channel, discord.TextChannel)
    tavern.server.slow_next("POST", r"/messages$", 0.3, when="after")
    sending = asyncio.create_task(channel.send("soon there"))
    await tavern.server.wait_for_message(tavern.inn)
    assert not sending.done()
    await sending


def test_missing_openapi_document_is_told(tmp_path: Path) -> None:
    (tmp_path / "there.json").write_text("{}")
    assert missing_specification(tmp_path / "there.json") is None
    told = missing_specification(tmp_path / "gone.json")
    assert told is not None
    assert "skipped" in told


def test_breaches_fail_the_test_that_made_them(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import aiohttp
        from tests.discord_server.fixtures import discord_server, logged_errors

        async def test_breach(discord_server):
            async with aiohttp.ClientSession() as session:
                async with session.get(f"{discord_server.base_url}/nowhere") as answer:
                    assert answer.status == 404
        """
    )
    pytester.makeini(
        "[pytest]\nasyncio_mode=auto\nasyncio_default_fixture_loop_scope=function\nmarkers=logs_exceptions"
    )
    result = pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*no such route*"])
