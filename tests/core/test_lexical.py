"""Word search: exact BM25 in any scope, in any language, and nothing left of what was erased."""

import gc
import math
import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.lexical import (
    FEW,
    LONE,
    MANY,
    PAIR,
    TELLING,
    LexicalHits,
    LexicalIndex,
    date_words,
    query_tokens,
    same_sitting,
    text_key,
    tokens,
)
from bot.core.word_forms import WordForms

WHEN = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def plain_bm25(docs: dict[int, list[str]], query: list[str]) -> tuple[dict[int, float], float]:
    """BM25 as the textbook has it, document by document, and our doubt in what may be chance."""
    total = len(docs)
    average = sum(map(len, docs.values())) / total
    ceiling, scores = 0.0, dict.fromkeys(docs, 0.0)
    for word in set(query):
        holding = sum(word in doc for doc in docs.values())
        idf = math.log(1 + (total - max(holding, 1) + 0.5) / (max(holding, 1) + 0.5))
        ceiling += 2.2 * idf
        for number, doc in docs.items():
            count = doc.count(word)
            if count:
                scores[number] += 2.2 * idf * count / (count + 1.2 * (0.25 + 0.75 * len(doc) / average))
    for number, doc in docs.items():
        if scores[number] < TELLING * ceiling:
            scores[number] *= of_chance(len(set(query)), len(set(query) & set(doc)))
    return scores, ceiling


def of_chance(asked: int, met: int) -> float:
    if met == 1 and asked >= FEW:
        return LONE
    return PAIR if met == 2 and asked >= MANY else 1.0


def by_id(hits: LexicalHits) -> dict[int, tuple[float, float]]:
    return {
        int(number): (float(own), float(around))
        for number, own, around in zip(hits.ids, hits.bm25, hits.bm25_context, strict=True)
    }


def story(texts: list[str], **columns: int) -> LexicalIndex:
    index = LexicalIndex()
    for number, text in enumerate(texts):
        index.add(number, text, previous_id=number - 1 if number else None, **columns)
    return index


TEXTS = [
    "the dragon sleeps under the hill",
    "nobody wakes the dragon",
    "we ate bread and cheese",
    "the hill is green in spring",
    "a dragon dragon dragon",
    "spring came late that year",
]


@pytest.mark.parametrize(
    "query", ["dragon", "dragon hill", "green spring unicorn", "the", "cheese year bread"]
)
def test_own_words_score_exact_bm25(query: str) -> None:
    index = story(TEXTS)
    words = list(dict.fromkeys(tokens(query)))
    scores, ceiling = plain_bm25({n: tokens(text) for n, text in enumerate(TEXTS)}, words)
    hits = index.search(words, limit=100)
    for number, (own, _) in by_id(hits).items():
        assert own == pytest.approx(scores[number], rel=1e-5)
    assert {n for n, score in scores.items() if score} <= set(by_id(hits))
    assert hits.ceiling == pytest.approx(ceiling)


def context_of(docs: dict[int, list[str]], order: list[int], number: int) -> list[str]:
    at = order.index(number)
    return [word for n in order[max(0, at - 2) : at + 2] for word in docs[n]]


@pytest.mark.parametrize("query", ["dragon", "dragon hill", "green spring unicorn"])
def test_context_is_the_text_with_two_before_and_one_after(query: str) -> None:
    docs = {n: tokens(text) for n, text in enumerate(TEXTS)}
    order = list(docs)
    words = list(dict.fromkeys(tokens(query)))
    scores, ceiling = plain_bm25({n: context_of(docs, order, n) for n in docs}, words)
    hits = story(TEXTS).search(words, limit=100)
    assert hits.ceiling_context == pytest.approx(ceiling)
    assert {n for n, score in scores.items() if score} == set(by_id(hits))
    for number, (_, around) in by_id(hits).items():
        assert around == pytest.approx(scores[number], rel=1e-5)


def test_the_best_stand_first_and_the_limit_holds() -> None:
    hits = story(TEXTS).search(["dragon"], limit=2)
    assert len(hits.ids) == 2
    assert hits.ids[0] in (0, 1, 4)
    shares = hits.bm25 / hits.ceiling + hits.bm25_context / hits.ceiling_context
    assert shares[0] >= shares[1]


