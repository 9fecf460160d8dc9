"""Fitting a head: it learns, repeats itself, and its figures are those of the textbook."""

import numpy as np
import pytest

from bot.core.emotion_fit import HeadWeights, auc, best_thresholds, f1, fit, together

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


def lesson(rows: int = 600, dimensions: int = 12) -> tuple[Floats, Floats]:
    """Unit vectors whose first eight signs are the answers."""
    vectors = np.random.default_rng(2).normal(size=(rows, dimensions)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors, (vectors[:, :8] > 0.2).astype(np.float32)


def learnt(seed: int = 0) -> HeadWeights:
    vectors, targets = lesson()
    return fit(vectors, targets, np.ones(len(vectors), dtype=np.float32), seed=seed)


def test_it_learns_what_is_there_to_learn() -> None:
    vectors, targets = lesson()
    probabilities = learnt().probabilities(vectors)
    assert min(auc(probabilities[:, at], targets[:, at] > 0) for at in range(8)) > 0.95


def test_the_same_seed_gives_the_same_head() -> None:
    first, again, other = learnt(1), learnt(1), learnt(2)
    assert (first.first == again.first).all()
    assert not (first.first == other.first).all()


def test_lines_without_weight_teach_nothing() -> None:
    vectors, targets = lesson()
    weights = np.ones(len(vectors), dtype=np.float32)
    wrong = np.concatenate([targets, 1 - targets])
    weights = np.concatenate([weights, 0 * weights])
    head = fit(np.concatenate([vectors, vectors]), wrong, weights)
    assert auc(head.probabilities(vectors)[:, 0], targets[:, 0] > 0) > 0.9


def test_progress_is_told_each_round() -> None:
    vectors, targets = lesson(50)
    heard: list[tuple[int, int]] = []
    fit(vectors, targets, np.ones(50, dtype=np.float32), epochs=3, progress=lambda *x: heard.append(x))
    assert heard == [(1, 3), (2, 3), (3, 3)]


def test_heads_together_average_their_logits() -> None:
    def logits(head: HeadWeights) -> Floats:
        shares = head.probabilities(lesson()[0]).astype(np.float64)
        return np.log(shares / (1 - shares)).astype(np.float32)

    heads = [learnt(1), learnt(2)]
    mean = (logits(heads[0]) + logits(heads[1])) / 2
    assert logits(together(heads)) == pytest.approx(mean, abs=0.01)


def test_auc_is_the_chance_to_rank_rightly() -> None:
    true = np.array([True, False, True, False])
    assert auc(np.array([4, 3, 2, 1], dtype=np.float32), true) == 0.75
    assert auc(np.array([1, 1, 1, 1], dtype=np.float32), true) == 0.5
    assert np.isnan(auc(np.array([1.0], dtype=np.float32), np.array([True])))


def test_f1_is_the_harmonic_mean() -> None:
    said, true = np.array([1, 1, 0, 0], dtype=bool), np.array([1, 0, 1, 0], dtype=bool)
    assert f1(said, true) == 0.5
    assert f1(~true, true) == 0.0


def test_thresholds_part_what_can_be_parted() -> None:
    chance = np.random.default_rng(0)
    targets = (chance.random((800, 8)) < 0.3).astype(np.float32)
    probabilities = (0.1 + 0.6 * targets + 0.1 * chance.random((800, 8))).astype(np.float32)
    cuts = best_thresholds(probabilities, targets)
    for at in range(8):
        assert f1(probabilities[:, at] >= cuts[at], targets[:, at] > 0) > 0.9
