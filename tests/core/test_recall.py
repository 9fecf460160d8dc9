"""Recall ranks by words, meaning and feeling, and explains itself."""

import math
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from bot.core.candidates import Candidate, Query, Recalled, RecallSettings
from bot.core.emotion import EMOTIONS, FLAT, clamp
from bot.core.recall import observe, rank
from bot.core.strategies import SourceStats, Strategy
from bot.core.vectors import Vector

START = datetime(2023, 5, 1, 12, tzinfo=UTC)


def feeling(**scores: float) -> Vector:
    return clamp([scores.get(name, 1.0) for name in EMOTIONS])


SAD, GLAD = feeling(sadness=9), feeling(joy=9)


def candidate(number: int, **fields: object) -> Candidate:
    base = Candidate(
        memory_id=number,
        text=f"memory {number}",
        speaker="Mira",
        created_at=START + timedelta(days=number),
        cosine=0.3,
    )
    return replace(base, **fields)  # type: ignore[arg-type]


def pool(count: int = 20, **fields: object) -> list[Candidate]:
    """Candidates 0, 1, 2 … from best to worst by meaning."""
    return [candidate(n, cosine=0.9 - 0.01 * n, **fields) for n in range(count)]


def ids(ranked: list[Recalled]) -> list[int]:
    return [item.memory_id for item in ranked]


def test_nothing_gives_nothing() -> None:
    assert rank([], Query("hello")) == []


def test_meaning_alone_ranks_by_cosine() -> None:
    assert ids(rank(pool(), Query("a remark"))) == list(range(20))


def test_words_alone_serve_while_there_are_no_vectors() -> None:
    found = [candidate(n, cosine=None, bm25=float(n)) for n in range(5)]
    ranked = rank(found, Query("where is the ring?", ceiling=10))
    assert ids(ranked) == [4, 3, 2, 1, 0]
    assert ranked[0].d_sem is None
    assert ranked[0].words == pytest.approx(0.2)


def test_a_strong_match_of_words_beats_a_slightly_nearer_meaning() -> None:
    found = [*pool(), candidate(50, cosine=0.7, bm25=8.0, bm25_context=8.0)]
    query = Query("Where did Rosalind hide it?", ceiling=10, ceiling_context=10)
    assert ids(rank(found, query))[0] == 50


def test_a_remark_leans_to_meaning_and_a_question_to_words() -> None:
    found = [candidate(1, cosine=0.9), candidate(2, cosine=0.2, bm25=4.0, bm25_context=4.0)]
    remark = Query("I never felt so alone.", ceiling=10, ceiling_context=10)
    question = Query("Who was alone?", ceiling=10, ceiling_context=10)
    assert ids(rank(found, remark)) == [1, 2]
    assert ids(rank(found, question)) == [2, 1]


def test_context_counts_as_much_as_own_words() -> None:
    query = Query("what?", ceiling=10, ceiling_context=20)
    own, around = candidate(1, cosine=None, bm25=5.0), candidate(2, cosine=None, bm25_context=10.0)
    first, second = rank([own, around], query)
    assert first.finding == pytest.approx(second.finding)


def test_a_named_speaker_tips_the_scale_a_little() -> None:
    found = [candidate(1, bm25=5.0, speaker="Tom"), candidate(2, bm25=4.8)]
    assert ids(rank(found, Query("What did Mira buy?", ceiling=10))) == [2, 1]
    far = [candidate(1, bm25=8.0, speaker="Tom"), candidate(2, bm25=4.8)]
    assert ids(rank(far, Query("What did Mira buy?", ceiling=10))) == [1, 2]


def test_a_named_day_tips_the_scale_a_little() -> None:
    june = datetime(2023, 6, 3, tzinfo=UTC)
    found = [candidate(1, bm25=5.0), candidate(2, bm25=4.8, created_at=june)]
    assert ids(rank(found, Query("What happened in June?", ceiling=10))) == [2, 1]


def test_age_is_no_part_of_the_score() -> None:
    old = candidate(1, created_at=START - timedelta(days=3000))
    new = candidate(2, created_at=START)
    first, second = rank([old, new], Query("a remark"))
    assert first.score == second.score


def felt_pool(count: int = 20) -> list[Candidate]:
    """Meanings that hardly differ: sad ones in the even places, glad ones in the odd."""
    return [
        candidate(n, cosine=0.5 - 0.001 * n, emotion=(SAD, GLAD)[n % 2], emotion_source="head:x")
        for n in range(count)
    ]


def test_a_sad_mood_brings_sad_memories_up() -> None:
    neutral = ids(rank(felt_pool(), Query("a remark")))
    sad = ids(rank(felt_pool(), Query("a remark", emotion=SAD, mood=SAD), RecallSettings(emotion_weight=0.5)))
    assert neutral == list(range(20))
    assert sum(n % 2 == 0 for n in sad[:8]) > sum(n % 2 == 0 for n in neutral[:8])


