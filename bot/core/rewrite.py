"""Reads a model's rewrite of the scratchpad: notes with their source turns, facts, triggers, feelings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bot.core import loose_json
from bot.core.emotion import Vector
from bot.core.names import fold
from bot.core.note_text import note_text, section_of
from bot.core.refusals import is_refusal
from bot.core.scratchpad import MOST_LINES, SECTIONS, STANDING
from bot.core.scripts import main_script
from bot.core.tokens import tokens
from bot.core.turn_emotions import parse_emotions, read_emotions
from bot.core.turn_numbers import chosen, numbers
from bot.core.types import Line, Trigger

__all__ = ["REWRITE_SCHEMA", "Fact", "Refused", "Rewrite", "Trigger", "parse_emotions", "parse_rewrite"]

LONGEST_ANSWER: Final = 24_000
MOST_FACTS: Final = 40
MOST_TRIGGERS: Final = 20
_SHARED: Final = 0.5
"""A new note that shares this much of its words with a replaced one comes from that one's turns too."""


def _listed(properties: dict[str, object], required: list[str]) -> dict[str, object]:
    return {"type": "array", "items": {"type": "object", "properties": properties, "required": required}}


_INTEGERS: Final = {"type": "array", "items": {"type": "integer"}}
_STRING: Final = {"type": "string"}
_SECTION: Final = {"type": "string", "enum": list(SECTIONS)}
REWRITE_SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {
        "keep": _INTEGERS,
        "lines": _listed(
            {"section": _SECTION, "text": _STRING, "turns": _INTEGERS, "from": _INTEGERS},
            ["section", "text", "turns"],
        ),
        "facts": _listed(
            {
                "about": _STRING,
                "kind": {"type": "string", "enum": ["person", "place", "thing", "oath", "debt"]},
                "text": _STRING,
                "turns": _INTEGERS,
                "when": _STRING,
                "replaces": _INTEGERS,
            },
            ["about", "text", "turns"],
        ),
        "triggers": _listed({"text": _STRING, "turns": _INTEGERS}, ["text", "turns"]),
        "emotions": _listed({"turn": {"type": "integer"}, "scores": _INTEGERS}, ["turn", "scores"]),
    },
    "required": ["keep", "lines", "facts", "triggers", "emotions"],
}
"""The form of the answer, for servers that take a JSON schema."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something lasting about a person, place or thing, and when in the story it came to be."""

    about: str
    text: str
    sources: tuple[int, ...]
    story_date: str = ""
    kind: str = ""
    """The answer's word for what it is about: person, place, thing, oath or debt."""
    replaces: tuple[int, ...] = ()
    """Ids of older facts that it makes untrue."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """New notes. `replaced` are the old lines that are not among them, to be kept as snapshots."""

    lines: tuple[Line, ...]
    replaced: tuple[Line, ...]
    facts: tuple[Fact, ...]
    emotions: Mapping[int, Vector]
    triggers: tuple[Trigger, ...]

    @property
    def standing(self) -> tuple[Line, ...]:
        """The lines that say how members want it played."""
        return tuple(line for line in self.lines if line.section == STANDING)


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer is no rewrite; the notes stay as they are, and the turns stay uncovered."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Given:
    """What the answer refers to by number."""

    turn_ids: tuple[int, ...]
    current: tuple[Line, ...]
    known: tuple[int, ...] = ()

    def sources(self, value: Any) -> tuple[int, ...]:
        """The turns named; all of the batch when none is named well."""
        return chosen(value, self.turn_ids) or self.turn_ids


def parse_rewrite(
    text: str,
    *,
    turn_ids: Sequence[int],
    current: Sequence[Line],
    known: Sequence[int] = (),
    texts: Sequence[str] = (),
    truncated: bool = False,
) -> Rewrite | Refused:
    """Read an answer over turns numbered from 1 (`turn_ids`) and notes numbered from 1 (`current`).

    Every line's sources are turn ids and never empty. Kept lines keep theirs; a line made from old ones
    takes theirs over. Notes about how to play stay until the answer drops or replaces them by number.
    `known` are the ids of the facts that were shown, numbered from 1.
    `texts` are the turns' texts: notes in another script than theirs are refused.
    """
    refused = _unreadable(text, truncated)
    if refused:
        return Refused(refused)
    answer = next((found for found in map(_as_answer, loose_json.read_all(text)) if found), None)
    if answer is None:
        return Refused("it refuses" if is_refusal(text) else "it holds no notes")
    given = _Given(tuple(turn_ids), tuple(current), tuple(known))
    fresh = list(_lines(answer, given))
    kept = _kept(answer, fresh, given)
    if kept is None:
        return Refused("it says nothing about the notes")
    lines, replaced = _joined(fresh, kept, given)
    if not lines:
        return Refused("it would leave no notes")
    written, heard = main_script(" ".join(line.text for line, _ in fresh)), main_script(" ".join(texts))
    if written and heard and written != heard:
        return Refused("it is in another language than the chat")
    return Rewrite(
        lines=lines,
        replaced=replaced,
        facts=tuple(_facts(answer, given))[:MOST_FACTS],
        emotions=read_emotions(answer.get("emotions"), ids=given.turn_ids),
        triggers=tuple(_triggers(answer, given))[:MOST_TRIGGERS],
    )


def _unreadable(text: str, truncated: bool) -> str | None:
    if not text.strip():
        return "it is empty"
    if truncated:
        return "it was cut off"
    return "it is too long" if len(text) > LONGEST_ANSWER else None


_LINE_KEYS: Final = ("lines", "new_lines", "new", "notes", "scratchpad", "updated", "changed")
_KNOWN: Final = frozenset({*_LINE_KEYS, "keep", "kept", "drop", "dropped", "remove", "facts", *SECTIONS})


def _as_answer(value: Any) -> dict[str, Any] | None:
    """Return the object that holds the known keys, itself or one level down; a bare list is its lines."""
    if isinstance(value, list):
        return (
            {"lines": value} if any(isinstance(item, Mapping) and "text" in item for item in value) else None
        )
    if not isinstance(value, Mapping):
        return None
    plain = {str(key).strip().casefold(): part for key, part in value.items()}
    if _KNOWN & plain.keys():
        inner = plain.get("notes") or plain.get("scratchpad")
        if isinstance(inner, Mapping) and not {"lines", "keep"} & plain.keys():
            return {**plain, **{str(key).strip().casefold(): part for key, part in inner.items()}}
        return plain
    return next((found for part in plain.values() if (found := _as_answer(part))), None)


def _items(answer: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every new note as (section, item): from the list of lines, or listed under its section."""
    for key in _LINE_KEYS:
        part = answer.get(key)
        for item in part if isinstance(part, list) else ():
            yield section_of(item.get("section")) if isinstance(item, Mapping) else "events", item
    for section in SECTIONS:
        part = answer.get(section)
        for item in part if isinstance(part, list) else [part] if isinstance(part, (str, Mapping)) else ():
            yield section, item


