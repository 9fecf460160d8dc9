"""Vectors from an embeddings endpoint, over real HTTP: every fault that servers have, and what is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import numpy as np
import openai  # noqa: F401 - loaded before any test counts its seconds
import pytest

from bot.adapters import embedding_server
from bot.adapters.chat_call import Retries
from bot.adapters.embedding_server import BATCH, ServedEncoder
from bot.errors import SearchIndexError, SettingsError
from tests.model_server import Fail, ModelServer, Reset, Stall, WebPage
from tests.model_server.embeddings import Embed, vector_of
from tests.model_server.fixtures import model_server

__all__ = ["model_server"]

KEY = "sk-test-key-0123456789"
Make = Callable[..., ServedEncoder]


class Clock:
    """Stands still until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def make(model_server: ModelServer) -> AsyncIterator[Make]:
    async with AsyncExitStack() as stack:

        def made(**arguments: Any) -> ServedEncoder:
            defaults: dict[str, Any] = {
                "model": "embed-3",
                "base_url": model_server.url,
                "api_key": KEY,
                "retries": Retries(count=2, first_wait=0.0),
                "query_seconds": 2.0,
                "passage_seconds": 2.0,
            }
            encoder = ServedEncoder(**defaults | arguments)
            stack.push_async_callback(encoder.close)
            return encoder

        yield made


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    hurried = Retries(count=1, first_wait=0.0, longest_wait=2.0, after_silence=False)
    monkeypatch.setattr(embedding_server, "QUERY_RETRIES", hurried)


def inputs(server: ModelServer) -> list[list[str]]:
    return [list(request.body["input"]) for request in server.of("embedding")]  # type: ignore[call-overload]


async def test_the_first_answer_tells_the_dimensions(make: Make, model_server: ModelServer) -> None:
    encoder = make()
    assert (encoder.id, encoder.dimensions, encoder.ready) == ("openai:embed-3", 0, False)
    told: list[str] = []
    await encoder.load(told.append)
    assert (encoder.dimensions, encoder.ready) == (8, True)
    assert told == ["asking the embedding server 127.0.0.1"]
    await encoder.load()
    request = model_server.of("embedding")
    assert len(request) == 1
    assert request[0].headers["authorization"] == f"Bearer {KEY}"
    assert request[0].body["model"] == "embed-3"


async def test_vectors_have_unit_length_and_the_order_of_the_texts(
    make: Make, model_server: ModelServer
) -> None:
    model_server.set_script("embedding", lambda _: Embed(reverse=True))
    texts = ["the king", "the queen", "ein Drache"]
    rows = await make().embed_passages(texts)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1])
    for row, text in zip(rows, texts, strict=True):
        true = np.array(vector_of(text, 8))
        assert row == pytest.approx(true / np.linalg.norm(true), abs=1e-6)


async def test_many_texts_go_in_several_requests(make: Make, model_server: ModelServer) -> None:
    texts = [f"text {number}" for number in range(2 * BATCH + 1)]
    assert (await make().embed_passages(texts)).shape == (len(texts), 8)
    assert [len(batch) for batch in inputs(model_server)] == [BATCH, BATCH, 1]
    assert [text for batch in inputs(model_server) for text in batch] == texts


async def test_no_text_asks_nothing(make: Make, model_server: ModelServer) -> None:
    encoder = make()
    assert (await encoder.embed_passages([])).shape == (0, 0)
    assert model_server.requests == []


async def test_a_question_that_was_just_asked_is_not_asked_again(
    make: Make, model_server: ModelServer
) -> None:
    encoder = make()
    first = await encoder.embed_query(["who?", "who?"])
    again = await encoder.embed_query(["who?"])
    assert (first[0] == again[0]).all()
    assert inputs(model_server) == [["who?"]]


async def test_models_of_a_known_family_get_their_prompts(make: Make, model_server: ModelServer) -> None:
    encoder = make(model="intfloat/multilingual-e5-small")
    await encoder.embed_query(["where?"])
    await encoder.embed_passages(["there"])
    assert inputs(model_server) == [["query: where?"], ["passage: there"]]


@pytest.mark.parametrize("text", ["", "   ", "\0", "\ud83d", "\n"])
async def test_texts_that_no_server_takes_are_made_such_that_it_does(
    make: Make, model_server: ModelServer, text: str
) -> None:
    assert (await make().embed_passages([text])).shape == (1, 8)
    assert inputs(model_server)[0][0].strip()
    assert "\0" not in inputs(model_server)[0][0]


