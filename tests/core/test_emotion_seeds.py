"""A head from seed sentences: read, fitted, and only in languages that the encoder tells apart."""

from __future__ import annotations

import numpy as np
import pytest

from bot.core.emotion import EMOTIONS
from bot.core.emotion_seeds import fit_seeds, read_seeds
from bot.core.labelled_lines import LabelledLine
from bot.core.vectors import Vector

PER_EMOTION = 8


def invented(language: str, dimensions: int = 24) -> list[LabelledLine]:
    return [
        LabelledLine(f"{language} {name} {number}", frozenset((name,)), "seed")
        for name in EMOTIONS
        for number in range(PER_EMOTION)
    ]


def vectors(lines: list[LabelledLine], *, understood: bool, seed: int) -> Vector:
    """One direction for each emotion, and noise; noise alone where nothing is understood."""
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(len(lines), 24)).astype(np.float32) * 0.3
    for row, line in zip(rows, lines, strict=True):
        for feeling in line.feelings if understood else ():
            row[EMOTIONS.index(feeling)] += 2
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def test_headings_say_what_the_sentences_under_them_feel() -> None:
    lines = list(read_seeds(["[joy]", " We won! ", "", "[neutral]", "It is Tuesday."]))
    assert [(line.text, line.feelings, line.form) for line in lines] == [
        ("We won!", frozenset({"joy"}), "seed"),
        ("It is Tuesday.", frozenset(), "seed"),
    ]


@pytest.mark.parametrize("lines", [["We won!"], ["[glee]", "We won!"]])
def test_a_file_without_known_headings_is_refused(lines: list[str]) -> None:
    with pytest.raises(ValueError, match=r"heading|eight"):
        list(read_seeds(lines))


def test_the_head_reads_what_it_was_shown_and_what_is_near() -> None:
    lines = invented("a")
    fit = fit_seeds(vectors(lines, understood=True, seed=1), lines, ["a"] * len(lines))
    others = vectors(lines, understood=True, seed=2)
    read = fit.weights.probabilities(others).argmax(axis=1)
    true = np.array([EMOTIONS.index(next(iter(line.feelings))) for line in lines])
    assert (read == true).mean() > 0.9
    assert ((fit.thresholds > 0) & (fit.thresholds < 1)).all()


def test_a_language_that_the_encoder_does_not_understand_is_left_out() -> None:
    known, noise = invented("a"), invented("b")
    rows = np.concatenate([vectors(known, understood=True, seed=1), vectors(noise, understood=False, seed=2)])
    fit = fit_seeds(rows, known + noise, ["a"] * len(known) + ["b"] * len(noise))
    alone = fit_seeds(rows[: len(known)], known, ["a"] * len(known))
    assert fit.languages == ("a",)
    assert fit.weights.probabilities(rows) == pytest.approx(alone.weights.probabilities(rows))


def test_the_same_sentences_give_the_same_head() -> None:
    lines = invented("a")
    rows = vectors(lines, understood=True, seed=1)
    first, second = (fit_seeds(rows, lines, ["a"] * len(lines)) for _ in range(2))
    assert (first.weights.first == second.weights.first).all()
    assert (first.thresholds == second.thresholds).all()
