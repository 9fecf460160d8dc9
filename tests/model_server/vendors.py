"""Servers in the field, one profile each, as they document themselves and as their users report them.

What they take and refuse, how they name models, say errors, count and stream. Sources: their API
references and public issues of 2024 to 2026; where versions differ the stricter one stands here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tests.model_server.behaviours import Behaviour, Fail, Say, in_words
from tests.model_server.refusals import WORDINGS, Refusal, overflow_of, refusal_of
from tests.model_server.wire import Exchange, Json, completion, count_prompt

OPENAI_FIELDS = frozenset(
    {
        *("model", "messages", "stream", "stream_options", "temperature", "top_p", "stop", "seed"),
        *("presence_penalty", "frequency_penalty", "response_format", "max_tokens", "max_completion_tokens"),
    }
)

Usage = Literal["own chunk", "with the reason", "in every chunk", "always own chunk", "never"]


@dataclass(frozen=True)
class Shape:
    """How it streams. usage: where the counts stand; whole answers have them too, unless "never"."""

    usage: Usage = "own chunk"
    line_end: str = "\n"
    done: bool = True
    comment: str | None = None
    """Sent before the first piece, as some do while they wait."""
    reason_with_text: bool = False
    """The last piece carries the reason, instead of a chunk of its own."""
    role_each: bool = False
    """Every delta repeats the role."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """Fields of every chunk that nobody asked for."""


@dataclass(frozen=True)
class Vendor:
    """One kind of server. `known` None: it ignores fields that it does not know."""

    name: str
    model: str
    overflow: str
    unknown_model: Fail | None
    """None: any name will do, it has one model loaded."""
    wrong_key: Fail | None
    busy: Fail
    shape: Shape = Shape()
    known: frozenset[str] | None = None
    unknown_field: Callable[[str], Fail] | None = None
    refuses: Mapping[Refusal, int] = field(default_factory=dict)
    pages: Callable[[int], Mapping[str, object]] = lambda _: {}
    """GET pages, by the context in tokens."""
    tells_context: bool = True
    reported_model: str = ""

    def behaviour(self, body: Json, headers: Mapping[str, str], context: int | None) -> Behaviour | None:
        """What it refuses; None when it answers."""
        if self.wrong_key is not None and headers.get("authorization") != f"Bearer {KEY}":
            return self.wrong_key
        if self.unknown_model is not None and body.get("model") != self.model:
            return self.unknown_model
        unknown = sorted(set(body) - self.known) if self.known is not None else []
        if unknown and self.unknown_field is not None:
            return self.unknown_field(unknown[0])
        if (refusal := refusal_of(body, dict(self.refuses))) is not None:
            return refusal
        if context is not None and count_prompt(body) > context:
            return overflow_of(self.overflow, limit=context, asked=count_prompt(body))
        return None

    def shaped(self, behaviour: Behaviour) -> Behaviour:
        """A plain answer in this server's way; what tests script beyond that stays as it is."""
        return _Shaped(self, behaviour) if type(behaviour) is Say else behaviour


KEY = "sk-test-key-0123456789"


@dataclass(frozen=True)
class _Shaped(Behaviour):
    vendor: Vendor
    said: Say

    async def play(self, exchange: Exchange) -> None:
        shape, text = self.vendor.shape, self.said.text or ""
        usage = exchange.usage(text)
        model = self.vendor.reported_model or exchange.model
        if not exchange.streamed:
            message: Json = {"role": "assistant", "content": text}
            told = None if shape.usage == "never" else usage
            await exchange.send_json(completion(model, message, self.said.finish, told) | shape.extra)
            return
        await exchange.start_stream()
        if shape.comment is not None:
            await _line(exchange, shape, f": {shape.comment}")
        pieces = in_words(text)
        for number, piece in enumerate(pieces):
            await asyncio.sleep(self.said.delay)
            last = number == len(pieces) - 1 and shape.reason_with_text
            delta: Json = {"content": piece}
            if shape.role_each or number == 0:
                delta["role"] = "assistant"
            counts = (
                usage
                if shape.usage == "in every chunk" or (last and shape.usage == "with the reason")
                else None
            )
            await self._chunk(exchange, model, delta, self.said.finish if last else None, counts)
        if not shape.reason_with_text:
            counts = usage if shape.usage in {"with the reason", "in every chunk"} else None
            await self._chunk(exchange, model, {}, self.said.finish, counts)
        asked = shape.usage == "own chunk" and exchange.wants_usage
        if asked or shape.usage == "always own chunk":
            await self._send(exchange, {"object": "chat.completion.chunk", "choices": [], "usage": usage})
        if shape.done:
            await _line(exchange, shape, "data: [DONE]")

    async def _chunk(
        self, exchange: Exchange, model: str, delta: Json, finish: str | None, usage: Json | None
    ) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        event: Json = {"id": "c", "object": "chat.completion.chunk", "model": model, "choices": [choice]}
        await self._send(exchange, event | ({"usage": usage} if usage else {}))

    async def _send(self, exchange: Exchange, event: Json) -> None:
        await _line(exchange, self.vendor.shape, f"data: {json.dumps(event | self.vendor.shape.extra)}")


