"""The real adapter at each server of the field: what it takes, how it says no, how it streams and counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.core.chat import ChatMessage, Sampling
from bot.errors import ContextOverflow, ModelMisconfigured, ModelUnavailable
from tests.model_server import ErrorInStream, Fail, ModelServer, Raw, Say
from tests.model_server.fixtures import MakeChatModel, ask, make_chat_model, model_server
from tests.model_server.vendors import OPENROUTER, VENDORS, Vendor

__all__ = ["make_chat_model", "model_server"]

GROUP = [
    ChatMessage("system", "You are Mira."),
    ChatMessage("assistant", "Welcome, travellers."),
    ChatMessage("user", "Alice: Hello!"),
    ChatMessage("user", "Bob: Who said hello?"),
    ChatMessage("assistant", "Alice did."),
    ChatMessage("user", "Alice: Thanks."),
]
SCHEMA: dict[str, object] = {"type": "object", "properties": {"joy": {"type": "integer"}}}
WISHES: dict[str, Any] = {
    "schema": SCHEMA,
    "stop": ["Alice:", "Bob:"],
    "sampling": Sampling(
        temperature=0.8, top_p=0.9, min_p=0.05, presence_penalty=0.1, frequency_penalty=0.1, seed=7
    ),
}

every_vendor = pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)


@every_vendor
async def test_it_answers_after_few_lessons_that_are_kept(
    model_server: ModelServer, make_chat_model: MakeChatModel, vendor: Vendor
) -> None:
    model_server.be(vendor)
    model_server.set_script("reply", lambda _: Say("Good evening, all of you."))
    kept: list[dict[str, object]] = []
    model = make_chat_model(model=vendor.model, on_quirks_changed=kept.append)
    shown: list[str] = []
    completion = await ask(model, GROUP, on_text=lambda piece: shown.append(piece) is None, **WISHES)
    assert completion.text == "".join(shown) == "Good evening, all of you."
    assert (completion.finish_reason, completion.truncated) == ("stop", False)
    lessons = [request for request in model_server.requests if request.refused]
    assert len(lessons) <= 5
    again = make_chat_model(model=vendor.model, quirks=kept[-1] if kept else None)
    await ask(again, GROUP, **WISHES)
    assert [request for request in model_server.requests if request.refused] == lessons


@every_vendor
async def test_its_counts_are_read_where_it_gives_them(
    model_server: ModelServer, make_chat_model: MakeChatModel, vendor: Vendor
) -> None:
    model_server.be(vendor)
    usage = (await ask(make_chat_model(model=vendor.model), GROUP)).usage
    takes_wish = vendor.known is None or "stream_options" in vendor.known
    if vendor.shape.usage == "never" or (vendor.shape.usage == "own chunk" and not takes_wish):
        assert usage is None
    else:
        assert usage is not None
        assert usage.prompt_tokens > 40


@every_vendor
async def test_a_wrong_name_or_key_is_the_settings_fault_and_asked_once(
    model_server: ModelServer, make_chat_model: MakeChatModel, vendor: Vendor
) -> None:
    model_server.be(vendor)
    wrong: list[dict[str, str]] = []
    wrong += [{"model": "nobody"}] if vendor.unknown_model else [{}]
    wrong += [{"api_key": "sk-nope", "model": vendor.model}] if vendor.wrong_key else []
    for arguments in wrong:
        asked = len(model_server.requests)
        if not arguments:
            assert (await ask(make_chat_model(model="nobody"))).text, "it has one model, whatever the name"
            continue
        with pytest.raises(ModelMisconfigured) as caught:
            await ask(make_chat_model(**arguments), GROUP, **WISHES)
        assert len(model_server.requests) == asked + 1
        assert "sk-nope" not in str(caught.value)


@every_vendor
async def test_busy_is_asked_again_and_then_unavailable(
    model_server: ModelServer, make_chat_model: MakeChatModel, vendor: Vendor
) -> None:
    model_server.be(vendor)
    model = make_chat_model(model=vendor.model)
    model_server.set_script("reply", [vendor.busy, Say("At last.")])
    assert (await ask(model)).text == "At last."
    model_server.set_script("reply", lambda _: vendor.busy)
    with pytest.raises(ModelUnavailable):
        await ask(model)


@every_vendor
async def test_its_context_is_asked_and_its_overflow_understood(
    model_server: ModelServer, make_chat_model: MakeChatModel, vendor: Vendor
) -> None:
    model_server.be(vendor, context=2048)
    model = make_chat_model(model=vendor.model)
    assert await model.context_tokens() == (2048 if vendor.tells_context else None)
    with pytest.raises(ContextOverflow) as caught:
        await ask(model, [ChatMessage("user", "word " * 4000)], **WISHES)
    assert caught.value.limit in {2048, None}


@pytest.mark.parametrize("streamed", [True, False])
async def test_an_error_that_comes_with_status_200_is_one(
    model_server: ModelServer, make_chat_model: MakeChatModel, streamed: bool
) -> None:
    """Proxies before vLLM answer 200 and an error object; OpenRouter tells of it inside a choice."""
    missing = {"object": "error", "message": "The model `x` does not exist.", "code": 404}
    model_server.set_script(
        "reply", lambda _: Raw([f"data: {_json(missing)}"]) if streamed else Fail(200, missing)
    )
    quirks = {"headless_thoughts": False} if streamed else {"without": ["stream"]}
    with pytest.raises(ModelMisconfigured):
        await ask(make_chat_model(quirks=quirks))
    assert len(model_server.requests) == 1
    choice = {"index": 0, "finish_reason": "error", "error": {"code": 502, "message": "Upstream died"}}
    inner = {"choices": [choice | ({"delta": {"content": ""}} if streamed else {"message": {"content": ""}})]}
    model_server.set_script(
        "reply", lambda _: Raw([f"data: {_json(inner)}"]) if streamed else Fail(200, inner)
    )
    with pytest.raises(ModelUnavailable, match="Upstream died"):
        await ask(make_chat_model(quirks=quirks))


async def test_openrouter_that_loses_its_provider_in_the_middle_keeps_what_came(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.be(OPENROUTER)
    lost = {"code": 502, "message": "Provider disconnected unexpectedly"}
    model_server.set_script("reply", lambda _: ErrorInStream(["Good ", "eve"], lost))
    completion = await ask(make_chat_model(model=OPENROUTER.model), on_text=lambda _: True)
    assert (completion.text, completion.truncated) == ("Good eve", True)


@pytest.mark.parametrize(("text", "truncated"), [('{"joy": 1}', False), ('{"joy": [1,', True), ("joy", True)])
async def test_a_server_that_never_says_why_it_ends_may_still_end_its_json(
    model_server: ModelServer, make_chat_model: MakeChatModel, text: str, truncated: bool
) -> None:
    model_server.set_script("memory", lambda _: Say(text, finish=None, done=False))
    completion = await ask(make_chat_model(), purpose="memory", schema=SCHEMA)
    assert completion.truncated is truncated


_json = json.dumps
