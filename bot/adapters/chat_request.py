"""Writes a request in the form that one server takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from bot.adapters.chat_quirks import Body, Quirks
from bot.core.chat import ChatMessage, Sampling

_NEUTRAL = "…"  # a user line that says nothing, in no language
_MOST_STOPS = 4  # what the strictest servers take; the caller watches for the others itself


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a model, before it is fitted to a server."""

    model: str
    messages: Sequence[ChatMessage]
    max_tokens: int
    stop: Sequence[str]
    schema: Mapping[str, object] | None
    sampling: Sampling

    def body(self, quirks: Quirks) -> Body:
        """Return the JSON body for a server with these quirks."""
        wishes: Body = {name: value for name, value in asdict(self.sampling).items() if value is not None}
        if stops := list(dict.fromkeys(stop for stop in self.stop if stop))[:_MOST_STOPS]:
            wishes["stop"] = stops
        if self.schema is not None and quirks.response_format != "none":
            wishes["response_format"] = _response_format(self.schema, quirks.response_format)
        if "stream" not in quirks.without:
            wishes |= {"stream": True, "stream_options": {"include_usage": True}}
        messages = [
            {"role": message.role, "content": message.content} for message in shape(self.messages, quirks)
        ]
        return {
            "model": self.model,
            "messages": messages,
            quirks.token_limit: self.max_tokens,
            **{name: value for name, value in wishes.items() if name not in quirks.without},
        }


def _response_format(schema: Mapping[str, object], form: str) -> Body:
    if form == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}}


def shape(messages: Sequence[ChatMessage], quirks: Quirks) -> list[ChatMessage]:
    """Return the messages in a form that a server with these quirks takes, in their order."""
    shaped = [message for message in messages if message.content.strip()]
    if quirks.system != "many":
        shaped = _lead_with_system(shaped)
    if quirks.system == "none":
        shaped = _system_as_user(shaped)
    if quirks.strict_turns:
        shaped = _alternate(shaped)
    if quirks.ends_with_user and shaped and shaped[-1].role == "assistant":
        shaped.append(ChatMessage("user", _NEUTRAL))
    return shaped


def _lead_with_system(messages: list[ChatMessage]) -> list[ChatMessage]:
    system = [message.content for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    return [ChatMessage("system", "\n\n".join(system)), *others] if system else others


def _system_as_user(messages: list[ChatMessage]) -> list[ChatMessage]:
    if not messages or messages[0].role != "system":
        return messages
    text, others = messages[0].content, messages[1:]
    if others and others[0].role == "user":
        text, others = f"{text}\n\n{others[0].content}", others[1:]
    return [ChatMessage("user", text), *others]


def _alternate(messages: list[ChatMessage]) -> list[ChatMessage]:
    turns: list[ChatMessage] = []
    for message in messages:
        if turns and turns[-1].role == message.role:
            turns[-1] = ChatMessage(message.role, f"{turns[-1].content}\n\n{message.content}")
        else:
            turns.append(message)
    start = 1 if turns and turns[0].role == "system" else 0
    if len(turns) > start and turns[start].role == "assistant":
        turns.insert(start, ChatMessage("user", _NEUTRAL))
    return turns
