"""The real adapter: its request, answers of all dialects, what servers say of themselves."""

from __future__ import annotations

import pytest

from bot.core.chat import ChatMessage, Sampling
from bot.errors import (
    EmptyReply,
    ModelRefused,
)
from tests.model_server import (
    Behaviour,
    Fail,
    ModelServer,
    NoChoices,
    Raw,
    Say,
    ToolCall,
)
from tests.model_server.fixtures import MakeChatModel, ask, make_chat_model, model_server

__all__ = ["make_chat_model", "model_server"]

SCHEMA: dict[str, object] = {"type": "object", "properties": {"joy": {"type": "integer"}}}
IN_FULL_SAMPLING = Sampling(
    temperature=0.8, top_p=0.9, min_p=0.05, presence_penalty=0.1, frequency_penalty=0.1, seed=7
)


async def test_request_carries_purpose_key_and_limits(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    await ask(make_chat_model(), purpose="memory", stop=["A:", "B:", "A:", "", "C:", "D:", "E:"])
    (request,) = model_server.requests
    assert request.purpose == "memory"
    assert request.headers["authorization"] == "Bearer sk-test-key-0123456789"
    assert request.body == {
        "model": "scripted",
        "messages": [{"role": "user", "content": "Alice: Hello!"}],
        "max_tokens": 50,
        "stop": ["A:", "B:", "C:", "D:"],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_sampling_and_schema_are_sent_when_wished_for(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    completion = await ask(make_chat_model(), schema=SCHEMA, sampling=IN_FULL_SAMPLING)
    body = model_server.requests[0].body
    assert {name: body[name] for name in ("temperature", "top_p", "min_p", "seed")} == {
        "temperature": 0.8,
        "top_p": 0.9,
        "min_p": 0.05,
        "seed": 7,
    }
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA},
    }
    assert completion.text == '{"joy": 1}'


async def test_accounts_named_in_the_environment_stay_there(
    model_server: ModelServer, make_chat_model: MakeChatModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    await ask(make_chat_model())
    assert "secret" not in str(model_server.requests[0].headers)


async def test_proxy_settings_do_not_keep_it_from_loopback(
    make_chat_model: MakeChatModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert (await ask(make_chat_model())).text


@pytest.mark.parametrize(
    "behaviour",
    [
        Say(chunks=["<thi", "nk>plan: lie", " to Bob</th", "ink>\nGood ", "evening."]),
        Say(chunks=["Good ", "evening."], reasoning="plan: lie to Bob"),
        Say(chunks=["Good ", "evening."], reasoning="plan: lie to Bob", reasoning_field="reasoning"),
        Say(chunks=["[THINK]plan: lie[/THINK]", "Good evening."]),
        Say("Good evening.", keep_alives=3),
        Say("Good evening.", usage=False),
        Say("Good evening.", done=False),
        Raw(
            [
                'data: {"choices": null}',
                'data: {"choices": [{"delta": null}]}',
                'data: {"choices": [{"delta": {"content": [{"type": "thinking", "thinking": "lie"}, '
                '{"type": "text", "text": "Good evening."}]}, "finish_reason": "stop"}]}',
            ]
        ),
    ],
)
async def test_only_the_visible_text_comes_out(
    model_server: ModelServer, make_chat_model: MakeChatModel, behaviour: Behaviour
) -> None:
    model_server.set_script("reply", [behaviour])
    shown: list[str] = []
    completion = await ask(make_chat_model(), on_text=lambda piece: shown.append(piece) is None)
    assert completion.text == "".join(shown) == "Good evening."
    assert not completion.truncated


async def test_thoughts_without_an_opening_are_never_shown(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.set_script("reply", Say("plan: lie to Bob</think>\nGood evening."))
    model = make_chat_model(quirks=None)
    for _ in range(2):
        shown: list[str] = []
        completion = await ask(model, on_text=lambda piece, shown=shown: shown.append(piece) is None)
        assert completion.text == "".join(shown) == "Good evening."
    assert model.quirks["headless_thoughts"] is True


async def test_cut_inside_a_thought_whose_opening_is_never_sent_is_empty(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.set_script("reply", Say("plan: lie to Bob and", finish="length"))
    with pytest.raises(EmptyReply):
        await ask(make_chat_model(quirks={"headless_thoughts": True}))


async def test_second_answer_of_a_new_server_is_shown_as_it_comes(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model = make_chat_model(quirks=None)
    counts = []
    for _ in range(2):
        shown: list[str] = []
        model_server.set_script("reply", Say("One two three."))
        await ask(model, on_text=lambda piece, shown=shown: shown.append(piece) is None)
        counts.append(len(shown))
    assert counts == [1, 3]


async def test_stream_without_a_reason_for_its_end_counts_as_cut(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.set_script("reply", [Say("Good eve", finish=None)])
    completion = await ask(make_chat_model())
    assert (completion.text, completion.finish_reason, completion.truncated) == ("Good eve", None, True)


@pytest.mark.parametrize(
    "behaviour", [Say(None), Say(""), Say(" \n"), ToolCall(), NoChoices(), NoChoices(null=True), Raw([])]
)
@pytest.mark.parametrize("quirks", [{}, {"without": ["stream"]}])
async def test_no_text_is_an_empty_reply(
    model_server: ModelServer, make_chat_model: MakeChatModel, behaviour: Behaviour, quirks: dict[str, object]
) -> None:
    model_server.set_script("reply", [behaviour])
    with pytest.raises(EmptyReply):
        await ask(make_chat_model(quirks=quirks))


@pytest.mark.parametrize(
    ("behaviour", "what"),
    [
        (Say(None, reasoning="Good evening."), "thoughts alone"),
        (Say("<think>Good evening.</think>"), "thoughts alone"),
        (Say(""), "without text"),
    ],
)
async def test_an_owner_reads_in_which_way_it_was_empty(
    model_server: ModelServer, make_chat_model: MakeChatModel, behaviour: Behaviour, what: str
) -> None:
    """A server that takes every word for a thought, for one, has the wrong parser."""
    model_server.set_script("reply", behaviour)
    with pytest.raises(EmptyReply, match=what):
        await ask(make_chat_model())


@pytest.mark.parametrize(
    "behaviour",
    [
        Say(None, finish="content_filter"),
        Say(None, finish="stop", chunks=[""], extra={"refusal": "I cannot"}),
        Fail(400, {"error": {"code": "content_filter", "message": "filtered due to policy"}}),
        Fail(
            403,
            {"error": {"code": 403, "message": "moderation: your input was flagged"}},
        ),
    ],
)
async def test_filters_are_refusals(
    model_server: ModelServer, make_chat_model: MakeChatModel, behaviour: Behaviour
) -> None:
    model_server.set_script("reply", behaviour)
    with pytest.raises(ModelRefused):
        await ask(make_chat_model())
    assert len(model_server.requests) == 1


async def test_server_that_never_streams_is_read_whole(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    body = {"choices": [{"message": {"content": "Good evening."}, "finish_reason": "stop"}]}
    model_server.set_script("reply", Fail(200, body))
    shown: list[str] = []
    completion = await ask(make_chat_model(), on_text=lambda piece: shown.append(piece) is None)
    assert completion.text == "".join(shown) == "Good evening."


@pytest.mark.parametrize(
    ("pages", "context"),
    [
        ({"/v1/models": {"data": [{"id": "scripted", "max_model_len": 8192}]}}, 8192),
        ({"/v1/models": {"data": [{"id": "other"}, {"id": "scripted", "context_length": 32768}]}}, 32768),
        (
            {
                "/v1/models": {
                    "data": [
                        {
                            "id": "scripted",
                            "context_length": 131072,
                            "top_provider": {"context_length": 16384},
                        }
                    ]
                }
            },
            16384,
        ),
        (
            {
                "/v1/models": {
                    "data": [{"id": "x.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072}}]
                },
                "/props": {"default_generation_settings": {"n_ctx": 4096}},
            },
            4096,
        ),
        (
            {
                "/v1/models": {"data": [{"id": "scripted", "owned_by": "organization_owner"}]},
                "/api/v0/models": {
                    "data": [{"id": "scripted", "max_context_length": 131072, "loaded_context_length": 4096}]
                },
            },
            4096,
        ),
        (
            {
                "/v1/models": {"data": [{"id": "scripted", "owned_by": "library"}]},
                "/api/ps": {"models": [{"name": "scripted", "context_length": 8192}]},
            },
            8192,
        ),
        ({"/api/extra/true_max_context_length": {"value": 6144}}, 6144),
        ({"/v1/models": {"data": [{"id": "scripted", "max_model_len": True}]}}, None),
        ({"/v1/models": ["nonsense"]}, None),
        ({}, None),
    ],
)
async def test_context_size_is_found_in_the_dialect_of_the_server(
    model_server: ModelServer, make_chat_model: MakeChatModel, pages: dict[str, object], context: int | None
) -> None:
    model_server.pages = pages
    assert await make_chat_model().context_tokens() == context


async def test_context_of_an_unreachable_server_is_unknown(make_chat_model: MakeChatModel) -> None:
    assert await make_chat_model(base_url="http://127.0.0.1:9/v1").context_tokens() is None


async def test_token_estimates_follow_the_servers_counts(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model = make_chat_model()
    text = "The lantern swung in the wind while she waited for the ferry. " * 20
    true_tokens = len(text) / 4
    before = model.count_tokens(text)
    await ask(model, [ChatMessage("user", text)])
    assert true_tokens <= model.count_tokens(text) <= 1.1 * true_tokens < before
