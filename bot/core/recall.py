"""Recall: ranks candidates by finding and feeling, and keeps the numbers that explain it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bot.core import emotion
from bot.core.candidates import LARGEST_WEIGHT, Candidate, Query, Recalled, RecallSettings
from bot.core.choosing import Choice, choose
from bot.core.fusion import Finding, find
from bot.core.query_hints import is_question
from bot.core.strategies import SourceStats, Strategy, balanced, reference_order

__all__ = [
    "Candidate",
    "Choice",
    "Query",
    "RecallSettings",
    "Recalled",
    "SourceStats",
    "Strategy",
    "choose",
    "is_question",
    "observe",
    "rank",
]

Floats = npt.NDArray[np.float64]
FELT_BY_QUESTION = 0.5
_UNRELATED = math.sqrt(2.0)


def rank(
    candidates: Sequence[Candidate],
    query: Query,
    settings: RecallSettings | None = None,
    stats: SourceStats | None = None,
) -> list[Recalled]:
    """Return the candidates best first, each with its numbers.

    `balanced` ranks all of them. The reference's strategies return their k (10) and score by −d_sem;
    without a known emotion of the query they rank by meaning alone, without any vectors by finding.
    """
    if not candidates:
        return []
    settings = settings or RecallSettings()
    found = find(candidates, query)
    columns = _columns(candidates, query)
    if settings.strategy is Strategy.BALANCED:
        score, weight = balanced(
            found.score,
            columns.d_emo,
            known=columns.known,
            sources=columns.sources,
            weight=_weight(query, settings.emotion_weight),
            stats=stats or SourceStats(),
        )
        order = np.argsort(-score, kind="stable")
    else:
        order, score, weight = _by_reference(settings, found, columns, felt=query.emotion is not None)
    return [
        Recalled(
            memory_id=candidates[at].memory_id,
            text=candidates[at].text,
            speaker=candidates[at].speaker,
            created_at=candidates[at].created_at,
            kind=candidates[at].kind,
            finding=float(found.score[at]),
            words=float(found.words[at]),
            meaning=float(found.meaning[at]),
            d_sem=None if math.isnan(columns.d_sem[at]) else float(columns.d_sem[at]),
            d_emo=float(columns.d_emo[at]) if columns.known[at] else None,
            weight=weight,
            score=float(score[at]),
            rank=place,
        )
        for place, at in enumerate(order.tolist(), start=1)
    ]


def observe(candidates: Sequence[Candidate], query: Query, stats: SourceStats) -> SourceStats:
    """Return the running statistics of the emotion sources with this recall's distances taken in."""
    if query.emotion is None or not candidates:
        return stats
    columns = _columns(candidates, query)
    return stats.observe(columns.sources, columns.d_emo)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The candidates' distances as arrays; `known` marks known emotions, NaN an unknown meaning."""

    d_sem: Floats
    d_emo: Floats
    known: npt.NDArray[np.bool_]
    sources: list[str | None]


def _columns(candidates: Sequence[Candidate], query: Query) -> _Columns:
    d_sem = np.array([_d_sem(candidate) for candidate in candidates], dtype=np.float64)
    vectors, known = emotion.stack([candidate.emotion for candidate in candidates])
    if query.emotion is None:
        d_emo = np.zeros(len(candidates))
        known = np.zeros(len(candidates), dtype=bool)
    else:
        d_emo = emotion.distances(query.emotion, vectors)
        if known.any():
            d_emo[~known] = d_emo[known].mean()
    sources = [
        (candidate.emotion_source or "unnamed") if candidate.emotion is not None else None
        for candidate in candidates
    ]
    return _Columns(d_sem, d_emo, known, sources)


def _d_sem(candidate: Candidate) -> float:
    if candidate.d_sem is not None:
        return candidate.d_sem
    return math.nan if candidate.cosine is None else math.sqrt(max(0.0, 2.0 - 2.0 * candidate.cosine))


def _weight(query: Query, weight: float) -> float:
    """Return 0 where there is no feeling to go by: the emotion unknown, or the mood about flat. A question
    names what it wants, whatever the mood: half the weight is left there."""
    if query.emotion is None:
        return 0.0
    mood = query.emotion if query.mood is None else query.mood
    if emotion.is_flat(mood):
        return 0.0
    share = FELT_BY_QUESTION if is_question(query.text) else 1.0
    return share * min(max(weight, 0.0), LARGEST_WEIGHT)


def _by_reference(
    settings: RecallSettings, found: Finding, columns: _Columns, *, felt: bool
) -> tuple[npt.NDArray[np.intp], Floats, float]:
    """Return the positions picked, the scores by position, and 1 where feeling took part, else 0."""
    missing = np.isnan(columns.d_sem)
    if missing.all():
        d_sem = found.score.max() - found.score
    else:
        d_sem = np.where(missing, max(_UNRELATED, float(np.nanmax(columns.d_sem))), columns.d_sem)
    strategy = settings.strategy if felt else Strategy.SEMANTIC_ONLY
    order = reference_order(strategy, d_sem, columns.d_emo, settings.k)
    return order, -d_sem, 0.0 if strategy is Strategy.SEMANTIC_ONLY else 1.0
