"""What a server may refuse to take, in the words of several vendors."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from itertools import pairwise

from tests.model_server.behaviours import Fail
from tests.model_server.wire import Json, messages_of


class Refusal(Enum):
    """A kind of request that a server can be told to refuse."""

    SYSTEM = "system"
    SECOND_SYSTEM = "second_system"
    ALTERNATION = "alternation"
    LAST_ASSISTANT = "last_assistant"
    NAME = "name"
    RESPONSE_FORMAT = "response_format"
    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    STOP = "stop"
    MANY_STOPS = "many_stops"
    TEMPERATURE = "temperature"
    MIN_P = "min_p"
    MAX_TOKENS = "max_tokens"
    STREAM = "stream"
    STREAM_OPTIONS = "stream_options"


def _roles(body: Json) -> list[str]:
    return [str(message.get("role")) for message in messages_of(body)]


def _turns_break(body: Json) -> bool:
    """True unless, after at most one leading system message, user and assistant take turns."""
    roles = _roles(body)
    turns = roles[1:] if roles[:1] == ["system"] else roles
    return (
        turns[:1] != ["user"]
        or any(one == next_one for one, next_one in pairwise(turns))
        or "system" in turns
    )


def _format(body: Json) -> object:
    wanted = body.get("response_format")
    return wanted.get("type") if isinstance(wanted, dict) else None


def _stops(body: Json) -> int:
    stop = body.get("stop")
    return len(stop) if isinstance(stop, list) else 0


_MEETS: dict[Refusal, Callable[[Json], bool]] = {
    Refusal.SYSTEM: lambda body: "system" in _roles(body),
    Refusal.SECOND_SYSTEM: lambda body: "system" in _roles(body)[1:],
    Refusal.ALTERNATION: _turns_break,
    Refusal.LAST_ASSISTANT: lambda body: _roles(body)[-1:] == ["assistant"],
    Refusal.NAME: lambda body: any("name" in message for message in messages_of(body)),
    Refusal.RESPONSE_FORMAT: lambda body: _format(body) is not None,
    Refusal.JSON_SCHEMA: lambda body: _format(body) == "json_schema",
    Refusal.JSON_OBJECT: lambda body: _format(body) == "json_object",
    Refusal.STOP: lambda body: "stop" in body,
    Refusal.MANY_STOPS: lambda body: _stops(body) > 4,
    Refusal.TEMPERATURE: lambda body: "temperature" in body,
    Refusal.MIN_P: lambda body: "min_p" in body,
    Refusal.MAX_TOKENS: lambda body: "max_tokens" in body,
    Refusal.STREAM: lambda body: body.get("stream") is True,
    Refusal.STREAM_OPTIONS: lambda body: "stream_options" in body,
}


def _says(message: object, status: int = 400, **more: object) -> Fail:
    """OpenAI's form."""
    return Fail(status, {"error": {"message": message, "type": "invalid_request_error", **more}})


def _flat(message: str, status: int = 400) -> Fail:
    """LM Studio's and others' form."""
    return Fail(status, {"error": message})


def _mistral(message: object, status: int = 400) -> Fail:
    return Fail(status, {"object": "error", "message": message, "code": "3230"})


def _google(message: str) -> Fail:
    return Fail(400, [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}])


def _checked(where: list[object], message: str) -> Fail:
    """The form of servers that check requests with pydantic."""
    return Fail(422, {"detail": [{"type": "value_error", "loc": where, "msg": message, "input": "..."}]})


def _forbidden(field: str) -> Fail:
    detail = [{"type": "extra_forbidden", "loc": ["body", field], "msg": "Extra inputs are not permitted"}]
    return _mistral({"detail": detail}, 422)


_TEMPLATE = "\n{%- if x %}\n{{ raise_exception('System role not supported') }}"

