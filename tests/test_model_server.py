"""The scripted model server alone, in its own process: what end-to-end tests rely on."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from bot.adapters.chat_model import OpenAIChatModel
from bot.core.chat import ChatMessage
from bot.errors import ModelUnavailable

ROOT = Path(__file__).parents[1]
HELLO = [ChatMessage("user", "Alice: I bring you a lantern.")]
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}, "minItems": 1},
        "mood": {"enum": ["calm", "angry"]},
    },
    "$defs": {"line": {"type": "object", "properties": {"turn": {"type": "integer", "minimum": 1}}}},
}


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """The address of a server in its own process."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.model_server", "--with-parent", "--context", "500"),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    yield json.loads(await process.stdout.readline())["url"]
    process.stdin.close()
    assert await process.wait() == 0


@pytest.fixture
async def model(url: str) -> AsyncIterator[OpenAIChatModel]:
    model = OpenAIChatModel(base_url=url, api_key="", model="scripted")
    yield model
    await model.aclose()


async def test_it_improvises_in_character_and_in_any_schema(model: OpenAIChatModel) -> None:
    said = await model.complete(HELLO, purpose="reply", max_tokens=50)
    again = await model.complete(HELLO, purpose="reply", max_tokens=50)
    assert "I bring you a lantern" in said.text
    assert said.text != again.text, "an exact repeat would be taken for a fault"
    noted = await model.complete(HELLO, purpose="memory", max_tokens=50, schema=SCHEMA)
    assert json.loads(noted.text) == {"lines": [{"turn": 1}], "mood": "calm"}
    assert await model.context_tokens() == 500


async def test_it_takes_scripts_and_tells_its_requests_from_outside(model: OpenAIChatModel, url: str) -> None:
    root = url.removesuffix("/v1")
    busy = {"kind": "Fail", "status": 503, "headers": {"Retry-After": "600"}}
    async with aiohttp.ClientSession() as http:
        script = {"purpose": "reply", "behaviours": [{"kind": "Say", "text": "Thank you."}, busy]}
        async with http.post(f"{root}/_script", json=script) as answer:
            assert answer.status == 200
        assert (await model.complete(HELLO, purpose="reply", max_tokens=50)).text == "Thank you."
        with pytest.raises(ModelUnavailable):
            await model.complete(HELLO, purpose="reply", max_tokens=50)
        async with http.get(f"{root}/_requests") as answer:
            requests = await answer.json()
    assert [request["purpose"] for request in requests] == ["reply", "reply"]
    assert requests[0]["arrived"] <= requests[0]["ended"] <= requests[1]["arrived"]
