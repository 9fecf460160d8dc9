"""Seed sentences: reads them, and fits an emotion head on them where no labelled files are at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from bot.core.emotion_fit import SCALE, Floats, HeadWeights, auc, best_thresholds
from bot.core.emotion_names import EMOTIONS
from bot.core.labelled_lines import LabelledLine, targets

NEUTRAL: Final = "neutral"
FORM: Final = "seed"

_FOLDS: Final = 4
_DIRECTIONS: Final = 128
"""A thousand sentences say nothing about more directions than these of a vector space."""
_DECAY: Final = 30.0
_STEPS: Final = 150
_PACE: Final = 0.02
_RIDGE: Final = 0.3
_UNDERSTOOD: Final = 0.5
"""A language is used if its own feelings can be told apart at least half as well as in the best one."""


@dataclass(frozen=True, slots=True)
class SeedFit:
    """A head, the probabilities from which its emotions count as present, and the languages it rests on."""

    weights: HeadWeights
    thresholds: Floats
    languages: tuple[str, ...]


def read_seeds(lines: Iterable[str]) -> Iterator[LabelledLine]:
    """Yield the sentences of one language: `[joy]` opens the sentences of an emotion, `[neutral]` of none.

    Raises ValueError for an unknown heading or a sentence before the first one.
    """
    feelings: frozenset[str] | None = None
    for line in lines:
        text = line.strip()
        if text.startswith("[") and text.endswith("]"):
            name = text[1:-1]
            if name != NEUTRAL and name not in EMOTIONS:
                raise ValueError(f"{name} is none of the eight emotions")
            feelings = frozenset() if name == NEUTRAL else frozenset((name,))
        elif text:
            if feelings is None:
                raise ValueError("the sentences begin without a heading")
            yield LabelledLine(text, feelings, FORM)


def fit_seeds(vectors: Floats, lines: Sequence[LabelledLine], languages: Sequence[str]) -> SeedFit:
    """Return a one-vs-rest logistic head for the unit vectors (n, dimensions) of seed sentences.

    `languages` names the language of each. Those in which the encoder does not tell feelings apart (an
    English model reads the others as noise) are left out. The same input gives the same head; no IO, about
    half a second for a thousand sentences.
    """
    truth, spoken = targets(lines), np.array(languages)
    understood = _understood(vectors, truth, spoken)
    kept = np.isin(spoken, understood)
    rows, truth = vectors[kept], truth[kept]
    folds = _folds(spoken[kept])
    space = _Space.of(rows)
    inside = space.coordinates(rows)
    unseen = np.zeros_like(truth)
    for fold in range(_FOLDS):
        tested = folds == fold
        slopes, bias = _logistic(inside[~tested], truth[~tested])
        unseen[tested] = _sigmoid(inside[tested] @ slopes + bias)
    return SeedFit(space.head(*_logistic(inside, truth)), best_thresholds(unseen, truth), understood)


@dataclass(frozen=True, slots=True)
class _Space:
    """The directions in which the sentences differ most, in units of their spread."""

    mean: Floats
    axes: Floats
    """(dimensions, directions), divided by the spread of the vectors."""

    @classmethod
    def of(cls, rows: Floats) -> _Space:
        mean = rows.mean(axis=0)
        centred = rows - mean
        spread = max(float(centred.std()), 1e-9)
        _, _, axes = np.linalg.svd(centred, full_matrices=False)
        return cls(mean, np.asarray(axes[:_DIRECTIONS].T / np.float32(spread), dtype=np.float32))

    def coordinates(self, rows: Floats) -> Floats:
        return np.asarray((rows - self.mean) @ self.axes, dtype=np.float32)

    def head(self, slopes: Floats, bias: Floats) -> HeadWeights:
        """Return the linear answer as a head with a hidden layer: relu(x) − relu(−x) is x."""
        linear = self.axes @ slopes / np.float32(SCALE)
        offset = -(self.mean * np.float32(SCALE)) @ linear
        one = np.eye(len(EMOTIONS), dtype=np.float32)
        return HeadWeights(
            first=np.concatenate([linear, -linear], axis=1),
            first_bias=np.concatenate([offset, -offset]),
            second=np.concatenate([one, -one]),
            second_bias=bias,
        )


def _logistic(rows: Floats, truth: Floats) -> tuple[Floats, Floats]:
    """Return slopes and bias of eight logistic regressions with decay, by Adam from zero."""
    share = np.clip(truth.mean(axis=0), 1e-3, 1 - 1e-3)
    layers = [np.zeros((rows.shape[1], truth.shape[1]), dtype=np.float32), np.log(share / (1 - share))]
    means, squares = [np.zeros_like(layer) for layer in layers], [np.zeros_like(layer) for layer in layers]
    decay = np.float32(_DECAY / len(rows))
    for step in range(1, _STEPS + 1):
        error = (_sigmoid(rows @ layers[0] + layers[1]) - truth) / np.float32(len(rows))
        for at, slope in enumerate((rows.T @ error + decay * layers[0], error.sum(axis=0))):
            means[at] += np.float32(0.1) * (slope - means[at])
            squares[at] += np.float32(0.01) * (slope * slope - squares[at])
            steady = np.sqrt(squares[at] / np.float32(1 - 0.99**step)) + np.float32(1e-8)
            layers[at] -= np.float32(_PACE) * means[at] / np.float32(1 - 0.9**step) / steady
    return layers[0], layers[1].astype(np.float32)


def _understood(vectors: Floats, truth: Floats, spoken: npt.NDArray[np.str_]) -> tuple[str, ...]:
    """Return the languages in which sentences of a feeling are near each other."""
    told = {
        str(name): _told_apart(vectors[spoken == name], truth[spoken == name]) for name in np.unique(spoken)
    }
    least = 0.5 + _UNDERSTOOD * (max(told.values()) - 0.5)
    return tuple(name for name, area in told.items() if area >= least)


def _told_apart(rows: Floats, truth: Floats) -> float:
    """Return the mean AUC of ridge regressions on lines that each has not seen."""
    unseen = np.zeros_like(truth)
    folds = np.arange(len(rows)) % _FOLDS
    for fold in range(_FOLDS):
        tested = folds == fold
        mean = rows[~tested].mean(axis=0)
        known, asked = rows[~tested] - mean, rows[tested] - mean
        inner = known @ known.T
        inner[np.diag_indices_from(inner)] += np.float32(_RIDGE * np.trace(inner) / len(inner))
        unseen[tested] = (
            asked @ known.T @ np.linalg.solve(inner, truth[~tested] - truth[~tested].mean(axis=0))
        )
    areas = [auc(unseen[:, column], truth[:, column] > 0) for column in range(truth.shape[1])]
    known_areas = [area for area in areas if not np.isnan(area)]
    return float(np.mean(known_areas)) if known_areas else 0.5


def _folds(spoken: npt.NDArray[np.str_]) -> npt.NDArray[np.intp]:
    """Return a fold for each sentence by its place in its language: what stands at one place in two
    languages may say the same, and must not be tested on itself."""
    places = np.zeros(len(spoken), dtype=np.intp)
    for name in np.unique(spoken):
        mine = spoken == name
        places[mine] = np.arange(int(mine.sum()))
    return places % _FOLDS


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -30, 30))), dtype=np.float32)
