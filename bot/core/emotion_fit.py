"""Fits a small emotion head on sentence vectors: one hidden layer, eight yes-or-no answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

HIDDEN: Final = 256
SCALE: Final = 8.0
"""Unit vectors of some hundred numbers are small; this brings them to the size layers learn well with."""
_BATCH: Final = 128
_JUST_BELOW: Final = 0.999
"""A cut stands a hair below the line it was taken from, so that rounding does not push that line out."""
_BETAS: Final = (0.9, 0.999)


@dataclass(frozen=True, slots=True)
class HeadWeights:
    """`probabilities = sigmoid(relu(vector · scale · first + first_bias) · second + second_bias)`."""

    first: Floats
    first_bias: Floats
    second: Floats
    second_bias: Floats

    def probabilities(self, vectors: Floats) -> Floats:
        """Return (n, 8) numbers from 0 to 1 for (n, dimensions) unit vectors."""
        hidden = np.maximum(vectors * np.float32(SCALE) @ self.first + self.first_bias, 0)
        logits = np.clip(hidden @ self.second + self.second_bias, -30, 30)
        return np.asarray(1 / (1 + np.exp(-logits)), dtype=np.float32)

    def rounded(self) -> HeadWeights:
        """Return the weights as half precision stores them: thresholds must fit what will be read back."""
        layers = (self.first, self.first_bias, self.second, self.second_bias)
        return HeadWeights(*(layer.astype(np.float16).astype(np.float32) for layer in layers))


def fit(
    vectors: Floats,
    targets: Floats,
    weights: Floats,
    *,
    seed: int = 0,
    epochs: int = 10,
    rate: float = 2e-3,
    decay: float = 1e-2,
    drop: float = 0.4,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> HeadWeights:
    """Return a head trained by AdamW on a weighted cross-entropy; the same seed gives the same head.

    `vectors` (n, dimensions), `targets` (n, 8) of 0 and 1, `weights` (n,). `progress` hears of each epoch.
    """
    chance = np.random.default_rng(seed)
    sizes = ((vectors.shape[1], HIDDEN), (HIDDEN,), (HIDDEN, targets.shape[1]), (targets.shape[1],))
    layers = [_start(chance, size) for size in sizes]
    moments = [(np.zeros_like(layer), np.zeros_like(layer)) for layer in layers]
    steps = epochs * -(-len(vectors) // _BATCH)
    step = 0
    for epoch in range(epochs):
        order = chance.permutation(len(vectors))
        for at in range(0, len(order), _BATCH):
            batch = order[at : at + _BATCH]
            inputs = vectors[batch] * np.float32(SCALE)
            keeps = _keeps(chance, inputs.shape, drop)
            slopes = _slopes(layers, inputs, targets[batch], weights[batch], keeps)
            step += 1
            pace = rate * _warm(step / steps)
            for layer, slope, moment in zip(layers, slopes, moments, strict=True):
                layer *= np.float32(1 - pace * decay)
                layer -= np.float32(pace) * _direction(slope, moment, step)
        progress(epoch + 1, epochs)
    return HeadWeights(*layers)


def best_thresholds(probabilities: Floats, targets: Floats) -> Floats:
    """Return for each emotion the probability from which saying yes gives the best F1, smoothed.

    A single best cut follows the chance of one sample; the mean over neighbouring cuts follows it less.
    """
    chosen = []
    for column in range(targets.shape[1]):
        cuts = np.quantile(probabilities[:, column], np.linspace(0.3, 0.99, 100))
        scores = [f1(probabilities[:, column] >= cut, targets[:, column] > 0) for cut in cuts]
        smooth = np.convolve(np.pad(scores, 3, mode="edge"), np.ones(7) / 7, mode="valid")
        chosen.append(float(cuts[int(np.argmax(smooth))]) * _JUST_BELOW)
    return np.array(chosen, dtype=np.float32)


def f1(said: npt.NDArray[np.bool_], true: npt.NDArray[np.bool_]) -> float:
    """Return the harmonic mean of precision and recall; 0 when nothing was rightly said."""
    hits = int(np.count_nonzero(said & true))
    return 2 * hits / int(np.count_nonzero(said) + np.count_nonzero(true)) if hits else 0.0


def auc(scores: Floats, true: npt.NDArray[np.bool_]) -> float:
    """Return the chance that a true line scores above a false one (ties count half); NaN without both."""
    positive, negative = int(np.count_nonzero(true)), int(np.count_nonzero(~true))
    if not positive or not negative:
        return float("nan")
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float((ranks[true].sum() - positive * (positive + 1) / 2) / (positive * negative))


def _start(chance: np.random.Generator, size: tuple[int, ...]) -> Floats:
    if len(size) == 1:
        return np.zeros(size, dtype=np.float32)
    bound = 1 / np.sqrt(size[0])
    return chance.uniform(-bound, bound, size).astype(np.float32)


def _slopes(
    layers: list[Floats], inputs: Floats, targets: Floats, weights: Floats, keeps: tuple[Floats, Floats]
) -> list[Floats]:
    """Return the loss's slope for each layer on one batch."""
    first, first_bias, second, second_bias = layers
    inputs = inputs * keeps[0]
    before = inputs @ first + first_bias
    hidden = np.maximum(before, 0) * keeps[1]
    logits = np.clip(hidden @ second + second_bias, -30, 30)
    error = (1 / (1 + np.exp(-logits)) - targets) * (weights[:, None] / len(inputs))
    back = (error @ second.T) * keeps[1] * (before > 0)
    return [inputs.T @ back, back.sum(0), hidden.T @ error, error.sum(0)]


def _keeps(chance: np.random.Generator, shape: tuple[int, ...], drop: float) -> tuple[Floats, Floats]:
    """Return what stays of the inputs (a quarter of `drop` goes) and of the hidden layer."""
    return _dropout(chance, shape, drop / 4), _dropout(chance, (shape[0], HIDDEN), drop)


def _dropout(chance: np.random.Generator, shape: tuple[int, ...], share: float) -> Floats:
    return (chance.random(shape, dtype=np.float32) >= share).astype(np.float32) / np.float32(1 - share)


def _warm(progress: float) -> float:
    """Rise over the first third, then fall to nothing along a cosine."""
    if progress < 0.3:
        return 0.04 + 0.96 * progress / 0.3
    return float(0.5 * (1 + np.cos(np.pi * (progress - 0.3) / 0.7)))


def _direction(slope: Floats, moment: tuple[Floats, Floats], step: int) -> Floats:
    """Return Adam's direction for this slope; the running moments are brought up to date in place."""
    mean, square = moment
    mean += (1 - _BETAS[0]) * (slope - mean)
    square += (1 - _BETAS[1]) * (slope * slope - square)
    steady = np.sqrt(square / (1 - _BETAS[1] ** step)) + 1e-8
    return np.asarray(mean / (1 - _BETAS[0] ** step) / steady, dtype=np.float32)


def together(heads: Sequence[HeadWeights]) -> HeadWeights:
    """Return one head whose logits are the mean of several heads': their hidden layers side by side."""
    share = np.float32(1 / len(heads))
    return HeadWeights(
        first=np.concatenate([head.first for head in heads], axis=1),
        first_bias=np.concatenate([head.first_bias for head in heads]),
        second=np.concatenate([head.second for head in heads]) * share,
        second_bias=np.stack([head.second_bias for head in heads]).mean(axis=0),
    )
