"""Reads almost-JSON: single quotes, bare words, trailing commas, prose around it, a cut end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from bot.core.scripts import whole_characters

LONGEST: Final = 100_000
DEEPEST: Final = 24
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_BARE = re.compile(r"[^\s,:={}\[\]()\"'“”]+")
_SPACE = re.compile(r"(?:[\s,;]|//[^\n]*)*")
_OPENING = re.compile(r"[{\[]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_CLOSES: Final = {"{": "}", "[": "]", "(": ")"}
_QUOTES: Final = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’"}
_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None, "none": None}


def read(text: str) -> Any:
    """Return the first object or list of the text that is not empty, or None."""
    return next(read_all(text), None)


def read_all(text: str) -> Iterator[Any]:
    """Yield every outermost object or list that is not empty, strictly read where possible, else loosely.

    Never raises; text beyond 100,000 characters is not looked at.
    """
    text = text[:LONGEST]
    start = _OPENING.search(text)
    while start is not None:
        value, end = _read_at(text, start.start())
        if value:
            yield _storable(value)
        start = _OPENING.search(text, max(end, start.start() + 1))


def _read_at(text: str, at: int) -> tuple[Any, int]:
    try:
        value, end = json.JSONDecoder().raw_decode(text, at)
        return value, end
    except (ValueError, RecursionError):
        reader = _Reader(text, at)
        return reader.value(0), reader.at


def _storable(value: Any, depth: int = 0) -> Any:
    """Copy JSON without what no database can hold: escapes of half characters, NUL; too deep is None."""
    if isinstance(value, str):
        return _storable_text(value)
    if isinstance(value, dict):
        return {
            _storable_text(key): None if depth > DEEPEST else _storable(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [] if depth > DEEPEST else [_storable(item, depth + 1) for item in value]
    return value


def _storable_text(text: str) -> str:
    return whole_characters(text).replace("\0", "")


def _unescaped(found: re.Match[str]) -> str:
    code, character = found.groups()
    return chr(int(code, 16)) if code else _ESCAPES.get(character, character)


class _Reader:
    """One pass over the text; every method leaves `at` further on or at the end."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def value(self, depth: int) -> Any:
        character = self.text[self.at : self.at + 1]
        if character in ("{", "[", "("):
            if depth > DEEPEST:
                self.at = len(self.text)
                return None
            return self.mapping(depth) if character == "{" else self.listing(depth)
        if character in _QUOTES:
            return self.quoted()
        return self.bare()

    def skip(self) -> str:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def mapping(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        self.at += 1
        while (character := self.skip()) and character not in "}])":
            name = self.value(depth + 1)
            if self.skip() in (":", "=") and self.at < len(self.text):
                self.at += 1
                if self.skip() in ("", "}", "]", ")"):
                    break
                result[str(name)] = self.value(depth + 1)
            elif isinstance(name, dict):
                result.update(name)
        self.at += 1
        return result

    def listing(self, depth: int) -> list[Any]:
        result: list[Any] = []
        closing = _CLOSES[self.text[self.at]]
        self.at += 1
        while (character := self.skip()) and character != closing:
            if character in "}]):=":
                self.at += 1
                continue
            result.append(self.value(depth + 1))
        self.at += 1
        return result

    def quoted(self) -> str:
        """Read to a closing quote that ends a value: an apostrophe inside a word does not."""
        closing = _QUOTES[self.text[self.at]]
        ends = re.compile(re.escape(closing) + r"(?=\s*(?:[,:=}\])]|$))")
        found = ends.search(self.text, self.at + 1)
        end = found.start() if found else len(self.text)
        value = self.text[self.at + 1 : end]
        self.at = end + 1
        return _ESCAPE.sub(_unescaped, value)

    def bare(self) -> Any:
        number = _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end()
            return float(number.group())
        word = _BARE.match(self.text, self.at)
        if word is None:
            self.at += 1
            return None
        self.at = word.end()
        return _WORDS.get(word.group().lower(), word.group())