@pytest.mark.parametrize(
    "fault",
    [
        Fail(429, {"error": {"message": "slow down"}}, {"Retry-After": "0"}),
        Fail(503),
        Fail(500),
        Reset(),
        WebPage(),
        Embed(fewer=1),
        Embed(broken=True),
    ],
)
async def test_a_busy_or_confused_server_is_asked_again(
    make: Make, model_server: ModelServer, fault: Any
) -> None:
    model_server.set_script("embedding", [fault, fault])
    assert (await make().embed_passages(["a", "b"])).shape == (2, 8)
    assert len(model_server.of("embedding")) == 3


async def test_a_server_that_stays_busy_is_an_error_of_ours_without_secrets(
    make: Make, model_server: ModelServer
) -> None:
    model_server.set_script("embedding", lambda _: Fail(429, {"error": {"message": f"{KEY} is too eager"}}))
    with pytest.raises(SearchIndexError, match=r"127\.0\.0\.1 gave no vectors \(429") as caught:
        await make().embed_passages(["a"])
    assert KEY not in str(caught.value)


async def test_one_that_asks_for_a_long_wait_is_not_waited_for(make: Make, model_server: ModelServer) -> None:
    model_server.set_script("embedding", lambda _: Fail(429, headers={"Retry-After": "3600"}))
    with pytest.raises(SearchIndexError):
        await make().embed_passages(["a"])
    assert len(model_server.of("embedding")) == 1


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_wrong_key_address_or_model_is_named_at_once(
    make: Make, model_server: ModelServer, status: int
) -> None:
    model_server.set_script(
        "embedding", lambda _: Fail(status, {"error": {"message": "model embed-3 not found"}})
    )
    with pytest.raises(SettingsError, match=r"EMBEDDING_MODEL=openai:embed-3.*not found"):
        await make().load()
    assert len(model_server.of("embedding")) == 1


async def test_later_the_same_is_no_reason_to_stop(make: Make, model_server: ModelServer) -> None:
    encoder = make()
    await encoder.load()
    model_server.set_script("embedding", lambda _: Fail(401))
    with pytest.raises(SearchIndexError):
        await encoder.embed_query(["a"])


async def test_a_silent_server_does_not_keep_a_reply_waiting(make: Make, model_server: ModelServer) -> None:
    encoder = make(query_seconds=0.2)
    await encoder.load()
    model_server.set_script("embedding", lambda _: Stall())
    async with asyncio.timeout(30):
        with pytest.raises(SearchIndexError):
            await encoder.embed_query(["a"])


async def test_after_failures_it_rests_and_is_tried_again(make: Make, model_server: ModelServer) -> None:
    clock = Clock()
    encoder = make(clock=clock)
    await encoder.load()
    model_server.set_script("embedding", lambda _: Fail(503))
    for _ in range(2):
        assert encoder.ready
        with pytest.raises(SearchIndexError):
            await encoder.embed_query(["a"])
    assert not encoder.ready
    clock.now += embedding_server.RULES.first_wait
    assert encoder.ready
    model_server.set_script("embedding", lambda _: Embed())
    assert (await encoder.embed_query(["a"])).shape == (1, 8)
    assert encoder.ready


async def test_a_text_too_long_for_the_model_is_cut_and_the_others_are_not(
    make: Make, model_server: ModelServer
) -> None:
    model_server.set_script("embedding", lambda _: Embed(most_characters=2500))
    long = "ab" * 4000
    rows = await make().embed_passages(["short", long])
    assert rows.shape == (2, 8)
    assert inputs(model_server)[-1] == [long[:2000]]
    assert ["short"] in inputs(model_server)


async def test_vectors_of_another_length_than_before_are_refused(
    make: Make, model_server: ModelServer
) -> None:
    encoder = make()
    await encoder.load()
    model_server.set_script("embedding", lambda _: Embed(dimensions=9))
    with pytest.raises(SearchIndexError, match="vectors of 9 numbers, 8 before"):
        await encoder.embed_passages(["a"])


async def test_no_server_is_an_error_of_ours(make: Make) -> None:
    with pytest.raises(SearchIndexError, match="no vectors"):
        await make(base_url="http://127.0.0.1:9/v1").load()


async def test_a_given_up_question_is_no_failure_of_the_server(make: Make, model_server: ModelServer) -> None:
    encoder = make()
    await encoder.load()
    model_server.set_script("embedding", [Stall()])
    asked = asyncio.create_task(encoder.embed_query(["a"]))
    await model_server.wait_until(lambda server: len(server.of("embedding")) == 2)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert encoder.ready
    assert (await encoder.embed_query(["a"])).shape == (1, 8)
