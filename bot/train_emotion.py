"""Fits the emotion head of an encoder on labelled files, and measures it on lines kept apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from bot.adapters.emotion_head import EmotionHead
from bot.core.emotion_fit import HeadWeights, auc, best_thresholds, f1, fit, together
from bot.core.labelled_lines import LabelledLine, read_lines, targets
from bot.core.vectors import Vector

KEPT_OUT: Final = 0
VALIDATION: Final = 1
"""Of ten parts of the lines one is never trained on, and one only chooses the thresholds."""
FITS: Final = 3
_BATCH: Final = 512
_NEUTRAL_WEIGHT: Final = 0.2
_GOEMOTIONS_WEIGHT: Final = 0.05
"""Neutral lines and forum comments teach calm and chat; with more weight they cost accuracy."""

Encode = Callable[[Sequence[str]], Vector]
Progress = Callable[[str], None]


def train(
    files: Sequence[Path],
    *,
    encode: Encode,
    out: Path,
    progress: Progress,
    name: str = "minilm-1",
    seed: int = 0,
) -> dict[str, float]:
    """Fit a head on files in XED's or GoEmotions' form, write it to `out`, and return its figures.

    `encode` turns texts into unit vectors (n, dimensions). The figures are of XED lines that are neither
    trained on nor used to choose thresholds: `macro_f1`, `mean_auc`, `n`, and `trained_on`.
    Raises ValueError when the files hold too few usable lines.
    """
    lines = list(dict.fromkeys(line for file in files for line in _read(file, progress)))
    vectors = _encode(lines, encode, progress)
    parts = np.array([line.part for line in lines])
    trained = parts > VALIDATION
    judged = np.array([line.form == "xed" and bool(line.feelings) for line in lines], dtype=bool)
    validation, kept_out = judged & (parts == VALIDATION), judged & (parts == KEPT_OUT)
    if not (trained & judged).any() or not validation.any() or not kept_out.any():
        raise ValueError("the files hold too few labelled lines to train on")
    truth = targets(lines)
    head = _fit(vectors[trained], truth[trained], _weights(lines)[trained], seed, progress).rounded()
    thresholds = best_thresholds(head.probabilities(vectors[validation]), truth[validation])
    EmotionHead(name, head, thresholds).write(out)
    figures = measure(EmotionHead.read(out), vectors[kept_out], truth[kept_out])
    return {**figures, "trained_on": float(np.count_nonzero(trained))}


def measure(head: EmotionHead, vectors: Vector, truth: Vector) -> dict[str, float]:
    """Return macro-F1 at the head's thresholds and the mean AUC over the eight, and the number of lines.

    An emotion that no line (or every line) shows has no AUC and is left out of the mean.
    """
    probabilities = head.probabilities(vectors)
    said, true = probabilities >= head.thresholds, truth > 0
    columns = range(truth.shape[1])
    areas = [auc(probabilities[:, column], true[:, column]) for column in columns]
    known = [area for area in areas if not np.isnan(area)]
    return {
        "macro_f1": float(np.mean([f1(said[:, column], true[:, column]) for column in columns])),
        "mean_auc": float(np.mean(known)) if known else float("nan"),
        "n": float(len(truth)),
    }


def _read(file: Path, progress: Progress) -> list[LabelledLine]:
    with file.open(encoding="utf-8") as opened:
        lines = list(read_lines(opened))
    progress(f"{file.name}: {len(lines)} lines")
    return lines


def _encode(lines: Sequence[LabelledLine], encode: Encode, progress: Progress) -> Vector:
    rows = []
    for at in range(0, len(lines), _BATCH):
        rows.append(encode([line.text for line in lines[at : at + _BATCH]]))
        progress(f"encoding {min(at + _BATCH, len(lines))} of {len(lines)}")
    return np.concatenate(rows) if rows else np.zeros((0, 0), dtype=np.float32)


def _weights(lines: Sequence[LabelledLine]) -> Vector:
    weights = [
        _GOEMOTIONS_WEIGHT if line.form == "goemotions" else 1.0 if line.feelings else _NEUTRAL_WEIGHT
        for line in lines
    ]
    return np.array(weights, dtype=np.float32)


def _fit(vectors: Vector, truth: Vector, weights: Vector, seed: int, progress: Progress) -> HeadWeights:
    """Several fits from different starts, averaged: steadier than one."""
    heads = []
    for number in range(FITS):

        def tell(done: int, total: int, number: int = number) -> None:
            progress(f"fitting {number + 1} of {FITS}, round {done} of {total}")

        heads.append(fit(vectors, truth, weights, seed=seed + number, progress=tell))
    return together(heads)
