"""What pictures are drawn of, and what comes back: plain values that pass between processes as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bot.core.emotion import as_list, strongest
from bot.core.types import Memory, MemoryKind

LABELLED: Final = 5
LONGEST_LABEL: Final = 42
_APART: Final = 6
"""Labels stand so many turns apart at least."""
_STRONG: Final = 4.0


@dataclass(frozen=True, slots=True)
class Wheel:
    """One persona's mood over its temperament: eight intensities each, from 1 to 10, in the usual order."""

    name: str
    mood: tuple[float, ...]
    temperament: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A scene's feelings, turn by turn, and its strongest memories as (turn's position, words)."""

    title: str
    feelings: tuple[tuple[float, ...], ...]
    labels: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Days:
    """Tokens by day: a label for each day, and for each series its name and as many values."""

    title: str
    labels: tuple[str, ...]
    series: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG, and what the numbers in it stand for (names that the font cannot write)."""

    png: bytes
    legend: tuple[tuple[int, str], ...] = ()


DrawWheels = Callable[[Sequence[Wheel]], Awaitable[Picture | None]]
DrawTimeline = Callable[[Timeline], Awaitable[Picture | None]]
DrawDays = Callable[[Days], Awaitable[Picture | None]]
"""None when it could not be drawn: words must do."""


def timeline(title: str, memories: Sequence[Memory]) -> Timeline:
    """Return the timeline of a scene's turns, oldest first; those of unknown feeling are left out."""
    felt = [memory for memory in memories if memory.emotion is not None and memory.kind is MemoryKind.TURN]
    strength = [strongest(memory.emotion, 1)[0][1] for memory in felt if memory.emotion is not None]
    labels: dict[int, str] = {}
    for at in sorted(range(len(felt)), key=lambda at: (-strength[at], at)):
        if len(labels) >= LABELLED or strength[at] < _STRONG:
            break
        if all(abs(at - other) >= _APART for other in labels):
            labels[at] = _label(felt[at])
    points = tuple(tuple(as_list(memory.emotion)) for memory in felt if memory.emotion is not None)
    return Timeline(title, points, tuple(sorted(labels.items())))


def _label(memory: Memory) -> str:
    text = " ".join(f"{memory.speaker}: {memory.text}".split())
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1].rstrip()}…"
