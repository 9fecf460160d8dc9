"""What recall takes and gives: candidates, the query, the settings, and memories with their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bot.core.strategies import Strategy
from bot.core.vectors import Vector

DEFAULT_WEIGHT: Final = 0.2
LARGEST_WEIGHT: Final = 0.5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that words or meaning brought up, inside the scope already.

    `cosine` and `d_sem` are None where no vector is there yet; of the two, one may be given alone.
    `emotion` is None when unknown, else eight intensities from 1 to 10.
    """

    memory_id: int
    text: str
    speaker: str
    created_at: datetime
    kind: str = "turn"
    bm25: float = 0.0
    bm25_context: float = 0.0
    cosine: float | None = None
    d_sem: float | None = None
    emotion: Vector | None = None
    emotion_source: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """What to recall for: the newest words, the two lexical ceilings, and the feeling.

    `emotion` is what memories are compared with (`mood.query_emotion`), None when unknown; `mood` the
    persona's own, which must stand out for feeling to count. A `mood` of None leaves that to `emotion`.
    """

    text: str
    ceiling: float = 1.0
    ceiling_context: float = 1.0
    emotion: Vector | None = None
    mood: Vector | None = None


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """The settings `recall_strategy`, `emotion_weight` (0 to 0.5) and `recall_tokens`."""

    strategy: Strategy = Strategy.BALANCED
    emotion_weight: float = DEFAULT_WEIGHT
    tokens: int = 700
    most: int = 20
    """No more than this many memories, however short."""
    k: int = 10
    """How many the reference's strategies pick."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """One ranked memory with every number that placed it, for "Why this reply?".

    `finding` larger is better; `words` and `meaning` are the shares it is made of; `d_sem` and `d_emo`
    smaller is nearer, None when unknown; `weight` is the w applied; `rank` 1 is best.
    """

    memory_id: int
    text: str
    speaker: str
    created_at: datetime
    kind: str
    finding: float
    words: float
    meaning: float
    d_sem: float | None
    d_emo: float | None
    weight: float
    score: float
    rank: int
