"""How meaning and feeling are weighed: the five strategies of Emotional RAG, and our balanced one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Order = npt.NDArray[np.intp]

SMALLEST_POOL: Final = 8
LARGEST_SHARE: Final = 0.6
LONGEST_MEMORY: Final = 2_000
_TINY: Final = 1e-9


class Strategy(StrEnum):
    """The value of the setting `recall_strategy`."""

    SEMANTIC_ONLY = "semantic_only"
    COMBINE_ADD = "combine_add"
    COMBINE_MULTIPLY = "combine_multiply"
    SEMANTIC_FIRST = "semantic_first"
    EMOTION_FIRST = "emotion_first"
    BALANCED = "balanced"


@dataclass(frozen=True, slots=True)
class Spread:
    """A running mean and variance of one source's distances."""

    count: int = 0
    mean: float = 0.0
    variance: float = 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return float(np.sqrt(max(self.variance, 0.0)))

    def with_more(self, values: Floats) -> Spread:
        """Return the spread after these values too (Chan's formula); old ones fade after 2,000."""
        if not len(values):
            return self
        total = self.count + len(values)
        share = len(values) / total
        step = float(values.mean()) - self.mean
        variance = (1 - share) * self.variance + share * float(values.var()) + share * (1 - share) * step**2
        return Spread(min(total, LONGEST_MEMORY), self.mean + share * step, variance)


@dataclass(frozen=True, slots=True)
class SourceStats:
    """What the emotional distances of each source (head, model) have been like so far."""

    spreads: Mapping[str, Spread] = field(default_factory=lambda: MappingProxyType({}))

    def observe(self, sources: Sequence[str | None], d_emo: Floats) -> SourceStats:
        """Return the statistics with one more recall's distances; a source of None is unknown and skipped."""
        spreads = dict(self.spreads)
        labels = np.array([source or "" for source in sources])
        for source in {source for source in sources if source}:
            spreads[source] = spreads.get(source, Spread()).with_more(d_emo[labels == source])
        return SourceStats(MappingProxyType(spreads))


def reference_order(strategy: Strategy, d_sem: Floats, d_emo: Floats, k: int = 10) -> Order:
    """Return the positions that the strategy picks, best first: at most `k`, pools of 2k.

    As in Emotional RAG (arXiv 2410.23041, code BAI-LAB/EmotionalRAG): `d_sem` is the Euclidean distance
    of the semantic vectors as given, `d_emo` 1 − cosine of the raw emotion vectors; smaller is better.
    Equal distances keep the order of the candidates. Raises ValueError for `balanced`.
    """
    if strategy is Strategy.SEMANTIC_ONLY:
        return _ascending(d_sem)[:k]
    if strategy is Strategy.COMBINE_ADD:
        return _ascending(d_sem + d_emo)[:k]
    if strategy is Strategy.COMBINE_MULTIPLY:
        return _ascending(d_sem * d_emo)[:k]
    if strategy is Strategy.SEMANTIC_FIRST:
        pool = _ascending(d_sem)[: 2 * k]
        return pool[_ascending(d_emo[pool])][:k]
    if strategy is Strategy.EMOTION_FIRST:
        pool = _ascending(d_emo)[: 2 * k]
        return pool[_ascending(d_sem[pool])][:k]
    raise ValueError(f"{strategy} is not one of the reference's strategies")


def balanced(
    finding: Floats,
    d_emo: Floats,
    *,
    known: Mask,
    sources: Sequence[str | None],
    weight: float,
    stats: SourceStats,
) -> tuple[Floats, float]:
    """Return z(finding) − w · z(d_emo), larger is better, and the w that was applied.

    `known` marks candidates whose emotion is known; the others count as average. The emotional part
    never moves a score by more than 0.6. w is 0 when the pool is under 8 or a spread is 0.
    """
    found = standardise(finding)
    if len(finding) < SMALLEST_POOL or weight <= 0 or not found.any():
        return found, 0.0
    feeling = _feeling(d_emo, known, sources, stats)
    if not feeling.any():
        return found, 0.0
    return found - np.clip(weight * feeling, -LARGEST_SHARE, LARGEST_SHARE), weight


def standardise(values: Floats) -> Floats:
    """Return the values with mean 0 and spread 1; all zeros where there is no spread."""
    if not len(values):
        return values
    deviation = float(values.std())
    if deviation < _TINY:
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / deviation, dtype=np.float64)


def _feeling(d_emo: Floats, known: Mask, sources: Sequence[str | None], stats: SourceStats) -> Floats:
    """Return the standardised emotional distances; 0 for what is unknown.

    Head and model score on different scales. Where a pool mixes them, each is first set against its
    own running mean and spread, or against its own part of the pool while little is known of it.
    """
    levelled = np.zeros_like(d_emo)
    labels = np.array([source or "" for source in sources])
    present = set(labels[known].tolist())
    if len(present) == 1:
        levelled[known] = d_emo[known]
    else:
        for source in present:
            mine = known & (labels == source)
            levelled[mine] = _level(d_emo[mine], stats.spreads.get(source, Spread()))
    result = np.zeros_like(d_emo)
    result[known] = standardise(levelled[known])
    return result


def _level(values: Floats, spread: Spread) -> Floats:
    if spread.count >= SMALLEST_POOL and spread.deviation >= _TINY:
        return np.asarray((values - spread.mean) / spread.deviation, dtype=np.float64)
    if len(values) >= SMALLEST_POOL:
        return standardise(values)
    return np.zeros_like(values)


def _ascending(values: Floats) -> Order:
    return np.argsort(values, kind="stable")
