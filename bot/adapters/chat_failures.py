"""Reads what went wrong with a model server out of its answer, and names it in our own errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum, auto

from bot.adapters import chat_wordings as wordings
from bot.errors import ContextOverflow, ModelError, ModelMisconfigured, ModelRefused, ModelUnavailable

_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_WHERE = " Is the address whole (it often ends in /v1)?"
_TOLD = 300  # characters of a server's own words that we pass on
_READ = 8_000  # characters of them that we look at
_WORDS_AT = (
    *("message", "msg", "detail", "error", "errors", "reason"),
    *("type", "code", "param", "loc", "metadata", "raw"),
)


class Trouble(Enum):
    """In which way a call failed."""

    STATUS = auto()  # the server answered with an error
    CONNECTION = auto()  # no connection, or it broke
    TIMEOUT = auto()  # nothing came in time
    GARBAGE = auto()  # an answer came that is none of ours


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt. `text` is the server's own words, freed from secrets."""

    trouble: Trouble
    status: int = 0
    text: str = ""
    retry_after: float | None = None
    limit: int | None = None

    @property
    def label(self) -> str:
        """One word for the log."""
        return str(self.status) if self.trouble is Trouble.STATUS else self.trouble.name.lower()

    @property
    def overflow(self) -> bool:
        """True when the prompt was too long."""
        return self.status == 413 or bool(self.status != 429 and wordings.OVERFLOW.search(self.text))

    @property
    def final(self) -> bool:
        """True when neither waiting nor leaving something out can help."""
        return (
            self.overflow
            or self.status in {401, 402, 403}
            or bool(wordings.FILTERED.search(self.text))
            or self.wrong_key
            or bool(self.status in {200, 400, 404} and wordings.NO_MODEL.search(self.text))
            or bool(self.status == 429 and wordings.NO_MONEY.search(self.text))
        )

    @property
    def wrong_key(self) -> bool:
        """True when the key was refused; Google says so with status 400."""
        return self.status == 401 or bool(self.status == 400 and wordings.WRONG_KEY.search(self.text))

    @property
    def retried(self) -> bool:
        """True when the same request may work a little later."""
        return not self.final and (self.trouble is not Trouble.STATUS or self.status in _RETRIED)

    def as_error(self, server: str) -> ModelError:
        """Return the error that a caller gets when this failure is the last word."""
        if self.overflow:
            limit = self.limit or _limit_in(self.text)
            return ContextOverflow(f"The prompt is too long for the model at {server}.", limit=limit)
        if self.trouble is Trouble.CONNECTION:
            return ModelUnavailable(f"No connection to the language model at {server} ({self.text}).")
        if self.trouble is Trouble.TIMEOUT:
            return ModelUnavailable(f"The language model at {server} did not answer in time ({self.text}).")
        if self.trouble is Trouble.GARBAGE:
            return ModelUnavailable(f"{server} did not answer like a language model: {self.text}.")
        return self._status_error(server)

    def _status_error(self, server: str) -> ModelError:
        told = f"{server} answered {self.status}: {self.text[:_TOLD]}"
        if self.status not in {401, 402} and wordings.FILTERED.search(self.text):
            return ModelRefused(f"The server's content filter refused. {told}")
        if self.wrong_key:
            return ModelMisconfigured(f"The language model's key was refused. {told}")
        if self.status == 402 or wordings.NO_MONEY.search(self.text):
            return ModelMisconfigured(f"The account of the language model has no credit. {told}")
        if self.status in {403, 404, 405} or wordings.NO_MODEL.search(self.text):
            known = wordings.MODEL.search(self.text) or self.status == 403 or "/v1)" in self.text
            hint = "" if known else _WHERE
            return ModelMisconfigured(f"The language model's address, name or rights are wrong. {told}{hint}")
        if self.status in _RETRIED or self.status >= 500:
            return ModelUnavailable(f"The language model is not available. {told}")
        return ModelRefused(f"The server refused the request. {told}")


def read_failure(
    status: int, body: object, headers: Mapping[str, str], *, secrets: Iterable[str] = ()
) -> Failure:
    """Return the failure that an error answer describes; `body` is parsed JSON or text of any kind."""
    return Failure(
        Trouble.STATUS,
        status=status,
        text=scrub(words_of(body), secrets),
        retry_after=_retry_after(headers),
        limit=_stated_limit(body),
    )


def words_of(body: object) -> str:
    """Return what an error body says, without the parts of the request that some servers repeat."""
    if isinstance(body, Mapping):
        return " | ".join(filter(None, (words_of(body[key]) for key in _WORDS_AT if body.get(key))))
    if isinstance(body, list | tuple):
        return " | ".join(filter(None, map(words_of, body[:10])))
    text = str(body).strip() if isinstance(body, str | int) else ""
    if text[:1] in "{[" and (inner := _parsed(text)) is not None:
        return words_of(inner)
    if re.match(r"<(!doctype|html|head|body|\?xml)", text, re.IGNORECASE):
        return "a web page instead of an answer; is the address right (it often ends in /v1)?"
    return re.sub(r"""['"]input['"]:.*""", "", text[:_READ], flags=re.DOTALL)


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Return `text` without the given secrets and without what looks like a key."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "***")
    return re.sub(r"\b(sk|pk|key|gsk|xai|AIza)[-_][\w*.-]{6,}|(?<=earer )\S{8,}", "***", text)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _stated_limit(body: object) -> int | None:
    """Return the context size that llama.cpp puts beside its message."""
    if not isinstance(body, Mapping):
        return None
    limit = body.get("n_ctx")
    return limit if isinstance(limit, int) and limit > 0 else _stated_limit(body.get("error"))


def _limit_in(text: str) -> int | None:
    for pattern in wordings.LIMITS:
        if found := pattern.search(text):
            return int(found.group(1))
    return None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds a server asks us to wait: a number, or a date against its own clock."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000)
        value = headers.get("retry-after")
        if not value:
            return None
        if re.fullmatch(r"\d+(\.\d+)?", value.strip()):
            return float(value)
        then, now = parsedate_to_datetime(value), parsedate_to_datetime(headers["date"])
        return max(0.0, (then - now).total_seconds())
    except (ValueError, KeyError, TypeError):
        return None