def _lines(answer: Mapping[str, Any], given: _Given) -> Iterator[tuple[Line, tuple[int, ...]]]:
    """Yield the new notes, each with the numbers of the old ones it says it comes from."""
    for section, item in _items(answer):
        entry = item if isinstance(item, Mapping) else {"text": item}
        text = note_text(entry.get("text", entry.get("note", entry.get("line"))))
        if text:
            old = numbers(entry.get("from", entry.get("replaces")), len(given.current))
            yield Line(section, text, given.sources(entry.get("turns", entry.get("sources")))), old


def _kept(
    answer: Mapping[str, Any], fresh: Sequence[tuple[Line, tuple[int, ...]]], given: _Given
) -> set[int] | None:
    """Return the positions of the old notes that stay, or None when the answer does not say."""
    keep, drop = answer.get("keep", answer.get("kept")), answer.get("drop", answer.get("dropped"))
    drop = answer.get("remove") if drop is None else drop
    every = set(range(len(given.current)))
    repeated = {position for position in every if _repeats(given.current[position], keep)}
    said_again = {position for line, _ in fresh for position in every if _same(line, given.current[position])}
    gone = {n - 1 for n in numbers(drop, len(every))} | {n - 1 for _, old in fresh for n in old}
    if isinstance(keep, str) and keep.strip().casefold() == "all":
        kept = every - gone
    elif keep is not None:
        kept = {n - 1 for n in numbers(keep, len(every))} | repeated
    elif drop is not None or (fresh and not said_again):
        kept = every - gone
    else:
        kept = set()
    if not fresh and not kept:
        return None
    staying = {position for position in every - gone if given.current[position].section == STANDING}
    return (kept - {n - 1 for _, old in fresh for n in old}) | staying | said_again