def test_a_share_of_the_ceiling_is_low_for_a_weak_match() -> None:
    hits = story(TEXTS).search(["bread", "unicorn", "castl", "king"], limit=1)
    assert float(hits.bm25[0] / hits.ceiling) < 0.4


def test_a_match_in_one_word_of_several_counts_as_chance_and_is_still_found() -> None:
    texts = [*TEXTS, "the knight left the cave in the autumn rain", "rain fell on the old mill"]
    index = story(texts)
    query = ["knight", "cave", "rain"]
    hits = by_id(index.search(query, limit=10))
    both, alone = hits[len(TEXTS)][0], hits[len(TEXTS) + 1][0]
    assert 0 < alone < 0.1 * both
    only = by_id(index.search(["rain"], limit=10))
    assert only[len(TEXTS) + 1][0] > 0.5 * only[len(TEXTS)][0]


def test_one_word_that_is_nearly_all_of_the_query_is_no_chance() -> None:
    """A rare name beside a word that everybody says."""
    index = story([*(f"the day went by, the {n}." for n in range(30)), "Grzelda waits"])
    hits = index.search(["grzelda", "day"], limit=3)
    assert hits.ids[0] == 30
    assert float(hits.bm25[0] / hits.ceiling) > TELLING


def test_what_was_found_by_other_means_is_returned_too() -> None:
    index = story(TEXTS)
    hits = by_id(index.search(["cheese"], limit=1, also=[5, 99]))
    assert 5 in hits
    assert 99 not in hits
    assert hits[5][0] == 0


def test_hidden_memories_neither_show_nor_count() -> None:
    index = LexicalIndex()
    for number, text in enumerate(TEXTS):
        previous = number - 1 if number else None
        index.add(number, text, previous_id=previous, audience_id=number % 2, place_id=7)
    seen = {n: tokens(text) for n, text in enumerate(TEXTS) if n % 2 == 0}
    scores, ceiling = plain_bm25(seen, ["dragon"])
    hits = index.search(["dragon"], audiences=[0])
    assert set(by_id(hits)) <= set(seen)
    assert hits.ceiling == pytest.approx(ceiling)
    assert by_id(hits)[4][0] == pytest.approx(scores[4], rel=1e-5)
    assert not len(index.search(["dragon"], audiences=[]).ids)
    assert not len(index.search(["dragon"], audiences=[5]).ids)
    assert not len(index.search(["dragon"], places=[8]).ids)
    assert len(index.search(["dragon"], places=[7], audiences=[0, 1]).ids)


def test_a_hidden_neighbour_gives_no_context() -> None:
    index = LexicalIndex()
    index.add(1, "the secret password is swordfish", audience_id=1)
    index.add(2, "lovely weather", previous_id=1, audience_id=2)
    assert not len(index.search(["swordfish"], audiences=[2]).ids)
    assert len(index.search(["swordfish"], audiences=[1, 2]).ids) == 2


def test_an_empty_index_or_query_finds_nothing() -> None:
    empty = LexicalIndex()
    assert not len(empty.search(["dragon"]).ids)
    assert not len(story(TEXTS).search([]).ids)
    assert not len(story(TEXTS).search(["unicorn"]).ids)
    assert not len(story(TEXTS).search(["dragon"], limit=0).ids)
    index = story(["", "..."])
    assert not len(index.search(["dragon"]).ids)


def remains(index: LexicalIndex, word: str) -> bool:
    """Look through everything the index holds for a piece of text."""
    seen: set[int] = set()
    waiting: list[object] = [index]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, type):
            continue
        seen.add(id(thing))
        if isinstance(thing, str) and word in thing:
            return True
        if isinstance(thing, bytes) and word.encode() in thing:
            return True
        waiting.extend(gc.get_referents(thing) if not callable(thing) else [])
    return False


