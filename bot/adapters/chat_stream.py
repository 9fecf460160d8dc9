"""Reads the body of an answer as it comes: a stream of events, or one document, whatever its label says."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Final

from bot.adapters.chat_failures import words_of

_LINE_END: Final = re.compile(rb"\r\n|\n|\r(?!\Z)")
_LONGEST: Final = 16_000_000  # bytes of one line, or of a document
_DATA: Final = frozenset({"data", "error"})  # older llama.cpp puts what went wrong into lines of `error:`
_FIELDS: Final = _DATA | {"", "event", "id", "retry"}
_DONE: Final = object()


class NotAnAnswer(Exception):
    """What came is neither a stream of events nor a document. The text says what it is, in few words."""


class AnswerBody:
    """The events of one body, in order, each as the JSON it holds. `whole` says that it is one document."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self.whole = False

    async def events(self) -> AsyncGenerator[object, None]:
        """Yield them until the stream says that it is done, or ends. Raises NotAnAnswer, and what reading
        raises.
        """
        waiting: list[str] = []
        begun = False
        async with aclosing(_lines(self._pieces)) as lines:
            async for line in lines:
                name, _, value = line.partition(":")
                if not begun and line and name not in _FIELDS:
                    self.whole = True
                    yield await _document(line, lines)
                    return
                begun = begun or bool(line)
                if name in _DATA:
                    value = value.removeprefix(" ")
                    waiting.append(value if name == "data" else _as_error(value))
                elif not line and waiting:
                    for event in _parsed(waiting):
                        if event is _DONE:
                            return
                        yield event
                    waiting = []
        for event in _parsed(waiting):
            if event is not _DONE:
                yield event

    async def drain(self, seconds: float) -> None:
        """Read what comes after the end, for so long at most, so that the connection can serve again."""
        with suppress(Exception):  # whatever it is, the answer is here
            async with asyncio.timeout(seconds):
                async for _ in self._pieces:
                    pass


async def _document(first: str, lines: AsyncIterator[str]) -> object:
    text, size = [first], 0
    async for line in lines:
        size += len(line)
        if size > _LONGEST:
            raise NotAnAnswer("far too long")
        text.append(line)
    try:
        return json.loads("\n".join(text))
    except ValueError:
        raise NotAnAnswer(words_of(first)[:80] if first[:1] == "<" else "no JSON") from None


def _parsed(lines: list[str]) -> list[object]:
    """The events of these lines. Usually one; some servers leave out the empty lines between them."""
    text = "\n".join(lines)
    if not text.strip():
        return []
    if text.startswith("[DONE]"):
        return [_DONE]
    try:
        return [json.loads(text)]
    except ValueError:
        if len(lines) < 2:
            raise NotAnAnswer("an event that is no JSON") from None
        return [event for line in lines for event in _parsed([line])]


def _as_error(value: str) -> str:
    try:
        return json.dumps({"error": json.loads(value)})
    except ValueError:
        return json.dumps({"error": value})


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncGenerator[str, None]:
    """The lines by the rules of event streams. What comes in pieces is decoded in whole lines only."""
    waiting: list[bytes] = []
    size, first = 0, True
    async for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size > _LONGEST:
            raise NotAnAnswer("far too long")
        if b"\n" not in piece and b"\r" not in piece:
            continue
        *lines, rest = _LINE_END.split(b"".join(waiting))
        waiting, size = [rest] if rest else [], len(rest)
        for line in lines:
            yield _decoded(line, first)
            first = False
    if rest := b"".join(waiting):
        for line in _LINE_END.split(rest.removesuffix(b"\r")):
            yield _decoded(line, first)
            first = False


def _decoded(line: bytes, first: bool) -> str:
    text = line.decode("utf-8", "replace")
    return text.removeprefix("\ufeff") if first else text
