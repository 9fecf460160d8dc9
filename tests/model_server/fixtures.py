"""Fixtures to import where they are used: a scripted server, and chat models that talk to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import openai  # noqa: F401 - loaded before any test counts its seconds
import pytest

from bot.adapters.chat_call import Retries
from bot.adapters.chat_model import OpenAIChatModel
from bot.adapters.chat_server import Timeouts
from bot.core.chat import ChatMessage, ChatModel, Completion
from tests.model_server.server import ModelServer


async def ask(
    model: ChatModel, messages: Sequence[ChatMessage] = (ChatMessage("user", "Alice: Hello!"),), **more: Any
) -> Completion:
    """Ask with defaults for what a test does not care about."""
    wishes: dict[str, Any] = {"purpose": "reply", "max_tokens": 50} | more
    return await model.complete(messages, **wishes)


MakeChatModel = Callable[..., OpenAIChatModel]


@pytest.fixture
async def model_server() -> AsyncIterator[ModelServer]:
    """A server without a script."""
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def make_chat_model(model_server: ModelServer) -> AsyncIterator[MakeChatModel]:
    """Make chat models for `model_server`: short timeouts, no waiting, a known way of thinking.

    Keyword arguments go to OpenAIChatModel.
    """
    async with AsyncExitStack() as stack:

        def make(**arguments: Any) -> OpenAIChatModel:
            defaults: dict[str, Any] = {
                "base_url": model_server.url,
                "api_key": "sk-test-key-0123456789",
                "model": model_server.model,
                "timeouts": Timeouts(connect=2.0, first_text=2.0, between=2.0, usage=0.5, total=8.0),
                "retries": Retries(first_wait=0.0),
                "quirks": {"headless_thoughts": False},
            }
            model = OpenAIChatModel(**defaults | arguments)
            stack.push_async_callback(model.aclose)
            return model

        yield make