def _repeats(line: Line, keep: Any) -> bool:
    texts = [item for item in keep if isinstance(item, str)] if isinstance(keep, list) else []
    return any(fold(note_text(text)) == fold(line.text) for text in texts)


def _same(one: Line, other: Line) -> bool:
    return fold(one.text) == fold(other.text)


def _joined(
    fresh: Sequence[tuple[Line, tuple[int, ...]]], kept: set[int], given: _Given
) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """Return the new list of notes, kept ones first, and the old ones that are gone from it."""
    gone = [line for position, line in enumerate(given.current) if position not in kept]
    lines = [line for position, line in enumerate(given.current) if position in kept]
    for line, old in fresh:
        origins = [given.current[n - 1] for n in old] + [one for one in gone if _shares(line, one)]
        sources = {*line.sources, *(source for origin in origins for source in origin.sources)}
        twin = next((at for at, other in enumerate(lines) if _same(line, other)), None)
        if twin is None:
            lines.append(replace(line, sources=tuple(sorted(sources))))
        else:
            lines[twin] = replace(lines[twin], sources=tuple(sorted({*lines[twin].sources, *sources})))
    while len(lines) > MOST_LINES:
        oldest = next((line for line in lines if line.section != STANDING), lines[0])
        lines.remove(oldest)
    order = list(SECTIONS)
    lines.sort(key=lambda line: order.index(line.section) if line.section in order else len(order))
    texts = {_words(line.text) for line in lines}
    replaced = tuple(line for line in given.current if _words(line.text) not in texts)
    return tuple(lines), replaced


def _words(text: str) -> frozenset[str]:
    return frozenset(tokens(text)) or frozenset({fold(text)})


def _shares(new: Line, old: Line) -> bool:
    """Tell whether a new note tells much of what an old one told."""
    one, other = _words(new.text), _words(old.text)
    return len(one & other) >= _SHARED * min(len(one), len(other))


def _facts(answer: Mapping[str, Any], given: _Given) -> Iterator[Fact]:
    seen: set[str] = set()
    for item in _list(answer.get("facts")):
        entry = item if isinstance(item, Mapping) else {"text": item}
        text = note_text(entry.get("text", entry.get("fact")))
        if text and fold(text) not in seen:
            seen.add(fold(text))
            when = entry.get("when", entry.get("story_date", entry.get("date")))
            sources = given.sources(entry.get("turns", entry.get("sources")))
            yield Fact(
                about=_short(entry.get("about", entry.get("subject"))),
                text=text,
                sources=sources,
                story_date=_short(when),
                kind=_short(entry.get("kind", entry.get("type"))).casefold(),
                replaces=chosen(entry.get("replaces", entry.get("supersedes")), given.known),
            )


def _triggers(answer: Mapping[str, Any], given: _Given) -> Iterator[Trigger]:
    for item in _list(answer.get("triggers")):
        entry = item if isinstance(item, Mapping) else {"text": item}
        text = note_text(entry.get("text", entry.get("when", entry.get("trigger"))))
        if text:
            yield Trigger(text, given.sources(entry.get("turns", entry.get("sources"))))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _short(value: Any) -> str:
    return " ".join(value.split())[:80] if isinstance(value, str) else ""
