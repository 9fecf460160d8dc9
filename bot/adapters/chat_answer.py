"""Gathers a server's answer, whole or in chunks, of whatever dialect, into one completion."""

from __future__ import annotations

import json
from collections.abc import Mapping

from bot.core.chat import Completion, Usage
from bot.core.scripts import whole_characters
from bot.core.thoughts import ThoughtFilter

_CUT = frozenset({"length", "max_tokens", "model_length", "error"})
_TEXT_PARTS = frozenset({"text", "output_text", None})
_FILTERED = frozenset({"content_filter", "safety", "prohibited_content", "recitation", "refusal"})


class Answer:
    """One answer as it arrives. Missing and null fields are nothing unusual and never an error."""

    def __init__(self, *, model: str, headless_thoughts: bool | None) -> None:
        self._thoughts = ThoughtFilter(hold_start=headless_thoughts is not False)
        self._headless_before = headless_thoughts
        self._model = model
        self._finish_reason: str | None = None
        self._usage: Usage | None = None
        self._reasoning_apart = False
        self._refusal = ""
        self._half = ""  # the first half of a character that came in two
        self._closed = False
        self.begun = False
        self.error: object = None
        """What the server said went wrong, where it says so inside an answer."""
        self.foreign: object = None
        """What came in place of an answer, as long as nothing of one came."""
        self._any_choices = False

    @property
    def finished(self) -> bool:
        """True once the server has said why the text ends; only `usage` may still follow."""
        return self._finish_reason is not None

    @property
    def usage(self) -> Usage | None:
        """What the server counted, if it did."""
        return self._usage

    @property
    def filtered(self) -> bool:
        """True when a filter, or the model itself by the protocol, refused to answer."""
        return bool(self._refusal) or (self._finish_reason or "").lower() in _FILTERED

    @property
    def thought(self) -> bool:
        """True when thoughts came, in a field of their own or in tags."""
        return self._reasoning_apart or self._thoughts.opened or self._thoughts.headless

    @property
    def headless_thoughts(self) -> bool | None:
        """What this answer teaches: whether thoughts come without an opening tag; None for nothing."""
        if self._thoughts.headless:
            return True
        if self._reasoning_apart or self._thoughts.opened:
            return False
        proved = self.finished and not self._cut and not self._closed and bool(self._thoughts.text.strip())
        return False if proved and self._headless_before is None else None

    def take(self, chunk: object) -> str:
        """Take one chunk, or a whole answer, and return what became visible by it."""
        if not isinstance(chunk, Mapping):
            return ""
        self._take_usage(chunk.get("usage"))
        if isinstance(model := chunk.get("model"), str) and model:
            self._model = model
        if "choices" in chunk:
            self.foreign, self._any_choices = None, True
        elif not self._any_choices:
            self.foreign = chunk
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return ""
        return self._take_choice(choices[0])

    def end(self) -> str:
        """Say that nothing more comes, and return what became visible by it."""
        return self._thoughts.finish()

    def close(self) -> None:
        """Say that the caller wants no more."""
        self._closed = True

    def completion(self) -> Completion:
        """Return what came so far."""
        text = self._thoughts.text
        if self._headless_before and self._cut and not self._thoughts.headless:
            text = ""  # cut off inside a thought whose opening is never sent
        return Completion(
            text=text,
            finish_reason="closed" if self._closed else self._finish_reason,
            usage=self._usage,
            model=self._model,
            truncated=self._cut and not self._closed,
        )

    @property
    def _cut(self) -> bool:
        return self._finish_reason is None or self._finish_reason.lower() in _CUT | _FILTERED

    def _take_choice(self, choice: Mapping[str, object]) -> str:
        delta, shown = choice.get("delta"), ""
        if not isinstance(delta, Mapping) and not self.begun:  # some repeat the whole message at the end
            delta = choice.get("message")
        if isinstance(delta, Mapping):
            if delta.get("reasoning_content") or delta.get("reasoning"):
                self._reasoning_apart = self.begun = True
            if isinstance(refusal := delta.get("refusal"), str):
                self._refusal += refusal
            shown = self._take_text(_text_of(delta.get("content")) or _text_of(choice.get("text")))
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self._finish_reason = reason
        failed = "the model failed" if reason == "error" else None  # KoboldCpp says no more than that
        self.error = choice.get("error") or self.error or failed  # OpenRouter, when the one behind it failed
        return shown

    def _take_text(self, text: str) -> str:
        if not text:
            return ""
        self.begun = True
        text, self._half = _without_half(self._half + text)
        return self._thoughts.feed(text)

    def _take_usage(self, usage: object) -> None:
        if not isinstance(usage, Mapping):
            return
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if isinstance(prompt, int) and isinstance(completion, int) and prompt + completion > 0:
            self._usage = Usage(prompt_tokens=prompt, completion_tokens=completion)


def error_in(answer: object) -> object:
    """Return what an answer says went wrong, if it does: under `error`, or being an error itself."""
    if isinstance(answer, list) and len(answer) == 1:  # Google
        answer = answer[0]
    if not isinstance(answer, Mapping):
        return None
    whole = answer if str(answer.get("object", "")).lower() == "error" else None  # vLLM, Mistral
    return answer.get("error") or whole


def _without_half(text: str) -> tuple[str, str]:
    """Return the text with its characters put together, and the half of one at its end."""
    half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
    return whole_characters(text[: len(text) - len(half)]), half


def is_whole_json(text: str) -> bool:
    """Whether the text holds one object that ends."""
    try:
        return isinstance(json.loads(text[text.find("{") : text.rfind("}") + 1]), dict)
    except ValueError:
        return False


def _text_of(content: object) -> str:
    """Return the text of a content that is a string or a list of parts; thinking parts have none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part for part in content if isinstance(part, Mapping) and part.get("type") in _TEXT_PARTS)
    return "".join(text for part in parts if isinstance(text := part.get("text"), str))
