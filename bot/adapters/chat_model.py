"""Talks to any OpenAI-compatible server, and learns by itself what that server does not take."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from bot.adapters.chat_answer import Answer, error_in, is_whole_json
from bot.adapters.chat_call import DEFAULT_RETRIES, Call, Retries
from bot.adapters.chat_context import find_context_tokens
from bot.adapters.chat_failures import Failure, Trouble
from bot.adapters.chat_quirks import Body, Quirks
from bot.adapters.chat_request import Request
from bot.adapters.chat_server import DEFAULT_TIMEOUTS, ChatServer, Timeouts, status_in
from bot.adapters.chat_stream import AnswerBody
from bot.core.chat import DEFAULT_SAMPLING, ChatMessage, Completion, OnText, Sampling
from bot.core.token_count import TokenCounter
from bot.errors import EmptyReply, ModelRefused

_log = logging.getLogger(__name__)

_DRAIN_S = 0.1


class OpenAIChatModel:
    """A ChatModel over HTTP.

    `quirks` is what `on_quirks_changed` gave for the same address and model some time ago, so that
    a server's refusals are met once, not at every start. Until a server's first whole answer it is
    unknown whether its thoughts lack their opening tag, so that answer reaches `on_text` at its end.

    Neither exceptions nor log lines of this class hold the key, the address's user part or prompts:
    its errors are not chained to the library's, whose texts may.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        retries: Retries = DEFAULT_RETRIES,
        quirks: Mapping[str, object] | None = None,
        on_quirks_changed: Callable[[dict[str, object]], None] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._model = model
        self._timeouts = timeouts
        self._retries = retries
        self._quirks = Quirks.from_dict(quirks or {})
        self._on_quirks_changed = on_quirks_changed
        self._sleep = sleep
        self._tokens = TokenCounter()
        self._server = ChatServer(base_url=base_url, api_key=api_key, timeouts=timeouts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self._model!r}, server={self._server.label!r})"

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    @property
    def quirks(self) -> dict[str, object]:
        """What was learned about the server, ready for JSON; {} when it takes everything."""
        return self._quirks.to_dict()

    @property
    def lacks(self) -> list[str]:
        """The same in words, for a moderator."""
        return self._quirks.in_words()

    def count_tokens(self, text: str) -> int:
        """See ChatModel.count_tokens."""
        return self._tokens.count(text)

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        purpose: str,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Mapping[str, object] | None = None,
        sampling: Sampling = DEFAULT_SAMPLING,
        on_text: OnText | None = None,
    ) -> Completion:
        """See ChatModel.complete. Text that was shown is never shown again: when a stream breaks after
        it, what came is returned as truncated; before it, the call is tried again.
        """
        request = Request(self._model, messages, max_tokens, stop, schema, sampling)
        call = Call(request, purpose, on_text, before=self._quirks, quirks=self._quirks)
        try:
            async with asyncio.timeout(self._timeouts.total):
                failure = await self._try_until_answered(call)
        except TimeoutError:
            failure = Failure(Trouble.TIMEOUT, text=f"{self._timeouts.total:g} s in all")
        if failure is not None and not (call.shown and call.answer):
            raise failure.as_error(self._server.label)
        return self._completion(call)

    async def prepare(self) -> None:
        """Make the first call as quick as the others."""
        await self._server.prepare()

    async def context_tokens(self) -> int | None:
        """See ChatModel.context_tokens. Waits a few seconds at most."""
        try:
            async with asyncio.timeout(2 * self._timeouts.question):
                return await find_context_tokens(self._server.get, self._model)
        except TimeoutError:
            return None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()

    async def _try_until_answered(self, call: Call) -> Failure | None:
        """Ask, adapt and wait until there is an answer (None) or a failure that stays."""
        retried = 0
        while True:
            body = call.request.body(call.quirks)
            try:
                failure = await self._server.calls.run(self._attempt(call, body), name=f"ask {self._model}")
            except asyncio.CancelledError:
                call.on_text = None  # whoever listened has gone
                raise
            if failure is None or call.shown:
                return failure
            if call.adapt(failure, body):
                continue
            wait = self._retries.wait(failure, retried)
            if wait is None:
                return failure
            retried += 1
            _log.warning(
                "Model server %s failed (%s), again in %g s", self._server.label, failure.label, wait
            )
            await self._sleep(wait)

    async def _attempt(self, call: Call, body: Body) -> Failure | None:
        call.answer = Answer(model=self._model, headless_thoughts=call.quirks.headless_thoughts)
        stream = await self._server.open(body, purpose=call.purpose)
        if isinstance(stream, Failure):
            return stream
        try:
            return await self._take(AnswerBody(stream.response.aiter_bytes()), call, call.answer)
        finally:
            await stream.close()

    async def _take(self, body: AnswerBody, call: Call, answer: Answer) -> Failure | None:
        """Take an answer in pieces or, from a server that does not stream, in one; or what went wrong."""
        async with aclosing(body.events()) as events:
            while True:
                try:
                    async with asyncio.timeout(self._patience(answer)):
                        event = await anext(events)
                except StopAsyncIteration:
                    break
                except Exception as error:  # as in ChatServer.open
                    if answer.finished:
                        break  # the text is whole; only the usage or the last mark is missing
                    return self._server.failure(error)
                if (problem := error_in(event)) is not None:
                    return self._server.read_failure(status_in(problem, 200 if body.whole else 500), problem)
                if not call.show(answer.take(event)):
                    answer.close()
                    return None
        await body.drain(_DRAIN_S)
        if not call.show(answer.end()):
            answer.close()
        return self._inner_failure(call, answer, whole=body.whole)

    def _inner_failure(self, call: Call, answer: Answer, *, whole: bool) -> Failure | None:
        """The failure that a whole answer tells of, unless it holds text all the same."""
        if call.shown or answer.completion().text.strip():
            return None
        if answer.error is not None:
            return self._server.read_failure(status_in(answer.error, 502), answer.error)
        if answer.foreign is not None:
            return self._server.read_failure(status_in(answer.foreign, 200 if whole else 500), answer.foreign)
        return None

    def _patience(self, answer: Answer) -> float | None:
        """Return how long the next chunk may take; before the text begins, the line's own timeout."""
        if answer.finished:
            return self._timeouts.usage
        return self._timeouts.between if answer.begun else None

    def _completion(self, call: Call) -> Completion:
        """Return the answer of a call, remembering what it taught."""
        assert call.answer is not None
        answer = call.answer
        completion = answer.completion()
        unsaid = completion.truncated and completion.finish_reason is None
        if unsaid and call.request.schema is not None and is_whole_json(completion.text):
            completion = replace(completion, truncated=False)  # a server that never says why it ends
        self._remember(call, answer)
        if completion.usage:
            self._tokens.learn((m.content for m in call.request.messages), completion.usage.prompt_tokens)
        if completion.text.strip():
            return completion
        if answer.filtered:
            raise ModelRefused(f"A filter at {self._server.label} withheld the answer.")
        if completion.finish_reason == "closed":
            return completion
        only = "with thoughts alone" if answer.thought else "without text"
        raise EmptyReply(f"The model at {self._server.label} answered {only}.")

    def _remember(self, call: Call, answer: Answer) -> None:
        known = self._quirks.with_lessons(call.before, call.quirks)
        known = known.with_thoughts(answer.headless_thoughts)
        if known == self._quirks:
            return
        self._quirks = known
        _log.info("Model server %s (%s) needs: %s", self._server.label, self._model, known.to_dict())
        if self._on_quirks_changed is not None:
            self._on_quirks_changed(known.to_dict())