def test_an_erased_memory_leaves_no_word_and_no_count() -> None:
    index = story(TEXTS)
    index.add(50, "her grandmother Quintilla kept xylophones", previous_id=5)
    assert remains(index, "quintilla")
    assert index.remove(50)
    assert 50 not in index
    assert not index.knows("quintilla")
    assert not remains(index, "quintilla")
    assert not remains(index, "xylophon")
    fresh = story(TEXTS)
    for query in (["dragon", "hill"], ["spring"], ["grandmother"]):
        ours, theirs = index.search(query), fresh.search(query)
        assert ours.ids.tolist() == theirs.ids.tolist()
        assert ours.bm25_context == pytest.approx(theirs.bm25_context)
        assert (ours.ceiling, ours.ceiling_context) == (theirs.ceiling, theirs.ceiling_context)
    assert not index.remove(50)


def test_an_erased_memory_leaves_its_neighbours_context() -> None:
    index = story(["alpha", "swordfish", "beta"])
    assert len(index.search(["swordfish"]).ids) == 3
    index.remove(1)
    assert not len(index.search(["swordfish"]).ids)
    assert set(by_id(index.search(["alpha"]))) == {0, 2}


def test_a_replaced_text_keeps_its_place() -> None:
    index = story(["alpha", "swordfish", "beta"])
    assert index.replace(1, "marlin")
    assert not index.knows("swordfish")
    assert set(by_id(index.search(["marlin"]))) == {0, 1, 2}
    assert not index.replace(9, "nothing")
    assert len(index) == 3


def test_adding_a_known_memory_replaces_it() -> None:
    index = story(["alpha", "beta"])
    index.add(1, "gamma")
    assert len(index) == 2
    assert not index.knows("beta")


def test_the_turn_before_may_come_later() -> None:
    index = LexicalIndex()
    index.add(2, "beta", previous_id=1)
    index.add(1, "alpha")
    assert set(by_id(index.search(["alpha"]))) == {1, 2}


def test_a_late_turn_is_put_between_its_neighbours() -> None:
    index = LexicalIndex()
    index.add(1, "alpha")
    index.add(3, "gamma", previous_id=1)
    index.add(2, "beta", previous_id=1)
    assert set(by_id(index.search(["gamma"]))) == {2, 3}
    assert set(by_id(index.search(["alpha"]))) == {1, 2, 3}


def test_a_memory_that_names_itself_or_a_gone_one_stands_alone() -> None:
    index = LexicalIndex()
    index.add(1, "alpha", previous_id=1)
    index.add(2, "beta", previous_id=77)
    assert set(by_id(index.search(["alpha"]))) == {1}


words = st.sampled_from(["dragon", "hill", "king", "queen", "bread", "night", "river", "song"])
actions = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "remove", "replace"]),
        st.integers(0, 12),
        st.lists(words, max_size=6).map(" ".join),
        st.integers(0, 12) | st.none(),
        st.integers(0, 2),
    ),
    max_size=30,
)


@settings(deadline=None)
@given(actions, st.lists(words, min_size=1, max_size=4, unique=True))
def test_after_any_history_own_scores_equal_a_fresh_index(
    history: list[tuple[str, int, str, int | None, int]], query: list[str]
) -> None:
    index = LexicalIndex()
    living: dict[int, tuple[str, int]] = {}
    for action, number, text, previous, audience in history:
        if action == "add":
            index.add(number, text, previous_id=previous, audience_id=audience)
            living[number] = (text, living[number][1] if number in living else audience)
        elif action == "remove":
            assert index.remove(number) == (living.pop(number, None) is not None)
        elif index.replace(number, text):
            living[number] = (text, living[number][1])
    fresh = LexicalIndex()
    for number, (text, audience) in living.items():
        fresh.add(number, text, audience_id=audience)
    wanted = [tokens(word)[0] for word in query]
    for audiences in (None, [0, 2]):
        ours, theirs = (i.search(wanted, audiences=audiences) for i in (index, fresh))
        assert ours.ceiling == pytest.approx(theirs.ceiling)
        own = {n: own for n, (own, _) in by_id(ours).items() if own}
        assert own == pytest.approx({n: own for n, (own, _) in by_id(theirs).items() if own}, rel=1e-5)


