"""What every ChatModel promises: the same cases on the scripted fake and on the real adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.core.chat import ChatMessage, ChatModel
from bot.errors import ContextOverflow, EmptyReply, ModelMisconfigured
from tests.fakes import Cut, ScriptedChatModel
from tests.model_server import Fail, ModelServer, Say
from tests.model_server.fixtures import MakeChatModel, make_chat_model, model_server

__all__ = ["make_chat_model", "model_server"]

HELLO = [ChatMessage("system", "You are Mira."), ChatMessage("user", "Alice: Hello!")]
THOUGHT = "<think>plan: lie to Bob</think>\nGood evening, Alice."
KEY_REFUSED = "key refused"


class Stage:
    """One kind of model, and the means to script it."""

    def __init__(self, model: ChatModel, server: ModelServer | None) -> None:
        self.model = model
        self._server = server

    def script(self, purpose: str, *answers: str | Cut) -> None:
        if isinstance(self.model, ScriptedChatModel):
            refused = ModelMisconfigured("no")
            self.model.script[purpose] = [refused if a == KEY_REFUSED else a for a in answers]
            return
        assert self._server is not None
        rows = [Say(a.text, finish="length") if isinstance(a, Cut) else Say(a) for a in answers]
        refused_too = [Fail(401) if a == KEY_REFUSED else row for a, row in zip(answers, rows, strict=True)]
        self._server.set_script(purpose, refused_too)

    def hold(self, purpose: str) -> None:
        """Let answers of this purpose wait for ever."""
        never = asyncio.Event()
        if isinstance(self.model, ScriptedChatModel):
            self.model.gate = never
        else:
            assert self._server is not None
            self._server.set_script(purpose, Say(gate=never))

    async def wait_for_request(self) -> None:
        if isinstance(self.model, ScriptedChatModel):
            await self.model.asked.wait()
        else:
            assert self._server is not None
            await self._server.wait_until(lambda server: server.requests)


@pytest.fixture(params=["fake", "real"])
async def stage(
    request: pytest.FixtureRequest, model_server: ModelServer, make_chat_model: MakeChatModel
) -> AsyncIterator[Stage]:
    if request.param == "fake":
        yield Stage(ScriptedChatModel(context=400), None)
    else:
        model_server.context = 400
        yield Stage(make_chat_model(), model_server)


async def test_it_is_a_chat_model_with_a_name(stage: Stage) -> None:
    assert isinstance(stage.model, ChatModel)
    assert stage.model.name == "scripted"


async def test_answer_comes_whole_with_its_costs(stage: Stage) -> None:
    stage.script("reply", "Good evening, Alice.")
    completion = await stage.model.complete(HELLO, purpose="reply", max_tokens=50)
    assert completion.text == "Good evening, Alice."
    assert completion.finish_reason == "stop"
    assert not completion.truncated
    assert completion.model == "scripted"
    assert completion.usage is not None
    assert completion.usage.prompt_tokens > 5
    assert completion.usage.completion_tokens == 5


async def test_pieces_joined_are_the_text(stage: Stage) -> None:
    stage.script("reply", THOUGHT)
    pieces: list[str] = []

    def take(piece: str) -> bool:
        pieces.append(piece)
        return True

    completion = await stage.model.complete(HELLO, purpose="reply", max_tokens=50, on_text=take)
    assert len(pieces) > 1
    assert "".join(pieces) == completion.text == "Good evening, Alice."


async def test_caller_that_has_enough_ends_the_stream(stage: Stage) -> None:
    stage.script("reply", "One two three four five six seven")
    seen: list[str] = []

    def take(piece: str) -> bool:
        seen.append(piece)
        return "three" not in "".join(seen)

    completion = await stage.model.complete(HELLO, purpose="reply", max_tokens=50, on_text=take)
    assert completion.text.strip() == "One two three"
    assert completion.finish_reason == "closed"
    assert not completion.truncated


async def test_answer_at_the_token_limit_is_marked(stage: Stage) -> None:
    stage.script("reply", Cut("and then she op"))
    completion = await stage.model.complete(HELLO, purpose="reply", max_tokens=4)
    assert completion.truncated
    assert completion.finish_reason == "length"


@pytest.mark.parametrize("text", ["", "\n\n", "<think>only thoughts</think>", "<think>never ends"])
async def test_answer_without_text_is_an_error_and_the_next_call_works(stage: Stage, text: str) -> None:
    stage.script("reply", text, "Here I am.")
    with pytest.raises(EmptyReply):
        await stage.model.complete(HELLO, purpose="reply", max_tokens=50)
    assert (await stage.model.complete(HELLO, purpose="reply", max_tokens=50)).text == "Here I am."


async def test_prompt_that_does_not_fit_names_the_limit(stage: Stage) -> None:
    long = [*HELLO, ChatMessage("user", "Alice: word " * 400)]
    with pytest.raises(ContextOverflow) as caught:
        await stage.model.complete(long, purpose="reply", max_tokens=50)
    assert caught.value.limit == 400


async def test_refused_key_is_an_error_of_the_settings(stage: Stage) -> None:
    stage.script("reply", KEY_REFUSED)
    with pytest.raises(ModelMisconfigured):
        await stage.model.complete(HELLO, purpose="reply", max_tokens=50)


async def test_cancelled_call_ends_at_once(stage: Stage) -> None:
    stage.hold("reply")
    call = asyncio.create_task(stage.model.complete(HELLO, purpose="reply", max_tokens=50))
    await stage.wait_for_request()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_context_is_known_and_tokens_are_counted(stage: Stage) -> None:
    assert await stage.model.context_tokens() == 400
    assert stage.model.count_tokens("") == 0
    assert stage.model.count_tokens("four words are here") >= 4
