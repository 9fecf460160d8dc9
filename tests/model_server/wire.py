"""The forms of the protocol: one request and its answer on the wire."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

from aiohttp import web

Json = dict[str, object]


@dataclass
class Exchange:
    """One request, and the means to answer it."""

    request: web.Request
    body: Json
    server_closing: asyncio.Event
    response: web.StreamResponse | None = field(default=None)

    @property
    def streamed(self) -> bool:
        return self.body.get("stream") is True

    @property
    def wants_usage(self) -> bool:
        options = self.body.get("stream_options")
        return isinstance(options, dict) and options.get("include_usage") is True

    @property
    def model(self) -> str:
        return str(self.body.get("model"))

    def usage(self, text: str) -> Json:
        prompt, answer = count_prompt(self.body), count(text)
        return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}

    async def send_json(self, body: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        await self._send(web.json_response(body, status=status, headers=headers))

    async def send_text(self, text: str, status: int, headers: dict[str, str]) -> None:
        await self._send(web.Response(text=text, status=status, headers=headers))

    async def start_stream(self, content_type: str = "text/event-stream") -> None:
        await self.start({"Content-Type": content_type})

    async def start(self, headers: dict[str, str]) -> None:
        self.response = web.StreamResponse(headers=headers)
        await self.response.prepare(self.request)

    async def send_line(self, line: str) -> None:
        assert isinstance(self.response, web.StreamResponse)
        await self.response.write(f"{line}\n\n".encode())

    async def send_bytes(self, chunk: bytes) -> None:
        assert isinstance(self.response, web.StreamResponse)
        await self.response.write(chunk)

    async def send_event(self, event: object) -> None:
        await self.send_line(f"data: {json.dumps(event)}")

    async def send_delta(self, delta: Json, finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        event = {"id": "c", "object": "chat.completion.chunk", "model": self.model, "choices": [choice]}
        await self.send_event(event)

    def abort(self) -> None:
        assert self.request.transport is not None
        self.request.transport.abort()

    async def _send(self, response: web.Response) -> None:
        self.response = response
        await response.prepare(self.request)
        await response.write_eof()


def completion(model: str, message: Json, finish: str | None, usage: Json | None) -> Json:
    """Return a whole answer."""
    choice = {"index": 0, "message": message, "finish_reason": finish}
    body: Json = {"id": "c", "object": "chat.completion", "model": model, "choices": [choice]}
    return body if usage is None else body | {"usage": usage}


def count(text: str) -> int:
    """Return the tokens of this server's pretended tokenizer: one for four characters begun."""
    return -(-len(text) // 4)


def messages_of(body: Json) -> list[Json]:
    messages = body.get("messages")
    return [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []


def count_prompt(body: Json) -> int:
    """Return the tokens of a prompt: its texts, and five for each message."""
    return sum(count(str(message.get("content"))) + 5 for message in messages_of(body))
