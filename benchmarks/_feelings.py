"""Reads the invented personas of `benchmarks/feelings/`: what they remember, and what they are asked."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bot.core.emotion import EMOTIONS

FOLDER: Final = Path(__file__).parent / "feelings"
MOODS: Final = "moods.toml"
KINDS: Final = ("relevant", "irrelevant", "comfort")
LOW: Final = ("sadness", "fear", "sadness", "anger")
"""The moods of queries that ask for comfort, in turn."""


@dataclass(frozen=True, slots=True)
class Told:
    """A memory: who said it, what it was written to feel like, and the words."""

    speaker: str
    feeling: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A query in a mood, and the position of the memory that it should bring up first."""

    kind: str
    text: str
    gold: int
    before: tuple[str, ...]
    """What the member said just before: it makes the mood."""


@dataclass(frozen=True, slots=True)
class Character:
    """One persona with all that it remembers."""

    name: str
    description: str
    member: str
    memories: tuple[Told, ...]
    queries: tuple[Asked, ...]


def read(folder: Path = FOLDER) -> list[Character]:
    """Return the personas. ValueError for a feeling that is none of the eight."""
    moods = tomllib.loads((folder / MOODS).read_text(encoding="utf-8"))
    files = sorted(file for file in folder.glob("*.toml") if file.name != MOODS)
    return [_character(tomllib.loads(file.read_text(encoding="utf-8")), moods) for file in files]


def _character(found: Mapping[str, Any], moods: Mapping[str, Sequence[Sequence[str]]]) -> Character:
    memories = tuple(Told(*told) for topic in found["topic"] for told in topic["memories"])
    unknown = {told.feeling for told in memories} - set(EMOTIONS)
    if unknown:
        raise ValueError(f"{found['persona']} remembers with unknown feelings: {sorted(unknown)}")
    queries = tuple(_queries(found["topic"], memories, moods))
    return Character(found["persona"], found["description"], found["member"], memories, queries)


def _queries(
    topics: Sequence[Mapping[str, Any]],
    memories: Sequence[Told],
    moods: Mapping[str, Sequence[Sequence[str]]],
) -> Iterator[Asked]:
    """Moods and the words that make them take turns, so that none belongs to a topic."""
    first = number = 0
    for topic in topics:
        for kind in KINDS:
            for place, given in enumerate(topic[kind]):
                text, gold = (given, place) if kind == "relevant" else given
                mood = _mood(kind, number, memories[first + gold].feeling)
                before = moods[mood][number % len(moods[mood])]
                yield Asked(kind, text, first + gold, tuple(before))
                number += 1
        first += len(topic["memories"])


def _mood(kind: str, number: int, of_gold: str) -> str:
    if kind == "relevant":
        return of_gold
    if kind == "comfort":
        return LOW[number % len(LOW)]
    others = [emotion for emotion in EMOTIONS if emotion != of_gold]
    return others[number % len(others)]
