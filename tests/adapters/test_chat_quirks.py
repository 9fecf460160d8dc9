"""The real adapter learns what a server does not take, once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.adapters.chat_quirks import Quirks
from bot.core.chat import ChatMessage, Sampling
from bot.errors import (
    ModelRefused,
)
from tests.model_server import (
    Fail,
    ModelServer,
    Refusal,
)
from tests.model_server.fixtures import MakeChatModel, ask, make_chat_model, model_server
from tests.model_server.refusals import WORDINGS

__all__ = ["make_chat_model", "model_server"]

SYSTEM, USER, ASSISTANT = "system", "user", "assistant"
GROUP = [
    ChatMessage("system", "You are Mira."),
    ChatMessage("assistant", "Welcome, travellers."),
    ChatMessage("user", "Alice: Hello!"),
    ChatMessage("user", "Bob: Who said hello?"),
    ChatMessage("assistant", "Alice did."),
    ChatMessage("system", "It is raining."),
    ChatMessage("user", "Alice: Thanks."),
]
SCHEMA: dict[str, object] = {"type": "object", "properties": {"joy": {"type": "integer"}}}
IN_FULL_SAMPLING = Sampling(
    temperature=0.8, top_p=0.9, min_p=0.05, presence_penalty=0.1, frequency_penalty=0.1, seed=7
)


CASES = [(kind, number) for kind, wordings in WORDINGS.items() for number in range(len(wordings))]


@pytest.mark.parametrize(("kind", "wording"), CASES, ids=lambda value: getattr(value, "value", str(value)))
async def test_refusal_is_met_once_and_remembered(
    model_server: ModelServer, make_chat_model: MakeChatModel, kind: Refusal, wording: int
) -> None:
    model_server.refuses = {kind: wording}
    kept: list[dict[str, object]] = []
    model = make_chat_model(on_quirks_changed=kept.append)
    messages = GROUP[:5] if kind is Refusal.LAST_ASSISTANT else GROUP
    wishes: dict[str, Any] = {"schema": SCHEMA, "stop": ["Alice:", "Bob:"], "sampling": IN_FULL_SAMPLING}
    assert (await ask(model, messages, **wishes)).text
    met = len(model_server.requests)
    assert met <= 3, "the wording is understood, not guessed around"
    assert (await ask(model, messages, **wishes)).text
    again = make_chat_model(quirks=kept[-1] if kept else None)
    assert (await ask(again, messages, **wishes)).text
    assert len(model_server.requests) == met + 2, "learned, and carried over a restart"


@pytest.mark.parametrize("wording", range(len(WORDINGS[Refusal.ALTERNATION])))
async def test_strict_turns_keep_order_and_speakers(
    model_server: ModelServer, make_chat_model: MakeChatModel, wording: int
) -> None:
    model_server.refuses = {Refusal.ALTERNATION: wording}
    await ask(make_chat_model(), GROUP)
    assert model_server.requests[-1].messages == [
        (SYSTEM, "You are Mira.\n\nIt is raining."),
        (USER, "…"),
        (ASSISTANT, "Welcome, travellers."),
        (USER, "Alice: Hello!\n\nBob: Who said hello?"),
        (ASSISTANT, "Alice did."),
        (USER, "Alice: Thanks."),
    ]


async def test_server_without_system_role_and_with_strict_turns(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.refuses = {Refusal.SYSTEM: 1, Refusal.ALTERNATION: 1}
    await ask(make_chat_model(), GROUP)
    assert model_server.requests[-1].messages == [
        (USER, "You are Mira.\n\nIt is raining."),
        (ASSISTANT, "Welcome, travellers."),
        (USER, "Alice: Hello!\n\nBob: Who said hello?"),
        (ASSISTANT, "Alice did."),
        (USER, "Alice: Thanks."),
    ]


async def test_system_text_joins_the_first_line_of_a_user(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.refuses = {Refusal.SYSTEM: 0}
    await ask(make_chat_model(), [GROUP[0], GROUP[2]])
    assert model_server.requests[-1].messages == [(USER, "You are Mira.\n\nAlice: Hello!")]


async def test_names_are_never_sent(model_server: ModelServer, make_chat_model: MakeChatModel) -> None:
    model_server.refuses = {Refusal.NAME: 0}
    await ask(make_chat_model(), GROUP)
    assert len(model_server.requests) == 1
    assert "Bob: Who said hello?" in model_server.requests[0].text


@pytest.mark.parametrize("wording", range(3))
async def test_json_wish_grows_weaker_step_by_step(
    model_server: ModelServer, make_chat_model: MakeChatModel, wording: int
) -> None:
    model_server.refuses = {Refusal.JSON_SCHEMA: wording, Refusal.JSON_OBJECT: 0}
    model = make_chat_model()
    assert (await ask(model, schema=SCHEMA)).text
    forms = [request.body.get("response_format", {}) for request in model_server.requests]
    assert [form.get("type") if isinstance(form, dict) else None for form in forms] == [
        "json_schema",
        "json_object",
        None,
    ]
    assert model.quirks["response_format"] == "none"
    assert (await ask(model)).text, "chat is not affected"


async def test_everything_refused_at_once_still_ends_in_an_answer(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.refuses = {
        Refusal.SYSTEM: 0,
        Refusal.ALTERNATION: 0,
        Refusal.RESPONSE_FORMAT: 0,
        Refusal.STOP: 0,
        Refusal.TEMPERATURE: 0,
        Refusal.STREAM_OPTIONS: 0,
    }
    model = make_chat_model()
    completion = await ask(model, GROUP, schema=SCHEMA, stop=["A:"], sampling=Sampling(temperature=0.8))
    assert completion.text
    assert len(model_server.requests) <= 9


async def test_refusal_nobody_understands_ends_bounded_and_teaches_nothing(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.set_script("reply", Fail(400, {"error": "computer says no"}))
    model = make_chat_model()
    with pytest.raises(ModelRefused, match="computer says no"):
        await ask(model, GROUP, schema=SCHEMA, stop=["A:"], sampling=IN_FULL_SAMPLING)
    assert len(model_server.requests) <= 9
    assert model.quirks == {"headless_thoughts": False}


async def test_calls_side_by_side_keep_each_others_lessons(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.refuses = {Refusal.JSON_SCHEMA: 1, Refusal.STOP: 0}
    model = make_chat_model()
    await asyncio.gather(ask(model, schema=SCHEMA), ask(model, stop=["A:"]))
    assert model.quirks["response_format"] == "json_object"
    assert model.quirks["without"] == ["stop"]


@pytest.mark.parametrize(
    "stored",
    [{"system": 7, "without": "stop", "headless_thoughts": "yes"}, {"without": ["nonsense", 3]}, {"x": 1}],
)
def test_stored_quirks_that_make_no_sense_count_as_unknown(stored: dict[str, object]) -> None:
    assert Quirks.from_dict(stored) == Quirks()