# The first wording of each kind is the one a server uses unless it is told another.
WORDINGS: dict[Refusal, tuple[Fail, ...]] = {
    Refusal.SYSTEM: (
        _says("System role not supported"),
        _says("System role not supported at row 1, column 8:\n{{ x }}", 500),
        _says("Only user, assistant and tool roles are supported, got system.", 500),
        _google("Developer instruction is not enabled for models/gemma-3"),
        _says('messages: Unexpected role "system". The Messages API accepts a top-level parameter'),
        _checked(["messages", 0, "role"], "Input should be 'user' or 'assistant'"),
        _says("This model does not support system messages."),
    ),
    Refusal.SECOND_SYSTEM: (
        _says("System message must be at the beginning.", 500),
        _says("Only one system message is supported"),
        _says("Multiple system messages are not allowed"),
    ),
    Refusal.ALTERNATION: (
        _says("Conversation roles must alternate user/assistant/user/assistant/..."),
        _says(f"Conversation roles must alternate user/assistant/... at row 18:{_TEMPLATE}", 500),
        _flat("Error rendering prompt with jinja template: Conversation roles must alternate"),
        _flat("Request failed during generation: Conversation roles must alternate", 424),
        _says('messages: roles must alternate between "user" and "assistant", but found multiple'),
        _google("Please ensure that multiturn requests alternate between user and model."),
        _mistral("Expected last role User or Tool for serving but got assistant"),
    ),
    Refusal.LAST_ASSISTANT: (
        _says("This model does not support assistant message prefill."),
        _mistral("Expected last role User or Tool for serving but got assistant"),
    ),
    Refusal.NAME: (_forbidden("name"),),
    Refusal.RESPONSE_FORMAT: (
        _says("response_format is not supported by this model", param="response_format"),
        _checked(["body", "response_format"], "Extra inputs are not permitted"),
        _says("No endpoints found that support response_format", 404, code=404),
        _says("Structured outputs are not implemented", 501),
        _flat("something we never heard of"),
    ),
    Refusal.JSON_SCHEMA: (
        _says("[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'input': 'x'}]", 500),
        _says("Invalid parameter: 'response_format' of type 'json_schema' is not supported."),
        _says("Failed to parse grammar"),
    ),
    Refusal.JSON_OBJECT: (_flat("'response_format.type' must be 'json_schema' or 'text'"),),
    Refusal.STOP: (
        _says("Unsupported parameter: 'stop' is not supported with this model.", param="stop"),
        _google("the model does not support the stopSequences parameter. Remove it and try again."),
    ),
    Refusal.MANY_STOPS: (_says("Invalid 'stop': array too long. Expected at most 4", param="stop"),),
    Refusal.TEMPERATURE: (
        _says("Unsupported value: 'temperature' does not support 0.8 with this model."),
        _says("`temperature` is deprecated for this model."),
    ),
    Refusal.MIN_P: (_forbidden("min_p"), _says("Unrecognized request argument supplied: min_p")),
    Refusal.MAX_TOKENS: (_says("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),),
    Refusal.STREAM: (
        _says("Streaming is not supported for this model", param="stream"),
        _says("stream not implemented", 501),
    ),
    Refusal.STREAM_OPTIONS: (_forbidden("stream_options"), _says("Unknown parameter: 'stream_options'.")),
}

# Context overflow, by vendor; {limit} and {asked} are filled in.
_OVERFLOWS: dict[str, tuple[Callable[[str], Fail], str]] = {
    "openai": (
        _says,
        "This model's maximum context length is {limit} tokens. However, your messages resulted in {asked} "
        "tokens. Please reduce the length of the messages.",
    ),
    "llama.cpp": (
        _says,
        "request ({asked} tokens) exceeds the available context size ({limit} tokens), try increasing it",
    ),
    "llama.cpp in a stream": (lambda message: _says(message, 500), "Context size has been exceeded."),
    "llama-cpp-python": (_says, "Requested tokens ({asked}) exceed context window of {limit}"),
    "vllm": (
        _mistral,
        "The decoder prompt (length {asked}) is longer than the maximum model length of {limit}.",
    ),
    "vllm of today": (
        lambda message: _says(message, param="input_tokens", code=400),
        "This model's maximum context length is {limit} tokens. However, your request has {asked} input "
        "tokens. Please reduce the length of the input messages. (parameter=input_tokens, value={asked})",
    ),
    "lm-studio": (
        _flat,
        "Trying to keep the first {asked} tokens when context the overflows. However, the model is loaded "
        "with context length of only {limit} tokens, which is not enough.",
    ),
    "anthropic": (_says, "prompt is too long: {asked} tokens > {limit} maximum"),
    "google": (
        _google,
        "The input token count ({asked}) exceeds the maximum number of tokens allowed ({limit}).",
    ),
    "mistral": (
        _mistral,
        "Prompt contains {asked} tokens and 0 draft tokens, too large for model with {limit} maximum context "
        "length",
    ),
    "a proxy": (
        lambda _: Fail(413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
        "",
    ),
    "tgi": (_flat, "`inputs` tokens + `max_new_tokens` must be <= {limit}. Given: {asked} `inputs` tokens"),
    "ollama": (
        lambda message: _says(message, 500),
        "prompt too long; exceeded max context length by 12 tokens",
    ),
}
OVERFLOW_VENDORS = tuple(_OVERFLOWS)


def refusal_of(body: Json, kinds: dict[Refusal, int]) -> Fail | None:
    """Return the refusal of a request by a server that refuses these kinds, each in that wording."""
    for kind, wording in kinds.items():
        if _MEETS[kind](body):
            return WORDINGS[kind][wording]
    return None


def overflow_of(vendor: str, *, limit: int, asked: int) -> Fail:
    """Return a vendor's words for a prompt that is too long."""
    form, message = _OVERFLOWS[vendor]
    return form(message.format(limit=limit, asked=asked))
