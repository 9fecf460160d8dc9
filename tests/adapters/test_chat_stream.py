"""The body of an answer, however it is cut, packed and labelled."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.adapters import chat_server
from bot.adapters.chat_stream import AnswerBody, NotAnAnswer
from bot.errors import ContextOverflow, EmptyReply, ModelError, ModelMisconfigured, ModelUnavailable
from tests.model_server import Behaviour, Bytes, Fail, ModelServer, Raw, Say
from tests.model_server.fixtures import MakeChatModel, ask, make_chat_model, model_server

__all__ = ["make_chat_model", "model_server"]

SAID = "Good evening, Ána 全🎭."


def event(text: str, finish: str | None = None, **more: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish, **more}]}


def lines(*events: object, end: str = "\n", raw: bool = False) -> bytes:
    """A stream of events as bytes, ended by its mark."""
    texts = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=not raw) for one in events]
    return "".join(f"data: {text}{end}{end}" for text in (*texts, "[DONE]")).encode()


PLAIN = [event("Good evening, "), event("Ána 全"), event("🎭.", "stop")]
STREAM = lines(*PLAIN, raw=True)
WHOLE = json.dumps({"choices": [{"message": {"content": SAID}, "finish_reason": "stop"}]}).encode()
EVENTS = {"Content-Type": "text/event-stream"}
ODD_BYTES = [
    b"data: ",
    b"data:1",
    b"\n",
    b"\r",
    b"\n\n",
    b'{"a":',
    b"1}",
    b": x",
    b"[DONE]",
    b"\xef\xbb\xbf",
    b"error: ",
]
AN_HOUR = {"Retry-After": "Mon, 30 Nov 2026 12:00:07 GMT", "Date": "Mon, 30 Nov 2026 11:00:00 GMT"}


async def read(pieces: Sequence[bytes]) -> tuple[list[object], bool]:
    async def arriving() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    body = AnswerBody(arriving())
    return [one async for one in body.events()], body.whole


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_events_are_the_same_however_they_are_cut(size: int, end: str) -> None:
    stream = lines(*PLAIN, end=end, raw=True)
    assert await read([stream[at : at + size] for at in range(0, len(stream), size)]) == (PLAIN, False)


@pytest.mark.parametrize("size", [1, 10_000])
async def test_a_document_is_one_event_under_any_label(size: int) -> None:
    pretty = json.dumps(json.loads(WHOLE), indent=2).encode()
    for body in (WHOLE, pretty, b"\xef\xbb\xbf" + WHOLE):
        assert await read([body[at : at + size] for at in range(0, len(body), size)]) == (
            [json.loads(WHOLE)],
            True,
        )


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b": hi\n\n:\n\nevent: message\nid: 7\nretry: 10\ndata:1\n\n", [1]),
        (b'data: "a\xe2\x80\xa8b"\n\n', ["a\u2028b"]),  # a line break of Unicode is none of events
        (b"data: 1\ndata: 2\n\n", [1, 2]),  # no empty line between them
        (b'data: {"a":\ndata: 1}\n\n', [{"a": 1}]),
        (b"data: 1", [1]),
        (b"data: 1\n\ndata: [DONE]\n\ndata: 2\n\n", [1]),
        (b"data: null\n\ndata: 1\n\n", [None, 1]),
        (b"data: \n\ndata\n\n", []),
        (b'error: {"code": 500, "message": "no"}\n\n', [{"error": {"code": 500, "message": "no"}}]),
        (b"error: it broke\n\n", [{"error": "it broke"}]),
        (b'data: "caf\xe9"\n\n', ["caf\ufffd"]),
        (b"", []),
    ],
)
async def test_odd_streams_are_read(body: bytes, events: list[object]) -> None:
    assert (await read([body]))[0] == events


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<!DOCTYPE html><html></html>", "a web page"),
        (b"upstream connect error", "no JSON"),
        (b"data: {no\n\n", "no JSON"),
        (b'data: {"choices": [{"de', "no JSON"),
        (b"{" * 50, "no JSON"),
    ],
)
async def test_what_is_no_answer_is_said_in_few_words(body: bytes, words: str) -> None:
    with pytest.raises(NotAnAnswer, match=words):
        await read([body])


@settings(max_examples=150, deadline=None)
@example([b"\r", b"data: "], 1)
@example([b"data: ", b"1", b"\r", b"data:1"], 1)
@given(st.lists(st.sampled_from(ODD_BYTES) | st.binary(max_size=6), max_size=12), st.integers(1, 9))
async def test_any_bytes_are_events_or_no_answer_however_they_are_cut(pieces: list[bytes], size: int) -> None:
    body = b"".join(pieces)
    found = []
    for cut in ([body], [body[at : at + size] for at in range(0, len(body), size)]):
        try:
            found.append(str(await read(cut)))
        except NotAnAnswer:
            found.append("no answer")
    assert found[0] == found[1]


async def test_a_line_without_an_end_is_given_up() -> None:
    with pytest.raises(NotAnAnswer, match="too long"):
        await read([b"x" * 1_000_000] * 20)


@pytest.mark.parametrize(
    "behaviour",
    [
        Bytes([STREAM[at : at + 1] for at in range(len(STREAM))]),
        Bytes([gzip.compress(STREAM)], EVENTS | {"Content-Encoding": "gzip"}),
        Bytes([zlib.compress(STREAM)], EVENTS | {"Content-Encoding": "deflate"}),
        Bytes([gzip.compress(WHOLE)], {"Content-Type": "application/json", "Content-Encoding": "gzip"}),
        Bytes([STREAM], {"Content-Type": "application/json"}),
        Bytes([STREAM], {"Content-Type": "text/plain"}),
        Bytes([STREAM], EVENTS | {"Connection": "close"}),
        Bytes([WHOLE], {"Content-Type": "text/plain"}),
        Bytes([WHOLE], EVENTS),
        Bytes([lines(*PLAIN, {"type": "ping"}, {"choices": [], "usage": None})]),
        Bytes([lines(*PLAIN, {"choices": [{"delta": {}, "message": {"content": SAID}}]})]),
        Bytes([lines(*PLAIN, {"choices": [{"delta": None, "message": {"content": SAID}}]})]),
        Bytes([lines(event("Good evening, Ána 全\ud83c"), event("\udfad.", "stop"))]),
    ],
)
async def test_an_answer_is_read_as_it_was_meant(
    model_server: ModelServer, make_chat_model: MakeChatModel, behaviour: Bytes
) -> None:
    model_server.set_script("reply", behaviour)
    shown: list[str] = []
    completion = await ask(make_chat_model(), on_text=lambda piece: shown.append(piece) is None)
    assert completion.text == "".join(shown) == SAID
    assert not completion.truncated
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(
    ("behaviour", "error", "most"),
    [
        (Bytes([b"\x1f\x8b is no gzip"], EVENTS | {"Content-Encoding": "gzip"}), ModelUnavailable, 3),
        (Raw(['data: [{"error": {"code": 503, "message": "overloaded"}}]']), ModelUnavailable, 3),
        (Raw(['event: error\ndata: {"type": "error", "error": {"type": "x"}}']), ModelUnavailable, 3),
        (Raw(['error: {"code": 500, "message": "Context size has been exceeded."}']), ContextOverflow, 1),
        (Raw(['data: {"detail": "the worker died"}']), ModelUnavailable, 3),
        (Say("", finish="error"), ModelUnavailable, 3),
        (
            Fail(200, {"choices": [{"message": {"content": ""}, "finish_reason": "error"}]}),
            ModelUnavailable,
            3,
        ),
        (Bytes([b'{"error": "model `x` not found"}'], EVENTS), ModelMisconfigured, 1),
        (Fail(200, {"detail": "Not Found"}), ModelError, 6),
        (Fail(200, {"success": False, "errors": [{"message": "Authentication error"}]}), ModelError, 6),
        (Fail(400, {"error": {"message": "No models loaded. Please load one."}}), ModelMisconfigured, 1),
        (Fail(413, "<html><title>413 Request Entity Too Large</title></html>"), ContextOverflow, 1),
        (Fail(503, headers=AN_HOUR), ModelUnavailable, 1),
    ],
)
async def test_trouble_in_odd_forms_is_told_apart(
    model_server: ModelServer,
    make_chat_model: MakeChatModel,
    behaviour: Behaviour,
    error: type[ModelError],
    most: int,
) -> None:
    model_server.set_script("reply", behaviour)
    with pytest.raises(error) as caught:
        await ask(make_chat_model())
    assert not isinstance(caught.value, EmptyReply)
    assert len(model_server.requests) <= most


@pytest.mark.parametrize("reason", ["content_filter", "SAFETY"])
async def test_a_filter_in_the_middle_leaves_a_text_that_is_cut(
    model_server: ModelServer, make_chat_model: MakeChatModel, reason: str
) -> None:
    model_server.set_script("reply", Bytes([lines(event("Good evening. And th"), event("", reason))]))
    completion = await ask(make_chat_model())
    assert (completion.text, completion.truncated) == ("Good evening. And th", True)


async def test_a_character_that_the_connection_cuts_is_left_out(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    cut = lines(event("Good evening. "), event("全"), raw=True)
    cut = cut[: cut.index("全".encode()) + 1]
    for behaviour in (Bytes([cut]), Bytes([cut], torn=True)):
        model_server.set_script("reply", behaviour)
        completion = await ask(make_chat_model(), on_text=lambda _: True)
        assert (completion.text, completion.truncated) == ("Good evening. ", True)


@pytest.mark.parametrize(
    ("status", "target", "told"),
    [
        (308, "/v1/chat/completions", None),
        (307, "/v1/chat/completions", None),
        (301, "/v1/chat/completions", "redirected to http://127"),
        (302, "/login", "redirected to http://127"),
        (308, "/old/chat/completions", "redirects without an end"),
    ],
)
async def test_an_address_that_redirects_works_or_is_named(
    model_server: ModelServer, make_chat_model: MakeChatModel, status: int, target: str, told: str | None
) -> None:
    model_server.redirects["/old/chat/completions"] = (status, target)
    model = make_chat_model(base_url=f"{model_server.root}/old")
    if told is None:
        assert (await ask(model)).text
        return
    with pytest.raises(ModelMisconfigured, match=told):
        await ask(model)


@pytest.mark.parametrize("quirks", [{}, {"without": ["stream"]}])
async def test_one_connection_serves_many_calls(
    model_server: ModelServer, make_chat_model: MakeChatModel, quirks: dict[str, object]
) -> None:
    model = make_chat_model(quirks=quirks)
    for _ in range(4):
        assert (await ask(model)).text
    assert len({request.client_port for request in model_server.requests}) == 1


async def test_a_connection_that_was_idle_for_long_is_not_trusted(
    model_server: ModelServer, make_chat_model: MakeChatModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_server, "IDLE_CONNECTION_S", 0.05)
    model = make_chat_model()
    await ask(model)
    await asyncio.sleep(0.1)
    await ask(model)
    assert len({request.client_port for request in model_server.requests}) == 2


async def test_a_server_that_hangs_up_after_each_answer_is_no_trouble(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model = make_chat_model()
    for _ in range(3):
        assert (await ask(model)).text
        model_server.hang_up()
    assert len(model_server.requests) <= 4