async def _line(exchange: Exchange, shape: Shape, line: str) -> None:
    await exchange.send_bytes(f"{line}{shape.line_end * 2}".encode())


def _openai(message: str, status: int, kind: str, code: object = None) -> Fail:
    return Fail(status, {"error": {"message": message, "type": kind, "param": None, "code": code}})


def _flat(message: str, status: int) -> Fail:
    return Fail(status, {"error": message})


def _kobold(message: str, status: int, kind: str) -> Fail:
    return Fail(status, {"detail": {"msg": message, "type": kind}})


def _google(message: str, status: int, kind: str) -> Fail:
    return Fail(status, [{"error": {"code": status, "message": message, "status": kind}}])


def _vllm(message: str, status: int, kind: str) -> Fail:
    return Fail(status, {"object": "error", "message": message, "type": kind, "param": None, "code": status})


def _mistral_field(name: str) -> Fail:
    detail = [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}]
    body = {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error", "code": None}
    return Fail(422, body)


def _google_field(name: str) -> Fail:
    said = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
    return _google(said, 400, "INVALID_ARGUMENT")


OLLAMA = Vendor(
    name="Ollama",
    model="llama3.2:3b",
    overflow="ollama",
    unknown_model=_openai("model 'nobody' not found", 404, "not_found_error"),
    wrong_key=None,
    busy=_openai("server busy, please try again. maximum pending requests exceeded", 503, "api_error"),
    shape=Shape(role_each=True, extra={"system_fingerprint": "fp_ollama"}),
    pages=lambda context: {
        "/v1/models": {"data": [{"id": "llama3.2:3b", "owned_by": "library"}]},
        "/api/ps": {"models": [{"name": "llama3.2:3b", "context_length": context}]},
    },
)
VLLM = Vendor(
    name="vLLM",
    model="Qwen/Qwen3-8B",
    overflow="vllm",
    unknown_model=_vllm("The model `nobody` does not exist.", 404, "NotFoundError"),
    wrong_key=Fail(401, {"error": "Unauthorized"}),
    busy=_vllm("The engine is overloaded", 503, "ServiceUnavailableError"),
    known=OPENAI_FIELDS | {"min_p"},
    refuses={Refusal.ALTERNATION: 0},
    pages=lambda context: {"/v1/models": {"data": [{"id": "Qwen/Qwen3-8B", "max_model_len": context}]}},
)
LM_STUDIO = Vendor(
    name="LM Studio",
    model="qwen2.5-7b-instruct",
    overflow="lm-studio",
    unknown_model=None,
    wrong_key=None,
    busy=_flat("The model has crashed without additional information.", 500),
    refuses={Refusal.JSON_OBJECT: 0, Refusal.ALTERNATION: 2},
    pages=lambda context: {
        "/v1/models": {"data": [{"id": "qwen2.5-7b-instruct", "owned_by": "organization_owner"}]},
        "/api/v0/models": {
            "data": [
                {
                    "id": "qwen2.5-7b-instruct",
                    "max_context_length": 131072,
                    "loaded_context_length": context,
                }
            ]
        },
    },
)
KOBOLD = Vendor(
    name="KoboldCpp",
    model="koboldcpp/mistral-7b.Q4_K_M",
    overflow="llama.cpp",
    unknown_model=None,
    wrong_key=None,
    busy=_kobold("Server is busy; please try again later.", 503, "service_unavailable"),
    shape=Shape(usage="never", line_end="\r\n", done=False, role_each=True),
    pages=lambda context: {
        "/v1/models": {"data": [{"id": "koboldcpp/mistral-7b.Q4_K_M", "owned_by": "koboldcpp"}]},
        "/api/extra/true_max_context_length": {"value": context},
    },
    reported_model="koboldcpp/mistral-7b.Q4_K_M",
)
OPENROUTER = Vendor(
    name="OpenRouter",
    model="meta-llama/llama-3.3-70b-instruct",
    overflow="openai",
    unknown_model=Fail(400, {"error": {"message": "nobody is not a valid model ID", "code": 400}}),
    wrong_key=Fail(401, {"error": {"message": "No auth credentials found", "code": 401}}),
    busy=Fail(
        429,
        {
            "error": {
                "message": "Provider returned error",
                "code": 429,
                "metadata": {"raw": "temporarily rate-limited upstream", "provider_name": "Someone"},
            }
        },
    ),
    shape=Shape(usage="always own chunk", comment="OPENROUTER PROCESSING", role_each=True),
    refuses={Refusal.RESPONSE_FORMAT: 2},
    pages=lambda context: {
        "/v1/models": {
            "data": [
                {"id": "other/model", "context_length": 1},
                {
                    "id": "meta-llama/llama-3.3-70b-instruct",
                    "context_length": 131072,
                    "top_provider": {"context_length": context},
                },
            ]
        }
    },
)
MISTRAL = Vendor(
    name="Mistral",
    model="mistral-small-latest",
    overflow="mistral",
    unknown_model=Fail(
        400,
        {"object": "error", "message": "Invalid model: nobody", "type": "invalid_model", "code": "1500"},
    ),
    wrong_key=Fail(401, {"detail": "Unauthorized"}),
    busy=Fail(429, {"object": "error", "message": "Service tier capacity exceeded", "code": "3505"}),
    shape=Shape(usage="with the reason"),
    known=OPENAI_FIELDS - {"seed", "stream_options", "max_completion_tokens"},
    unknown_field=_mistral_field,
    refuses={Refusal.LAST_ASSISTANT: 1, Refusal.NAME: 0},
    pages=lambda context: {
        "/v1/models": {"data": [{"id": "mistral-small-latest", "max_context_length": context}]}
    },
)
ANTHROPIC = Vendor(
    name="Anthropic",
    model="claude-sonnet-4-5",
    overflow="anthropic",
    unknown_model=_openai("model: nobody", 404, "not_found_error"),
    wrong_key=_openai("invalid x-api-key", 401, "authentication_error"),
    busy=_openai("Overloaded", 529, "overloaded_error"),
    shape=Shape(usage="own chunk", reason_with_text=False),
    refuses={Refusal.LAST_ASSISTANT: 0},
    pages=lambda _: {"/v1/models": {"data": [{"id": "claude-sonnet-4-5", "type": "model"}]}},
    tells_context=False,
)
GOOGLE = Vendor(
    name="Google",
    model="gemini-2.5-flash",
    overflow="google",
    unknown_model=_google("models/nobody is not found for API version v1main", 404, "NOT_FOUND"),
    wrong_key=_google("API key not valid. Please pass a valid API key.", 400, "INVALID_ARGUMENT"),
    busy=_google("The model is overloaded. Please try again later.", 503, "UNAVAILABLE"),
    shape=Shape(usage="in every chunk", role_each=True, reason_with_text=True),
    known=OPENAI_FIELDS - {"frequency_penalty", "presence_penalty", "seed"},
    unknown_field=_google_field,
    pages=lambda _: {"/v1/models": {"data": [{"id": "models/gemini-2.5-flash", "owned_by": "google"}]}},
    tells_context=False,
)
LLAMA_CPP = Vendor(
    name="llama.cpp",
    model="model.gguf",
    overflow="llama.cpp",
    unknown_model=None,
    wrong_key=None,
    busy=_openai("Loading model", 503, "unavailable_error", 503),
    shape=Shape(extra={"timings": {"predicted_per_second": 31.5}}),
    refuses={Refusal.SYSTEM: 1},
    pages=lambda context: {
        "/v1/models": {
            "data": [{"id": "model.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072}}]
        },
        "/props": {"default_generation_settings": {"n_ctx": context}},
    },
)
LLAMA_CPP_PYTHON = Vendor(
    name="llama-cpp-python",
    model="local",
    overflow="llama-cpp-python",
    unknown_model=None,
    wrong_key=_openai("Invalid API key", 401, "invalid_request_error"),
    busy=_openai("Internal Server Error", 500, "internal_server_error"),
    shape=Shape(usage="never"),
    refuses={Refusal.JSON_SCHEMA: 0},
    pages=lambda _: {"/v1/models": {"data": [{"id": "local", "owned_by": "me", "permissions": []}]}},
    tells_context=False,
)
OPENAI = Vendor(
    name="OpenAI",
    model="gpt-5-mini",
    overflow="openai",
    unknown_model=_openai(
        "The model `nobody` does not exist or you do not have access to it.",
        404,
        "invalid_request_error",
        "model_not_found",
    ),
    wrong_key=_openai(
        "Incorrect API key provided: sk-nope.", 401, "invalid_request_error", "invalid_api_key"
    ),
    busy=_openai("Rate limit reached for gpt-5-mini", 429, "requests", "rate_limit_exceeded"),
    known=OPENAI_FIELDS,
    unknown_field=lambda name: _openai(f"Unrecognized request argument supplied: {name}", 400, "invalid"),
    refuses={Refusal.MAX_TOKENS: 0, Refusal.TEMPERATURE: 0, Refusal.STOP: 0},
    pages=lambda _: {"/v1/models": {"data": [{"id": "gpt-5-mini", "owned_by": "system"}]}},
    tells_context=False,
    reported_model="gpt-5-mini-2025-08-07",
)

VENDORS = (
    *(OLLAMA, VLLM, LM_STUDIO, KOBOLD, OPENROUTER, MISTRAL, ANTHROPIC, GOOGLE),
    *(LLAMA_CPP, LLAMA_CPP_PYTHON, OPENAI),
)

assert all(wording < len(WORDINGS[kind]) for one in VENDORS for kind, wording in one.refuses.items())
