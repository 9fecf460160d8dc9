"""Reads a persona's past from a file: Markdown, JSON lines, or dialogues; each memory once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.core.names import fold

MOST_LINES: Final = 5000
LONGEST: Final = 2000
"""Characters of one memory."""
_ITEM: Final = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+(.*)$")
_HEADING: Final = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_TEXT_KEYS: Final = ("text", "memory", "content", "fact", "event", "summary")
_TIME_KEYS: Final = ("story_time", "when", "time", "date", "scene")
_SPEAKER_KEYS: Final = ("speaker", "name", "role", "who")
_PAIRS: Final = (
    ("user", "assistant"),
    ("question", "answer"),
    ("prompt", "response"),
    ("input", "output"),
    ("human", "gpt"),
)
_TALKS: Final = ("dialogue", "dialog", "conversation", "conversations", "messages")


@dataclass(frozen=True, slots=True)
class BankEntry:
    """One memory: what, when in the story (empty: unknown), who said it (empty: nobody)."""

    text: str
    when: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Bank:
    """What a file held. `merged` counts repeats, `cut` memories that were too long, `broken` are the numbers
    (from 1) of JSON lines that cannot be read."""

    entries: tuple[BankEntry, ...]
    merged: int = 0
    cut: int = 0
    broken: tuple[int, ...] = ()


def read_bank(text: str) -> Bank:
    """Return the memories of a file, repeats merged. ValueError, with a sentence, when there are none or
    more than 5,000 lines of them."""
    found: dict[str, BankEntry] = {}
    total = cut = 0
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    broken: list[int] = []
    for entry in _entries(text, broken):
        total += 1
        if total > MOST_LINES:
            raise ValueError(f"This file holds more than {MOST_LINES:,} memories. Please send it in parts.")
        shown = BankEntry(_shortened(entry.text, LONGEST), _shortened(entry.when, 200), entry.speaker[:80])
        cut += len(entry.text.strip()) > LONGEST
        found.setdefault(fold(f"{shown.speaker}: {shown.text}"), shown)
    if not found:
        raise ValueError("This file holds no memories.")
    return Bank(tuple(found.values()), merged=total - len(found), cut=cut, broken=tuple(broken))


def entries_of(memories: object) -> tuple[BankEntry, ...]:
    """Return the memories that a card carries in its extensions; what is odd is left out."""
    listed = memories if isinstance(memories, list) else []
    entries = (entry for one in listed[:MOST_LINES] for entry in _from_json(one))
    return tuple(entry for entry in entries if entry.text.strip())


def written(entries: Sequence[BankEntry]) -> list[dict[str, str]]:
    """Return memories as a card carries them."""
    return [
        {
            key: value
            for key, value in (("text", one.text), ("when", one.when), ("speaker", one.speaker))
            if value
        }
        for one in entries
    ]


def _entries(text: str, broken: list[int]) -> Iterator[BankEntry]:
    """Read the memories one by one; the numbers of JSON lines that cannot be read come into `broken`."""
    first = text.lstrip().partition("\n")[0]
    start = text.lstrip()[:1]
    found: Iterator[BankEntry]
    if start == "[" and _is_json(text):
        found = (entry for one in json.loads(text) for entry in _from_json(one))
    elif start == "{" and _is_json(first):
        found = _from_json_lines(text, broken)
    elif start == "{" and _is_json(text):
        found = _from_json(json.loads(text))
    else:
        found = _from_markdown(text)
    return (entry for entry in found if entry.text.strip())


def _from_json_lines(text: str, broken: list[int]) -> Iterator[BankEntry]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            one = _loaded(line)
            if one is None:
                broken.append(number)
            yield from _from_json(one)


def _is_json(text: str) -> bool:
    return _loaded(text) is not None


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _from_json(one: object) -> Iterator[BankEntry]:
    if isinstance(one, str):
        yield BankEntry(one.strip())
    if not isinstance(one, Mapping):
        return
    when, speaker = _first(one, _TIME_KEYS), _first(one, _SPEAKER_KEYS)
    for first, second in _PAIRS:
        if isinstance(one.get(first), str) and isinstance(one.get(second), str):
            yield BankEntry(f"{first}: {one[first].strip()}\n{second}: {one[second].strip()}", when)
            return
    for key in _TALKS:
        if isinstance(one.get(key), list):
            said = [_said(line) for line in one[key]]
            yield BankEntry("\n".join(line for line in said if line), when)
            return
    text = _first(one, _TEXT_KEYS)
    if text:
        yield BankEntry(text, when, speaker)


def _said(line: object) -> str:
    if isinstance(line, str):
        return line.strip()
    if not isinstance(line, Mapping):
        return ""
    who, what = _first(line, (*_SPEAKER_KEYS, "from")), _first(line, (*_TEXT_KEYS, "value"))
    return f"{who}: {what}" if who and what else what


def _first(one: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((one[key].strip() for key in keys if isinstance(one.get(key), str) and one[key].strip()), "")


def _from_markdown(text: str) -> Iterator[BankEntry]:
    """A list item is a memory, and so is a paragraph; a heading says when."""
    when = ""
    block: list[str] = []
    for line in [*text.split("\n"), ""]:
        heading, item = _HEADING.match(line), _ITEM.match(line)
        if (not line.strip() or heading or item) and block:
            yield BankEntry("\n".join(block).strip(), when)
            block = []
        if heading:
            when = heading[1].strip()
        elif item:
            block = [item[1].strip()]
        elif line.strip():
            block.append(line.strip())


def _shortened(text: str, longest: int) -> str:
    text = text.strip()
    return text if len(text) <= longest else text[:longest].rsplit(" ", 1)[0].rstrip() + " …"