def test_frequent_words_are_counted_like_rare_ones() -> None:
    """The paths for frequent, middling and rare words agree with the textbook on a larger story."""
    chance = random.Random(5)
    names = [f"word{n}" for n in range(400)]
    docs = [chance.choices(names, [1 / (n + 1) for n in range(400)], k=12) for _ in range(900)]
    index = story([" ".join(doc) for doc in docs])
    order = list(range(len(docs)))
    cut = {n: tokens(" ".join(doc)) for n, doc in enumerate(docs)}
    around = {n: context_of(cut, order, n) for n in cut}
    counts = Counter(word for doc in cut.values() for word in set(doc))
    common, rare = counts.most_common(1)[0][0], min(counts, key=lambda word: counts[word])
    middle = sorted(counts, key=lambda word: counts[word])[len(counts) // 2]
    query = [common, middle, rare]
    hits = index.search(query, limit=2000)
    own, _ = plain_bm25(cut, query)
    wide, ceiling = plain_bm25(around, query)
    assert hits.ceiling_context == pytest.approx(ceiling)
    for number, (mine, context) in by_id(hits).items():
        assert mine == pytest.approx(own[number], rel=1e-4)
        assert context == pytest.approx(wide[number], rel=1e-4)


def test_a_search_keeps_no_view_that_would_block_adding() -> None:
    index = story(TEXTS)
    hits = index.search(["dragon"])
    index.add(100, "another dragon")
    assert len(hits.ids)
    assert 100 in index


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("我喜欢龙和火", "龙", True),
        ("我喜欢龙和火", "喜欢", True),
        ("昔々、竜が山に住んでいた", "山に", True),
        ("옛날에 용이 살았다", "용이", True),
        ("มังกรอยู่ในถ้ำ", "มังกร", True),
        ("L'épée de João", "epee", True),
        ("epee de Joao", "ÉPÉE João", True),
        ("ｄｒａｇｏｎ", "Dragon", True),
        ("Drachenstraße", "DRACHENSTRASSE", True),
        ("तलवार मिली", "तलवार", True),
        ("Дракон ещё спит", "еще", True),
        ("Caroline's necklace", "caroline", True),
        ("Caroline’s necklace", "caroline", True),
        ("stories of movies", "story movie", True),
        ("she hugged him, running", "hug run", True),
        ("我喜欢龙", "虎", False),
        ("dragonfly", "dragon", False),
    ],
)
def test_words_of_any_script_are_found(text: str, query: str, found: bool) -> None:
    index = LexicalIndex()
    index.add(1, text)
    assert bool(len(index.search(index.query_tokens(query)).ids)) is found


def test_without_stemming_words_stay_whole() -> None:
    index = LexicalIndex(WordForms(stem=str))
    index.add(1, "stories")
    assert not len(index.search(index.query_tokens("story")).ids)
    assert tokens("stories", stem=False) == ["stories"]


def test_function_words_leave_a_query_but_never_all_of_it() -> None:
    assert query_tokens("What did the dragon eat?") == ["dragon", "eat"]
    assert query_tokens("Who are you?") == ["who", "are", "you"]
    assert query_tokens("") == []


def test_a_key_names_speaker_and_day() -> None:
    assert date_words(WHEN) == "8 may 2023 monday"
    assert text_key("Mira", WHEN, "Hello") == "Mira 8 may 2023 monday Hello"


def test_a_sitting_ends_after_some_hours() -> None:
    assert same_sitting(WHEN, WHEN + timedelta(hours=5))
    assert not same_sitting(WHEN, WHEN + timedelta(hours=7))


@given(st.text())
def test_any_text_gives_tokens(text: str) -> None:
    for token in tokens(text):
        assert token
        assert len(token) <= 64


def test_ids_are_whole_numbers_as_large_as_snowflakes() -> None:
    index = LexicalIndex()
    index.add(2**62, "dragon")
    assert index.search(["dragon"]).ids.tolist() == [2**62]
    assert index.search(["dragon"]).ids.dtype == np.int64
