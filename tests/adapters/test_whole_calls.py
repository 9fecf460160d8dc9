"""A call that is cancelled closes what it had opened, wherever the cancellation meets it."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from bot.adapters import chat_server
from bot.adapters.whole_calls import WholeCalls
from tests.connected import eventually
from tests.model_server import ModelServer, Say
from tests.model_server.fixtures import MakeChatModel, ask, make_chat_model, model_server  # noqa: F401

IDLE = 4
"""Connections that wait, too old, in the pool when the next call comes."""


async def test_a_call_gives_its_result_or_its_exception() -> None:
    calls = WholeCalls()

    async def number(value: int) -> int:
        await asyncio.sleep(0)
        if value < 0:
            raise ValueError(value)
        return value

    assert await calls.run(number(7), name="seven") == 7
    with pytest.raises(ValueError, match="-1"):
        await calls.run(number(-1), name="none")


async def test_who_gives_up_does_not_wait_for_the_closing_and_the_owner_does() -> None:
    calls, reading, closing, gone = WholeCalls(), asyncio.Event(), asyncio.Event(), []

    async def work() -> None:
        try:
            reading.set()
            await asyncio.Event().wait()
        finally:
            with anyio.CancelScope(shield=True):
                await closing.wait()
                gone.append("connection")

    caller = asyncio.create_task(calls.run(work(), name="work"))
    await reading.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert gone == []
    closing.set()
    await calls.ended()
    assert gone == ["connection"]


async def test_a_call_that_fails_while_it_is_given_up_is_no_trouble() -> None:
    calls, reading = WholeCalls(), asyncio.Event()

    async def work() -> None:
        try:
            reading.set()
            await asyncio.Event().wait()
        finally:
            raise OSError("the line is gone")

    caller = asyncio.create_task(calls.run(work(), name="work"))
    await reading.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await calls.ended()


@pytest.mark.parametrize("steps", range(12))
async def test_a_call_given_up_at_any_moment_leaves_no_connection(
    model_server: ModelServer,  # noqa: F811
    make_chat_model: MakeChatModel,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    steps: int,
) -> None:
    monkeypatch.setattr(chat_server, "IDLE_CONNECTION_S", 0.05)
    model_server.set_script("reply", Say("Good evening.", delay=0.01))
    model = make_chat_model()
    await asyncio.gather(*(ask(model) for _ in range(IDLE)))
    assert model_server.open_connections == IDLE
    await asyncio.sleep(0.1)
    call = asyncio.create_task(ask(model))
    for _ in range(steps):
        await asyncio.sleep(0)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await model.aclose()
    await eventually(lambda: model_server.open_connections == 0)
