"""The real adapter when servers fail: retries, silence, overflow, and secrets kept."""

from __future__ import annotations

import asyncio
import logging
import traceback

import pytest

from bot.adapters.chat_call import Retries
from bot.adapters.chat_server import Timeouts
from bot.core.chat import ChatMessage
from bot.errors import (
    ContextOverflow,
    ModelError,
    ModelMisconfigured,
    ModelUnavailable,
)
from tests.model_server import (
    Behaviour,
    ErrorInStream,
    Fail,
    ModelServer,
    Raw,
    Reset,
    Say,
    Stall,
    WebPage,
)
from tests.model_server.fixtures import MakeChatModel, ask, make_chat_model, model_server
from tests.model_server.refusals import OVERFLOW_VENDORS

__all__ = ["make_chat_model", "model_server"]

SCHEMA: dict[str, object] = {"type": "object", "properties": {"joy": {"type": "integer"}}}
SECRET_PROMPT = [ChatMessage("user", "a secret prompt")]
QUICK = Timeouts(connect=1.0, first_text=0.3, between=0.3, usage=0.2, total=1.0)
NO_RETRY = Retries(count=0)


def everything(error: BaseException) -> str:
    """All that a log with traceback would show of an exception."""
    return "".join(traceback.format_exception(error)) + repr(error) + str(error)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
