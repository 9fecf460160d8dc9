"""What the scripted server can do with one request."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.model_server.wire import Exchange, Json, completion


@dataclass(frozen=True)
class Behaviour(ABC):
    """One way to answer."""

    @abstractmethod
    async def play(self, exchange: Exchange) -> None:
        """Answer the request of `exchange`."""


@dataclass(frozen=True)
class Say(Behaviour):
    """Answer with `text`, streamed when the request asks for it.

    chunks: the pieces of the stream (default: words). delay: seconds before each. gate: waited for
    before the first piece. finish: None ends the stream without a reason. reasoning: thoughts in
    `reasoning_field`. keep_alives: comment lines before the first piece. usage: whether it is told
    (when the request asks for it). done: whether `[DONE]` ends the stream. hang: whether the line stays
    open and silent after the text.
    """

    text: str | None = "Good evening."
    chunks: Sequence[str] | None = None
    delay: float = 0.0
    gate: asyncio.Event | None = None
    finish: str | None = "stop"
    reasoning: str | None = None
    reasoning_field: str = "reasoning_content"
    keep_alives: int = 0
    usage: bool = True
    done: bool = True
    hang: bool = False
    extra: Mapping[str, object] = field(default_factory=dict)

    async def play(self, exchange: Exchange) -> None:
        if self.gate is not None:
            await self.gate.wait()
        text = "".join(self.chunks) if self.chunks is not None else self.text
        if not exchange.streamed:
            message: Json = {"role": "assistant", "content": text, **self.extra}
            if self.reasoning is not None:
                message[self.reasoning_field] = self.reasoning
            usage = exchange.usage(text or "") if self.usage else None
            await exchange.send_json(completion(exchange.model, message, self.finish, usage))
            return
        await exchange.start_stream()
        for _ in range(self.keep_alives):
            await asyncio.sleep(self.delay)
            await exchange.send_line(": still working")
        await exchange.send_delta({"role": "assistant", "content": None if text is None else ""})
        if self.reasoning is not None:
            await exchange.send_delta({self.reasoning_field: self.reasoning})
        for piece in self.chunks if self.chunks is not None else in_words(text or ""):
            await asyncio.sleep(self.delay)
            await exchange.send_delta({"content": piece, **self.extra})
        if self.finish is not None:
            await exchange.send_delta({}, self.finish)
        if self.hang:
            await exchange.server_closing.wait()
        if self.usage and exchange.wants_usage:
            await exchange.send_event({"choices": [], "usage": exchange.usage(text or "")})
        if self.done:
            await exchange.send_line("data: [DONE]")


@dataclass(frozen=True)
class Fail(Behaviour):
    """Answer with a status and a vendor's error body (JSON, or text as it is)."""

    status: int = 500
    body: object = field(default_factory=lambda: {"error": {"message": "Internal Server Error"}})
    headers: Mapping[str, str] = field(default_factory=dict)

    async def play(self, exchange: Exchange) -> None:
        if isinstance(self.body, str):
            await exchange.send_text(self.body, self.status, dict(self.headers))
        else:
            await exchange.send_json(self.body, self.status, dict(self.headers))


@dataclass(frozen=True)
class WebPage(Behaviour):
    """Answer with an HTML page, as proxies and wrong addresses do."""

    status: int = 200

    async def play(self, exchange: Exchange) -> None:
        page = "<!DOCTYPE html><html><head><title>Gateway</title></head><body>Sorry</body></html>"
        await exchange.send_text(page, self.status, {"Content-Type": "text/html; charset=utf-8"})


@dataclass(frozen=True)
class Raw(Behaviour):
    """Stream these lines as they are."""

    lines: Sequence[str] = ()
    content_type: str = "text/event-stream"

    async def play(self, exchange: Exchange) -> None:
        await exchange.start_stream(self.content_type)
        for line in self.lines:
            await exchange.send_line(line)


@dataclass(frozen=True)
class Bytes(Behaviour):
    """Send these bytes, in these pieces, under these headers; then end, or break the connection."""

    pieces: Sequence[bytes] = ()
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    torn: bool = False

    async def play(self, exchange: Exchange) -> None:
        await exchange.start(dict(self.headers))
        for piece in self.pieces:
            await exchange.send_bytes(piece)
            await asyncio.sleep(0)
        if self.torn:
            exchange.abort()


@dataclass(frozen=True)
class ErrorInStream(Behaviour):
    """Stream the chunks, then an error object."""

    after: Sequence[str] = ()
    error: object = field(default_factory=lambda: {"message": "Provider disconnected", "code": 502})

    async def play(self, exchange: Exchange) -> None:
        await exchange.start_stream()
        for piece in self.after:
            await exchange.send_delta({"content": piece})
        await exchange.send_event({"error": self.error})


@dataclass(frozen=True)
class Reset(Behaviour):
    """Break the connection, after the chunks when there are any."""

    after: Sequence[str] = ()

    async def play(self, exchange: Exchange) -> None:
        if self.after:
            await exchange.start_stream()
        for piece in self.after:
            await exchange.send_delta({"content": piece})
        await asyncio.sleep(0)
        exchange.abort()


@dataclass(frozen=True)
class Stall(Behaviour):
    """Send the chunks (without any: not even headers) and then nothing until the client leaves."""

    after: Sequence[str] = ()
    keep_alive_every: float | None = None

    async def play(self, exchange: Exchange) -> None:
        if self.after or self.keep_alive_every is not None:
            await exchange.start_stream()
        for piece in self.after:
            await exchange.send_delta({"content": piece})
        while self.keep_alive_every is not None:
            await asyncio.sleep(self.keep_alive_every)
            await exchange.send_line(": still here")
        await exchange.server_closing.wait()


@dataclass(frozen=True)
class ToolCall(Behaviour):
    """Answer with a tool call and no text."""

    async def play(self, exchange: Exchange) -> None:
        call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        if exchange.streamed:
            await exchange.start_stream()
            await exchange.send_delta({"role": "assistant", "content": None, "tool_calls": [call]})
            await exchange.send_delta({}, "tool_calls")
            await exchange.send_line("data: [DONE]")
        else:
            message: Json = {"role": "assistant", "content": None, "tool_calls": [call]}
            await exchange.send_json(completion(exchange.model, message, "tool_calls", None))


@dataclass(frozen=True)
class NoChoices(Behaviour):
    """Answer with an empty (or null) list of choices."""

    null: bool = False

    async def play(self, exchange: Exchange) -> None:
        body: Json = {"model": exchange.model, "choices": None if self.null else []}
        if exchange.streamed:
            await exchange.start_stream()
            await exchange.send_event(body)
            await exchange.send_line("data: [DONE]")
        else:
            await exchange.send_json(body)


def in_words(text: str) -> list[str]:
    """Return the words of `text`, each with the space after it."""
    words: list[str] = []
    for word in text.split(" "):
        words.append(word if not words else f" {word}")
    return [word for word in words if word]
