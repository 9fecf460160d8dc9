"""Fakes at our own ports, for tests that need no real model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.core.chat import DEFAULT_SAMPLING, ChatMessage, Completion, OnText, Sampling, Usage
from bot.core.thoughts import ThoughtFilter
from bot.errors import ContextOverflow, EmptyReply


@dataclass(frozen=True)
class Prompt:
    """What a ScriptedChatModel was asked."""

    messages: tuple[ChatMessage, ...]
    purpose: str
    max_tokens: int
    stop: tuple[str, ...]
    schema: Mapping[str, object] | None
    sampling: Sampling

    @property
    def text(self) -> str:
        """All contents, one below the other."""
        return "\n".join(message.content for message in self.messages)


@dataclass(frozen=True)
class Cut:
    """An answer that the token limit ends."""

    text: str


ChatAnswer = str | Cut | Exception
ChatScript = Sequence[ChatAnswer] | Callable[[Prompt], ChatAnswer]


class ScriptedChatModel:
    """A ChatModel that answers by a script and records its prompts.

    script: by purpose ("*" for the others), a row of answers that is used up, or a function of the
    prompt; without one, and after a row's end, the last line of the prompt is echoed. gate: each
    answer waits for it when it is given. asked: set by each prompt. cancelled counts the calls that were.
    """

    def __init__(
        self,
        script: Mapping[str, ChatScript] | None = None,
        *,
        context: int | None = None,
        gate: asyncio.Event | None = None,
    ) -> None:
        self.prompts: list[Prompt] = []
        self.script: dict[str, ChatScript] = dict(script or {})
        self.gate = gate
        self.asked = asyncio.Event()
        self.cancelled = 0
        self.closed = False
        self._context = context
        self._used: dict[str, int] = {}

    @property
    def name(self) -> str:
        return "scripted"

    def of(self, purpose: str) -> list[Prompt]:
        """Return the prompts of one purpose, in order."""
        return [prompt for prompt in self.prompts if prompt.purpose == purpose]

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
        prompt = Prompt(tuple(messages), purpose, max_tokens, tuple(stop), schema, sampling)
        self.prompts.append(prompt)
        self.asked.set()
        try:
            await (self.gate.wait() if self.gate is not None else asyncio.sleep(0))
            return await self._answer(prompt, on_text)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def context_tokens(self) -> int | None:
        return self._context

    def count_tokens(self, text: str) -> int:
        return -(-len(text) // 4)

    async def aclose(self) -> None:
        self.closed = True

    async def _answer(self, prompt: Prompt, on_text: OnText | None) -> Completion:
        asked = sum(self.count_tokens(message.content) + 5 for message in prompt.messages)
        if self._context is not None and asked > self._context:
            raise ContextOverflow("The prompt is too long.", limit=self._context)
        answer = self._scripted(prompt)
        if isinstance(answer, Exception):
            raise answer
        written = answer.text if isinstance(answer, Cut) else answer
        text, closed = await _stream(written, on_text)
        if not text.strip() and not closed:
            raise EmptyReply("The model answered without text.")
        cut = isinstance(answer, Cut) and not closed
        return Completion(
            text=text,
            finish_reason="closed" if closed else "length" if cut else "stop",
            usage=None if closed else Usage(asked, self.count_tokens(written)),
            model=self.name,
            truncated=cut,
        )

    def _scripted(self, prompt: Prompt) -> ChatAnswer:
        purpose = prompt.purpose if prompt.purpose in self.script else "*"
        script = self.script.get(purpose, ())
        if callable(script):
            return script(prompt)
        position = self._used.get(purpose, 0)
        self._used[purpose] = position + 1
        if position < len(script):
            return script[position]
        return f"I heard you: {prompt.text.splitlines()[-1] if prompt.text else ''}"


async def _stream(text: str, on_text: OnText | None) -> tuple[str, bool]:
    """Hand `text` out word by word; return what was visible, and whether the caller had enough."""
    thoughts = ThoughtFilter()
    words = [word + " " for word in text.split(" ")]
    for piece in [*words[:-1], words[-1][:-1]]:
        await asyncio.sleep(0)
        shown = thoughts.feed(piece)
        if shown and on_text is not None and not on_text(shown):
            return thoughts.text, True
    rest = thoughts.finish()
    return thoughts.text, bool(rest and on_text is not None and not on_text(rest))
