"""The five strategies of Emotional RAG match the reference in order; ours balances."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import emotion
from bot.core.strategies import (
    LARGEST_SHARE,
    SourceStats,
    Spread,
    Strategy,
    balanced,
    reference_order,
    standardise,
)

FIXTURE: dict[str, Any] = json.loads(
    (Path(__file__).parent / "fixtures" / "emotional_rag.json").read_text(encoding="utf-8")
)
LISTS = [
    pytest.param(case, query, strategy, expected, id=f"{case['name']}-{number}-{strategy}")
    for case in FIXTURE["cases"]
    for number, query in enumerate(case["queries"])
    for strategy, expected in query.get("expected", {}).items()
]


def order(case: dict[str, Any], query: dict[str, Any], strategy: str) -> list[int]:
    difference = np.asarray(case["semantic"], np.float64) - np.asarray(query["semantic"], np.float64)
    d_sem = np.linalg.norm(difference, axis=1)
    d_emo = emotion.distances(query["emotion"], case["emotion"])
    return reference_order(Strategy(strategy), d_sem, d_emo, FIXTURE["k"]).tolist()


def test_there_are_115_lists() -> None:
    assert len(LISTS) == 115
    assert FIXTURE["pool"] == 2 * FIXTURE["k"]


@pytest.mark.parametrize(("case", "query", "strategy", "expected"), LISTS)
def test_the_reference_order(
    case: dict[str, Any], query: dict[str, Any], strategy: str, expected: list[int]
) -> None:
    assert order(case, query, strategy) == expected


def test_multiplication_lets_flat_memories_win_as_in_the_reference() -> None:
    case = FIXTURE["cases"][-1]
    for query in case["queries"]:
        assert set(order(case, query, "combine_multiply")[:3]) == set(query["multiply_first"])


def test_balanced_is_no_reference_strategy() -> None:
    with pytest.raises(ValueError, match="balanced"):
        reference_order(Strategy.BALANCED, np.zeros(3), np.zeros(3))


def test_equal_distances_keep_the_order_of_candidates() -> None:
    for strategy in Strategy:
        if strategy is not Strategy.BALANCED:
            assert reference_order(strategy, np.ones(5), np.ones(5)).tolist() == [0, 1, 2, 3, 4]


FINDING = np.linspace(1, 0, 20)
D_EMO = np.tile([0.1, 0.4], 10)
ALL = np.ones(20, dtype=bool)
HEAD: list[str | None] = ["head"] * 20


def weighed(
    finding: np.ndarray[Any, Any] = FINDING,
    d_emo: np.ndarray[Any, Any] = D_EMO,
    *,
    known: np.ndarray[Any, Any] = ALL,
    sources: list[str | None] = HEAD,
    weight: float = 0.2,
    stats: SourceStats | None = None,
) -> tuple[np.ndarray[Any, Any], float]:
    return balanced(finding, d_emo, known=known, sources=sources, weight=weight, stats=stats or SourceStats())


def test_balanced_is_the_formula() -> None:
    score, weight = weighed()
    z_find = (FINDING - FINDING.mean()) / FINDING.std()
    z_emo = (D_EMO - D_EMO.mean()) / D_EMO.std()
    assert weight == 0.2
    assert score == pytest.approx(z_find - 0.2 * z_emo)


def test_feeling_never_moves_a_score_further_than_the_cap() -> None:
    d_emo = np.array([0.9] + [0.1] * 19)
    score, _ = weighed(d_emo=d_emo, weight=0.5)
    moved = standardise(FINDING) - score
    assert moved[0] == pytest.approx(LARGEST_SHARE)
    assert np.abs(moved).max() <= LARGEST_SHARE + 1e-12


@pytest.mark.parametrize(
    "case",
    [
        {"finding": FINDING[:7], "d_emo": D_EMO[:7], "known": ALL[:7], "sources": HEAD[:7]},
        {"d_emo": np.full(20, 0.3)},
        {"finding": np.ones(20)},
        {"weight": 0.0},
        {"known": ~ALL, "sources": [None] * 20},
    ],
    ids=["small pool", "no spread of feeling", "no spread of finding", "no weight", "nothing known"],
)
def test_feeling_is_left_out_where_it_tells_nothing(case: dict[str, Any]) -> None:
    score, weight = weighed(**case)
    assert weight == 0.0
    assert score == pytest.approx(standardise(case.get("finding", FINDING)))


def test_eight_candidates_are_enough() -> None:
    assert weighed(FINDING[:8], D_EMO[:8], known=ALL[:8], sources=HEAD[:8])[1] == 0.2


def test_an_unknown_feeling_counts_as_average() -> None:
    known = ALL.copy()
    known[3] = False
    sources: list[str | None] = [None if at == 3 else "head" for at in range(20)]
    d_emo = D_EMO.copy()
    d_emo[3] = 99.0
    score, _ = weighed(d_emo=d_emo, known=known, sources=sources)
    assert score[3] == pytest.approx(standardise(FINDING)[3])
    without = np.delete(D_EMO, 3)
    assert score[0] == pytest.approx(
        standardise(FINDING)[0] - 0.2 * (D_EMO[0] - without.mean()) / without.std()
    )


def mixed() -> tuple[np.ndarray[Any, Any], list[str | None]]:
    """Ten distances of a head, ten of a model whose distances are all larger."""
    head, model = np.linspace(0.1, 0.2, 10), np.linspace(0.5, 0.9, 10)
    return np.concatenate([head, model]), ["head"] * 10 + ["model"] * 10


def test_sources_are_levelled_before_they_are_compared() -> None:
    d_emo, sources = mixed()
    stats = SourceStats().observe(sources, d_emo)
    score, weight = weighed(d_emo=d_emo, sources=sources, stats=stats)
    moved = standardise(FINDING) - score
    assert weight == 0.2
    assert moved[:10] == pytest.approx(moved[10:], abs=1e-9)


def test_sources_without_history_are_levelled_inside_the_pool() -> None:
    d_emo, sources = mixed()
    moved = standardise(FINDING) - weighed(d_emo=d_emo, sources=sources)[0]
    assert moved[:10] == pytest.approx(moved[10:], abs=1e-9)


def test_a_source_of_which_little_is_known_counts_as_average() -> None:
    d_emo, sources = mixed()
    sources[0] = "new"
    moved = standardise(FINDING) - weighed(d_emo=d_emo, sources=sources)[0]
    assert abs(moved[0]) < 0.05


def test_a_running_spread_is_that_of_all_values() -> None:
    chance = np.random.default_rng(1)
    parts = [chance.normal(3, 2, size) for size in (5, 1, 40, 300)]
    spread = Spread()
    for part in parts:
        spread = spread.with_more(part)
    values = np.concatenate(parts)
    assert spread.count == 346
    assert spread.mean == pytest.approx(values.mean())
    assert spread.deviation == pytest.approx(values.std())
    assert spread.with_more(np.zeros(0)) == spread


def test_unknown_sources_are_not_observed() -> None:
    stats = SourceStats().observe([None, "head", None], np.array([9.0, 0.5, 9.0]))
    assert set(stats.spreads) == {"head"}
    assert stats.spreads["head"].mean == 0.5


@given(st.lists(st.floats(-1e6, 1e6), max_size=40))
def test_standardised_values_have_mean_zero_and_spread_one(values: list[float]) -> None:
    result = standardise(np.array(values, dtype=np.float64))
    if len(values) and result.any():
        assert abs(result.mean()) < 1e-6
        assert result.std() == pytest.approx(1, abs=1e-6)