@pytest.mark.parametrize(
    "query",
    [
        Query("a remark", emotion=None, mood=SAD),
        Query("a remark", emotion=SAD, mood=FLAT),
        Query("a remark", emotion=SAD, mood=clamp([5] * 8)),
        Query("a remark", emotion=SAD, mood=feeling(sadness=2)),
    ],
    ids=["emotion unknown", "mood flat", "mood evenly high", "mood within 1 of flat"],
)
def test_without_a_mood_feeling_has_no_weight(query: Query) -> None:
    ranked = rank(felt_pool(), query)
    assert ids(ranked) == list(range(20))
    assert {item.weight for item in ranked} == {0.0}


def test_a_question_names_what_it_wants_and_is_answered_with_less_feeling() -> None:
    settings = RecallSettings(emotion_weight=0.3)
    asked, remarked = Query("Who was it?", emotion=SAD), Query("I miss them.", emotion=SAD)
    assert rank(felt_pool(), asked, settings)[0].weight == pytest.approx(0.15)
    assert rank(felt_pool(), remarked, settings)[0].weight == pytest.approx(0.3)


def test_the_weight_setting_is_bounded() -> None:
    settings = RecallSettings(emotion_weight=7)
    assert rank(felt_pool(), Query("x", emotion=SAD), settings)[0].weight == 0.5


def test_a_flat_memory_does_not_win_by_being_flat() -> None:
    """Multiplication lets it: proportional vectors have no emotional distance (RECALL, B3.13)."""
    flat = candidate(99, cosine=0.1, emotion=FLAT, emotion_source="head:x")
    query = Query("a remark", emotion=clamp([2, 2, 2, 2, 2, 2, 2, 2]))
    assert ids(rank([*felt_pool(), flat], query))[-1] == 99
    multiplied = rank([*felt_pool(), flat], query, RecallSettings(strategy=Strategy.COMBINE_MULTIPLY))
    assert ids(multiplied)[0] == 99


def test_every_number_is_kept() -> None:
    settings = RecallSettings(emotion_weight=0.3)
    ranked = rank(felt_pool(), Query("a remark", emotion=SAD, mood=SAD), settings)
    assert [item.rank for item in ranked] == list(range(1, 21))
    assert [item.score for item in ranked] == sorted((item.score for item in ranked), reverse=True)
    item = next(item for item in ranked if item.memory_id == 4)
    assert item.weight == 0.3
    assert item.d_emo == pytest.approx(0, abs=1e-6)
    assert item.d_sem == pytest.approx(math.sqrt(2 - 2 * 0.496))
    assert 0 <= item.meaning <= 1
    assert (item.text, item.speaker, item.kind) == ("memory 4", "Mira", "turn")


def test_unknown_numbers_stay_unknown() -> None:
    found = [*felt_pool(), candidate(50, cosine=None)]
    item = next(item for item in rank(found, Query("x", emotion=SAD)) if item.memory_id == 50)
    assert item.d_sem is None
    assert item.d_emo is None


@pytest.mark.parametrize("strategy", [s for s in Strategy if s is not Strategy.BALANCED])
def test_reference_strategies_pick_ten(strategy: Strategy) -> None:
    ranked = rank(felt_pool(40), Query("x", emotion=SAD), RecallSettings(strategy=strategy))
    assert len(ranked) == 10
    alone = strategy is Strategy.SEMANTIC_ONLY
    assert ranked[0].weight == (0.0 if alone else 1.0)
    assert (ids(ranked) == list(range(10))) == alone


@pytest.mark.parametrize("strategy", [s for s in Strategy if s is not Strategy.BALANCED])
def test_reference_strategies_without_feeling_go_by_meaning(strategy: Strategy) -> None:
    ranked = rank(felt_pool(), Query("x"), RecallSettings(strategy=strategy))
    assert ids(ranked) == list(range(10))
    assert {item.weight for item in ranked} == {0.0}


def test_reference_strategies_without_vectors_go_by_words() -> None:
    found = [candidate(n, cosine=None, bm25=float(n)) for n in range(12)]
    ranked = rank(found, Query("x", ceiling=20), RecallSettings(strategy=Strategy.SEMANTIC_ONLY))
    assert ids(ranked) == list(range(11, 1, -1))


def test_a_candidate_without_a_vector_comes_last_by_meaning() -> None:
    found = [candidate(50, cosine=None, bm25=9.0), *felt_pool()]
    ranked = rank(found, Query("x", ceiling=10), RecallSettings(strategy=Strategy.SEMANTIC_ONLY, k=30))
    assert ids(ranked)[-1] == 50


def test_observed_distances_belong_to_their_source() -> None:
    stats = observe(felt_pool(), Query("x", emotion=SAD), SourceStats())
    assert stats.spreads["head:x"].count == 20
    assert observe(felt_pool(), Query("x"), stats) is stats
    assert observe([], Query("x", emotion=SAD), stats) is stats


def test_ranking_two_hundred_is_quick() -> None:
    chance = np.random.default_rng(0)
    found = [
        candidate(n, cosine=float(chance.random()), bm25=float(chance.random()), emotion=SAD)
        for n in range(200)
    ]
    query = Query("What did Mira say in June?", ceiling=10, emotion=SAD, mood=SAD)
    times = []
    for _ in range(30):
        started = time.perf_counter()
        rank(found, query)
        times.append(time.perf_counter() - started)
    assert min(times) < 0.02
