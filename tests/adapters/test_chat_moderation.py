"""The moderation server over HTTP: what is asked, what its answers mean, and what its faults become."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from bot.adapters.chat_moderation import OpenAIModeration
from bot.errors import ModerationUnavailable

KEY = "sk-the-moderation-key"


@asynccontextmanager
async def served(
    answer: Callable[[dict[str, Any]], web.Response],
) -> AsyncIterator[tuple[OpenAIModeration, list[Any]]]:
    asked: list[Any] = []

    async def moderations(request: web.Request) -> web.Response:
        body = await request.json()
        asked.append((body, request.headers.get("Authorization")))
        return answer(body)

    app = web.Application()
    app.router.add_post("/v1/moderations", moderations)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    moderation = OpenAIModeration(base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY, model="omni")
    try:
        yield moderation, asked
    finally:
        await moderation.aclose()
        await runner.cleanup()


def results(*flags: object) -> web.Response:
    return web.json_response({"id": "m", "results": [{"flagged": flag, "categories": {}} for flag in flags]})


@pytest.mark.parametrize(("flags", "refused"), [((False,), False), ((True,), True), ((False, True), True)])
async def test_a_text_is_refused_when_any_result_is_flagged(flags: tuple[bool, ...], refused: bool) -> None:
    async with served(lambda body: results(*flags)) as (moderation, asked):
        assert await moderation.refuses("You grub!") is refused
        assert asked == [({"input": "You grub!", "model": "omni"}, f"Bearer {KEY}")]


@pytest.mark.parametrize(
    "answer",
    [
        lambda body: web.Response(status=500, text="no"),
        lambda body: web.Response(status=401, text=f"bad key {KEY}"),
        lambda body: web.json_response({"results": []}),
        lambda body: results("yes"),
        lambda body: web.json_response([1]),
        lambda body: web.Response(text="<html>"),
    ],
)
async def test_a_server_that_does_not_say_is_unavailable_and_no_secret_shows(
    answer: Callable[[dict[str, Any]], web.Response],
) -> None:
    async with served(answer) as (moderation, _):
        with pytest.raises(ModerationUnavailable) as caught:
            await moderation.refuses("You grub!")
        assert KEY not in str(caught.value)
        assert "grub" not in str(caught.value)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    moderation = OpenAIModeration(base_url="http://127.0.0.1:9/v1", api_key=KEY)
    with pytest.raises(ModerationUnavailable):
        await moderation.refuses("Hello.")
    await moderation.aclose()