async def test_busy_server_is_asked_again(
    model_server: ModelServer, make_chat_model: MakeChatModel, status: int
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    model_server.set_script("reply", [Fail(status), Fail(status), Say("At last.")])
    completion = await ask(make_chat_model(sleep=sleep, retries=Retries(first_wait=1.0)))
    assert completion.text == "At last."
    assert waits == [1.0, 2.0]


@pytest.mark.parametrize(
    "behaviour",
    [
        Fail(503),
        WebPage(502),
        WebPage(200),
        Reset(),
        ErrorInStream(),
        Raw(["data: {not json"]),
        Fail(200, "no json", {"Content-Type": "application/json"}),
    ],
)
async def test_trouble_that_stays_is_unavailable_after_three_attempts(
    model_server: ModelServer, make_chat_model: MakeChatModel, behaviour: Behaviour
) -> None:
    model_server.set_script("reply", behaviour)
    with pytest.raises(ModelUnavailable):
        await ask(make_chat_model())
    assert len(model_server.requests) == 3


async def test_refused_connection_is_unavailable(make_chat_model: MakeChatModel) -> None:
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1 \(ConnectError\)"):
        await ask(make_chat_model(base_url="http://127.0.0.1:9/v1"))


@pytest.mark.parametrize(
    ("headers", "waits"),
    [
        ({"Retry-After": "2"}, [2.0]),
        ({"retry-after-ms": "500"}, [0.5]),
        (
            {"Retry-After": "Mon, 30 Nov 2026 12:00:07 GMT", "Date": "Mon, 30 Nov 2026 12:00:00 GMT"},
            [7.0],
        ),
        ({"Retry-After": "soon"}, [1.0]),
    ],
)
async def test_wish_for_a_wait_is_granted(
    model_server: ModelServer, make_chat_model: MakeChatModel, headers: dict[str, str], waits: list[float]
) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    model_server.set_script("reply", [Fail(429, headers=headers), Say()])
    await ask(make_chat_model(sleep=sleep, retries=Retries()))
    assert waited == waits


async def test_server_that_asks_for_too_long_a_wait_is_given_up_at_once(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.set_script("reply", Fail(429, headers={"Retry-After": "600"}))
    with pytest.raises(ModelUnavailable):
        await ask(make_chat_model())
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        Fail(401),
        Fail(402),
        Fail(403),
        Fail(404, {"error": {"message": "model 'mira' not found, try pulling it first"}}),
        Fail(404, "404 page not found"),
        WebPage(404),
        Fail(400, {"error": {"message": "mira is not a valid model ID", "code": 400}}, {}),
        Fail(200, {"error": "Unexpected endpoint or method. (POST /chat/completions)"}),
        Fail(429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
    ],
)
async def test_wrong_settings_are_never_retried(
    model_server: ModelServer, make_chat_model: MakeChatModel, behaviour: Behaviour
) -> None:
    model_server.set_script("reply", behaviour)
    with pytest.raises(ModelMisconfigured):
        await ask(make_chat_model())
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(
    ("behaviour", "is_hinted"),
    [
        (Fail(404, "404 page not found"), True),
        (WebPage(404), True),
        (Fail(405, {"detail": "Method Not Allowed"}), True),
        (Fail(200, {"error": "Unexpected endpoint or method. (POST /chat/completions)"}), True),
        (Fail(404, {"error": {"message": "model 'mira' not found, try pulling it first"}}), False),
        (Fail(403, {"error": {"message": "Forbidden"}}), False),
    ],
)
async def test_an_address_that_is_cut_short_is_suspected(
    model_server: ModelServer, make_chat_model: MakeChatModel, behaviour: Behaviour, is_hinted: bool
) -> None:
    model_server.set_script("reply", behaviour)
    with pytest.raises(ModelMisconfigured) as caught:
        await ask(make_chat_model())
    assert str(caught.value).count("ends in /v1") == is_hinted


@pytest.mark.parametrize(
    "behaviour",
    [Stall(), Stall(after=["Good "]), Stall(keep_alive_every=0.05), Say("so slow", delay=0.5)],
)
async def test_silence_ends_in_time(
    model_server: ModelServer, make_chat_model: MakeChatModel, behaviour: Behaviour
) -> None:
    model_server.set_script("reply", behaviour)
    with pytest.raises(ModelUnavailable, match="in time"):
        async with asyncio.timeout(20):
            await ask(make_chat_model(timeouts=QUICK))
    await model_server.wait_until(lambda server: all(request.ended for request in server.requests))


async def test_keep_alives_before_the_text_are_no_silence(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.set_script("reply", [Say("Slow.", keep_alives=10, delay=0.12)])
    patient = Timeouts(first_text=0.9, total=15.0)
    assert (await ask(make_chat_model(timeouts=patient, retries=NO_RETRY))).text == "Slow."


async def test_text_is_complete_though_the_line_hangs_after_it(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.set_script("reply", Say(hang=True))
    completion = await ask(make_chat_model(timeouts=Timeouts(usage=0.2), retries=NO_RETRY))
    assert completion.text == "Good evening."
    assert not completion.truncated


@pytest.mark.parametrize("behaviour", [Reset(["Good ", "eve"]), ErrorInStream(["Good ", "eve"])])
async def test_stream_that_breaks_after_text_was_shown_is_kept_as_cut(
    model_server: ModelServer, make_chat_model: MakeChatModel, behaviour: Behaviour
) -> None:
    model_server.set_script("reply", behaviour)
    shown: list[str] = []
    completion = await ask(make_chat_model(), on_text=lambda piece: shown.append(piece) is None)
    assert completion.text == "".join(shown) == "Good eve"
    assert completion.truncated
    assert len(model_server.requests) == 1


async def test_stream_that_breaks_unseen_is_asked_again(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.set_script("reply", [Reset(["Good ", "eve"]), Say("Good morning.")])
    assert (await ask(make_chat_model())).text == "Good morning."


async def test_leaving_early_closes_the_stream(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.set_script("reply", Stall(after=["One ", "two "]))
    completion = await ask(make_chat_model(), on_text=lambda piece: "two" not in piece)
    assert completion.text == "One two "
    await model_server.wait_until(lambda server: server.requests[0].closed_by_client)


async def test_cancelling_closes_the_stream(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.set_script("reply", Stall(after=["One "]))
    began = asyncio.Event()

    def take(_: str) -> bool:
        began.set()
        return True

    call = asyncio.create_task(ask(make_chat_model(), on_text=take))
    await began.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await model_server.wait_until(lambda server: server.requests[0].closed_by_client)


async def test_error_of_the_caller_passes_through_and_closes_the_stream(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    model_server.set_script("reply", Stall(after=["One "]))

    def take(_: str) -> bool:
        raise LookupError("ours")

    with pytest.raises(LookupError, match="ours"):
        await ask(make_chat_model(), on_text=take)
    await model_server.wait_until(lambda server: server.requests[0].closed_by_client)


@pytest.mark.parametrize("vendor", OVERFLOW_VENDORS)
async def test_overflow_is_recognised_in_the_words_of(
    model_server: ModelServer, make_chat_model: MakeChatModel, vendor: str
) -> None:
    model_server.context = 4096
    model_server.overflow_vendor = vendor
    with pytest.raises(ContextOverflow) as caught:
        await ask(make_chat_model(), [ChatMessage("user", "word " * 5000)], schema=SCHEMA)
    assert caught.value.limit == (None if vendor in {"ollama", "llama.cpp in a stream", "a proxy"} else 4096)
    assert len(model_server.requests) == 1


async def test_overflow_inside_a_stream_and_its_stated_size(
    model_server: ModelServer, make_chat_model: MakeChatModel
) -> None:
    error = {"code": 400, "message": "too much", "type": "exceed_context_size_error", "n_ctx": 2048}
    model_server.set_script("reply", [ErrorInStream(error=error)])
    with pytest.raises(ContextOverflow) as caught:
        await ask(make_chat_model())
    assert caught.value.limit == 2048


@pytest.mark.parametrize(
    "behaviour",
    [
        Fail(401, {"error": {"message": "Wrong key sk-very-secret-key-42. Bearer pa55word!"}}),
        Fail(422, {"detail": [{"loc": ["body"], "msg": "bad", "input": {"content": "a secret prompt"}}]}),
        Fail(400, "{'msg': 'bad', 'input': 'a secret prompt'}"),
        Fail(500, "sk-very-secret-key-42 pa55word! someuser"),
        Reset(),
        Raw(["data: sk-very-secret-key-42"]),
        WebPage(),
    ],
)
async def test_nothing_secret_reaches_errors_or_our_log(
    model_server: ModelServer,
    make_chat_model: MakeChatModel,
    caplog: pytest.LogCaptureFixture,
    behaviour: Behaviour,
) -> None:
    model_server.set_script("reply", behaviour)
    address = model_server.url.replace("http://", "http://someuser:pa55word%21@")
    with caplog.at_level(logging.DEBUG, "bot"), caplog.at_level(logging.INFO, "httpx2"):
        model = make_chat_model(base_url=address, api_key="sk-very-secret-key-42")
        with pytest.raises(ModelError) as caught:
            await ask(model, SECRET_PROMPT)
    told = everything(caught.value) + repr(model) + caplog.text
    for secret in ("very-secret", "pa55word", "someuser", "secret prompt"):
        assert secret not in told
    assert caught.value.__context__ is None
    assert model_server.requests[0].headers["authorization"].startswith("Basic ")
