"""The set of feelings is what it says it is, and the benchmark measures one small persona of it."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import feeling
from benchmarks._feelings import FOLDER, KINDS, MOODS, Asked, Character, Told, read

SMALL = Character(
    name="Nell",
    description="Nell keeps bees.",
    member="Ott",
    memories=(
        Told("Nell", "joy", "The queen bee flew and we all laughed with delight!"),
        Told("Ott", "fear", "The swarm came for me and I ran screaming in terror."),
        Told("Nell", "sadness", "The oak that grandfather planted fell in the night. I wept."),
        *(Told("Ott", "joy", f"Honey jar number {number} is full, hooray!") for number in range(7)),
    ),
    queries=(
        Asked("irrelevant", "Which tree fell in the night?", 2, ("What a glad day!", "I love it!")),
        Asked("relevant", "Let us talk of the bees.", 1, ("Help, I am terrified!", "Hide!")),
        Asked("comfort", "I am sad about the bees.", 0, ("He is dead.", "I cannot stop crying.")),
    ),
)


def test_the_set_is_large_enough_and_no_place_in_a_topic_is_favoured() -> None:
    characters = read()
    kinds = Counter(query.kind for character in characters for query in character.queries)
    assert len(characters) == 3
    assert sum(len(character.memories) for character in characters) >= 150
    assert all(kinds[kind] >= 100 for kind in KINDS)
    for character in characters:
        wanted = [query.gold for query in character.queries if query.kind == "relevant"]
        assert sorted(wanted) == list(range(len(character.memories)))
        assert len({told.text for told in character.memories}) == len(character.memories)


def test_the_mood_of_an_irrelevant_query_is_not_that_of_the_wanted_memory() -> None:
    moods = {tuple(lines): mood for mood, every in read_moods().items() for lines in every}
    for character in read():
        for query in character.queries:
            same = moods[query.before] == character.memories[query.gold].feeling
            assert same is (query.kind == "relevant")


def read_moods() -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = tomllib.loads((FOLDER / MOODS).read_text(encoding="utf-8"))
    return found


def test_an_unknown_feeling_is_refused(tmp_path: Path) -> None:
    (tmp_path / "moods.toml").write_text("joy = [['Hooray!', 'At last!']]")
    (tmp_path / "one.toml").write_text(
        'persona = "A"\ndescription = "B"\nmember = "C"\n[[topic]]\nname = "x"\n'
        'memories = [["A", "glee", "Ha!"]]\nrelevant = []\nirrelevant = []\ncomfort = []\n'
    )
    with pytest.raises(ValueError, match="glee"):
        read(tmp_path)


def test_it_measures_every_strategy_on_every_kind() -> None:
    figures = feeling.run([], characters=[SMALL])
    assert figures["queries"] == {"relevant": 1, "irrelevant": 1, "comfort": 1}
    for kind in KINDS:
        assert figures[kind].keys() == feeling.variants().keys()
        assert "difference" not in figures[kind]["semantic_only"]
        assert all(0 <= one["top1"] <= one["top5"] <= 1 for one in figures[kind].values())
    assert figures["irrelevant"]["balanced"]["top1"] == 1.0


def test_an_interval_holds_the_difference_and_is_a_point_without_any() -> None:
    assert feeling._difference([1, 2, 1], [1, 2, 1]) == {"difference": 0.0, "low": 0.0, "high": 0.0}
    found = feeling._difference([1] * 60 + [2] * 40, [1] * 40 + [2] * 60)
    assert found["low"] < found["difference"] == 0.2 < found["high"]
