"""What fires, where it stands, what has no room: the semantics of lore as tables."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.lore import Scan, Verdict, activate, placed
from bot.core.lore_decorators import Rules, read_decorators
from bot.core.lore_entries import Logic, LoreEntry, Position, read_book, read_entry, v3_book, v3_entry
from bot.core.lore_keys import split_keys
from tests.core.scene_parts import words


def search(pattern: str, flags: str, text: str) -> bool:
    """A search that a test can trust: `SLOW` takes too long."""
    if pattern == "SLOW":
        raise TimeoutError
    try:
        return re.search(pattern, text, re.IGNORECASE if "i" in flags else 0) is not None
    except re.error as problem:
        raise ValueError(str(problem)) from problem


def look(
    *entries: LoreEntry, said: str | list[str] = "Where is the ferry?", **scan: Any
) -> tuple[Verdict, ...]:
    texts = [said] if isinstance(said, str) else said
    return activate(
        entries, Scan(**{"texts": texts, "budget": 1000, "count": words, "search": search, **scan})
    )


def fires(entry: LoreEntry, said: str | list[str], **scan: Any) -> bool:
    (verdict,) = look(entry, said=said, **scan)
    return verdict.fired


def entry(content: str = "It never moors.", *keys: str, **fields: Any) -> LoreEntry:
    return LoreEntry(content=content, keys=keys or ("ferry",), **fields)


# ---------------------------------------------------------------- keys
@pytest.mark.parametrize(
    ("key", "said", "fields", "expected"),
    [
        ("ferry", "The FERRY drifts", {}, True),
        ("ferry", "The boat drifts", {}, False),
        ("king", "not to my liking", {}, True),
        ("king", "not to my liking", {"whole_words": True}, False),
        ("king", "long live the King!", {"whole_words": True}, True),
        ("the old king", "The  old\nking's men", {"whole_words": True}, True),
        ("King", "the king", {"case_sensitive": True}, False),
        ("King", "the King", {"case_sensitive": True}, True),
        ("King", "the Kingdom", {"case_sensitive": True, "whole_words": True}, False),
        ("ｆｅｒｒｙ", "ferry", {}, True),
        ("straße", "STRASSE", {}, True),
        ("élan", "un Élan!", {"whole_words": True}, True),
        ("кот", "который", {"whole_words": True}, False),
        ("кот", "Где кот?", {"whole_words": True}, True),
        ("猫", "黒猫がいる", {"whole_words": True}, True),
        ("서울", "서울에서 왔다", {"whole_words": True}, True),
        ("แมว", "นั่นแมวของฉัน", {"whole_words": True}, True),
        ("مدينة", "هذه مدينة قديمة", {"whole_words": True}, True),
        ("C++", "She writes C++.", {"whole_words": True}, True),
        ("", "anything", {}, False),
        ("/f(er)+y/", "fery fey", {}, True),
        ("/f(er)+y/", "fey", {}, False),
        ("/f(er)+ry/", "the ferry", {}, True),
        ("/Ferry/", "the ferry", {}, False),
        ("/Ferry/i", "the ferry", {}, True),
        ("/a/b/", "path a/b here", {}, True),
        ("f.rry", "the ferry", {"patterns": True}, True),
        ("F.RRY", "the ferry", {"patterns": True}, True),
        ("F.RRY", "the ferry", {"patterns": True, "case_sensitive": True}, False),
        ("f.rry", "the ferry", {}, False),
    ],
)
def test_a_key_is_found(key: str, said: str, fields: dict[str, Any], expected: bool) -> None:
    assert fires(LoreEntry(content="x", keys=(key,), **fields), said) is expected


def test_any_of_the_keys_is_enough() -> None:
    assert fires(entry("x", "boat", "ferry"), "the ferry")


@pytest.mark.parametrize(
    ("logic", "said", "expected"),
    [
        (Logic.AND_ANY, "ferry", False),
        (Logic.AND_ANY, "ferry rain", True),
        (Logic.AND_ANY, "ferry rain fog", True),
        (Logic.AND_ANY, "rain fog", False),
        (Logic.AND_ALL, "ferry rain", False),
        (Logic.AND_ALL, "ferry rain fog", True),
        (Logic.NOT_ANY, "ferry", True),
        (Logic.NOT_ANY, "ferry fog", False),
        (Logic.NOT_ALL, "ferry", True),
        (Logic.NOT_ALL, "ferry fog", True),
        (Logic.NOT_ALL, "ferry rain fog", False),
    ],
)
def test_secondary_keys_follow_four_logics(logic: Logic, said: str, expected: bool) -> None:
    assert fires(entry(secondary=("rain", "fog"), logic=logic), said) is expected


def test_a_pattern_that_is_slow_or_broken_is_told_and_the_next_key_serves() -> None:
    (slow,) = look(entry("x", "/SLOW/"))
    assert not slow.fired
    assert "/SLOW/ takes too long" in slow.why
    (broken,) = look(entry("x", "/(/"))
    assert "/(/ is broken" in broken.why
    assert fires(entry("x", "/SLOW/", "/(/", "ferry"), "ferry")


# ---------------------------------------------------------------- when
@pytest.mark.parametrize(
    ("depth", "expected"), [(None, True), (0, False), (1, False), (2, False), (3, True), (99, True)]
)
def test_only_so_many_turns_are_looked_at(depth: int | None, expected: bool) -> None:
    assert fires(entry(scan_depth=depth), ["the ferry", "a", "b"]) is expected
    assert not fires(entry(), ["the ferry", "a", "b"], depth=2)


def test_constant_entries_fire_without_keys_and_disabled_or_empty_ones_never() -> None:
    constant = LoreEntry(content="Always.", constant=True)
    assert fires(constant, [])
    for never, why in (
        (LoreEntry(content="x", constant=True, enabled=False), "switched off"),
        (LoreEntry(content="", constant=True), "empty"),
        (LoreEntry(content="x"), "no keys"),
    ):
        (verdict,) = look(never)
        assert not verdict.fired
        assert why in verdict.why


@pytest.mark.parametrize(("drawn", "expected"), [(0.0, True), (29.9, True), (30.0, False), (99.0, False)])
def test_probability_is_drawn_once(drawn: float, expected: bool) -> None:
    draws: list[str] = []

    def draw(one: LoreEntry) -> float:
        draws.append(one.content)
        return drawn

    verdicts = look(entry("rain", probability=30), entry("other"), draw=draw)
    assert verdicts[0].fired is expected
    assert expected or "30%" in verdicts[0].why
    assert draws == ["rain", "other"]
    assert not fires(entry(probability=0), "ferry")


# ---------------------------------------------------------------- one entry makes another fire
LINKS = ("ferry", "one", "two", "three", "four", "five", "six", "seven")
CHAIN = [entry(f"Then {name}.", key) for key, name in itertools.pairwise(LINKS)]


@pytest.mark.parametrize(("steps", "expected"), [(0, 1), (1, 2), (3, 4), (5, 6)])
def test_recursion_ends_after_its_steps(steps: int, expected: int) -> None:
    assert sum(verdict.fired for verdict in look(*CHAIN, steps=steps)) == expected


def test_recursion_can_be_switched_off_for_the_scan_and_for_entries() -> None:
    first, second = entry("It carries salt."), entry("Salt is taxed.", "salt")
    assert [one.fired for one in look(first, second)] == [True, True]
    assert "in what step 1 added" in look(first, second)[1].why
    assert [one.fired for one in look(first, second, recursive=False)] == [True, False]
    assert [one.fired for one in look(entry("It carries salt.", stays_alone=True), second)] == [True, False]
    assert not look(first, entry("x", "salt", only_from_turns=True))[1].fired
    late = entry("x", "ferry", only_from_entries=True)
    assert not fires(late, "ferry")
    assert look(entry("A ferry of salt."), late)[1].fired


def test_two_entries_that_name_each_other_end() -> None:
    assert all(one.fired for one in look(entry("The inn."), entry("The ferry.", "inn")))


# ---------------------------------------------------------------- room
def test_what_has_no_room_is_told_and_the_important_stays() -> None:
    verdicts = look(
        entry("low " * 4, order=1),
        entry("high " * 4, order=50),
        entry("wanted " * 4, order=0, priority=9),
        LoreEntry(content="always " * 4, constant=True, order=0),
        entry("short", order=-1),
        budget=17,
    )
    assert [one.fired for one in verdicts] == [False, True, True, True, True]
    assert "takes 5 tokens and 2 are left" in verdicts[0].why


def test_a_book_keeps_to_its_own_budget() -> None:
    small = {"book": "card", "book_budget": 8}
    verdicts = look(
        entry("low " * 4, order=1, **small),
        entry("high " * 4, order=50, **small),
        entry("short", order=0, **small),
        entry("other " * 4, order=0, book="world", book_budget=8),
        entry("free " * 40, order=0),
    )
    assert [one.fired for one in verdicts] == [False, True, True, True, True]
    assert "takes 5 tokens and 3 are left of its book's 8" in verdicts[0].why


def test_nothing_ever_passes_the_budget() -> None:
    verdicts = look(*(entry(f"word{number} " * (number % 7 + 1)) for number in range(60)), budget=50)
    assert sum(words(one.text) + 1 for one in verdicts if one.fired) <= 50
    assert any(one.fired for one in verdicts)


def test_the_same_text_is_said_once() -> None:
    first, second = look(entry("It never moors."), entry("it  NEVER moors."))
    assert (first.fired, second.fired) == (True, False)
    assert "says the same" in second.why


def test_low_order_stands_first_at_its_position() -> None:
    verdicts = look(
        entry("c", order=30),
        entry("a", order=10),
        entry("deep", order=1, position=Position.AT_DEPTH),
        entry("b", order=20, position=Position.AFTER),
    )
    assert [one.text for one in placed(verdicts, Position.BEFORE)] == ["a", "c"]
    assert [one.text for one in placed(verdicts, Position.AFTER, Position.AT_DEPTH)] == ["deep", "b"]


def test_macros_are_filled_in_keys_and_texts() -> None:
    (verdict,) = look(
        LoreEntry(content="{{char}} knows.", keys=("{{char}}",)),
        said="Ask Mira.",
        fill=lambda text: text.replace("{{char}}", "Mira"),
    )
    assert (verdict.fired, verdict.text) == (True, "Mira knows.")


# ---------------------------------------------------------------- decorators
@pytest.mark.parametrize(
    ("content", "rules", "text"),
    [
        ("plain", Rules(), "plain"),
        ("@@depth 5\n@@scan_depth 2\nbody", Rules(depth=5, scan_depth=2), "body"),
        ("@@activate\nbody\n@@depth 5", Rules(activate=True), "body\n@@depth 5"),
        ("@@dont_activate\nbody", Rules(never=True), "body"),
        ("@@position after_desc\nbody", Rules(position="after"), "body"),
        (
            "@@additional_keys a, b\n@@exclude_keys c\nbody",
            Rules(more_keys=("a", "b"), not_with=("c",)),
            "body",
        ),
        ("@@unheard_of 1\n@@@depth 3\nbody", Rules(depth=3, ignored=("unheard_of",)), "body"),
        ("@@depth 3\n@@@depth 9\nbody", Rules(depth=3), "body"),
        ("@@depth nine\nbody", Rules(ignored=("depth",)), "body"),
        ("@@role system\n@@is_greeting 1\n@@", Rules(ignored=("role", "is_greeting", "")), ""),
    ],
)
def test_decorators_are_followed_or_left_out_safely(content: str, rules: Rules, text: str) -> None:
    assert read_decorators(content) == (rules, text)


@pytest.mark.parametrize(
    ("content", "turns", "said", "expected"),
    [
        ("@@activate_only_after 3\nx", 2, "ferry", False),
        ("@@activate_only_after 3\nx", 3, "ferry", True),
        ("@@activate_only_every 3\nx", 4, "ferry", False),
        ("@@activate_only_every 3\nx", 6, "ferry", True),
        ("@@activate\nx", 0, "", True),
        ("@@activate\n@@dont_activate\nx", 0, "ferry", False),
        ("@@activate\n@@exclude_keys storm\nx", 0, "a storm", False),
        ("@@exclude_keys storm\nx", 0, "ferry in a storm", False),
        ("@@additional_keys boat\nx", 0, "boat", True),
    ],
)
def test_decorators_say_when(content: str, turns: int, said: str, expected: bool) -> None:
    assert fires(read_entry({"keys": ["ferry"], "content": content}), said, turns=turns) is expected


def test_only_what_always_fires_may_stand_before_the_window() -> None:
    always = {"content": "x", "constant": True}
    assert read_entry(always).standing
    for change in (
        {"enabled": False},
        {"extensions": {"position": 4}},
        {"extensions": {"probability": 50}},
        {"content": "@@activate_only_every 2\nx"},
        {"constant": False},
    ):
        assert not read_entry({"keys": [], **always, **change}).standing


# ---------------------------------------------------------------- formats
WORLD = {
    "entries": {
        "0": {
            "uid": 0,
            "key": ["ferry", "boat"],
            "keysecondary": ["rain"],
            "comment": "The ferry",
            "content": "It never moors.",
            "constant": False,
            "selective": True,
            "selectiveLogic": 3,
            "order": 70,
            "position": 4,
            "depth": 2,
            "disable": False,
            "probability": 40,
            "useProbability": True,
            "excludeRecursion": True,
            "preventRecursion": True,
            "delayUntilRecursion": False,
            "scanDepth": 7,
            "caseSensitive": True,
            "matchWholeWords": True,
            "group": "boats",
        },
        "1": {"uid": 1, "key": "a, b", "content": "Off.", "disable": True, "order": 1, "position": 1},
    }
}
CARD_ENTRY = {
    "keys": ["ferry", "boat"],
    "secondary_keys": ["rain"],
    "comment": "The ferry",
    "content": "It never moors.",
    "constant": False,
    "selective": True,
    "insertion_order": 70,
    "enabled": True,
    "position": "before_char",
    "use_regex": False,
    "extensions": {
        "position": 4,
        "depth": 2,
        "selectiveLogic": 3,
        "probability": 40,
        "useProbability": True,
        "exclude_recursion": True,
        "prevent_recursion": True,
        "scan_depth": 7,
        "case_sensitive": True,
        "match_whole_words": True,
    },
}


def test_world_files_and_card_entries_are_read_alike() -> None:
    entries, _ = read_book(WORLD)
    first, second = map(read_entry, entries)
    assert first == read_entry(CARD_ENTRY)
    assert first == LoreEntry(
        content="It never moors.",
        keys=("ferry", "boat"),
        secondary=("rain",),
        logic=Logic.AND_ALL,
        name="The ferry",
        whole_words=True,
        case_sensitive=True,
        scan_depth=7,
        order=70,
        position=Position.AT_DEPTH,
        depth=2,
        probability=40.0,
        only_from_turns=True,
        stays_alone=True,
    )
    assert (second.keys, second.enabled, second.position) == (("a", "b"), False, Position.AFTER)


def test_a_world_file_becomes_a_lorebook_without_losing_anything() -> None:
    entries, _ = read_book(WORLD)
    book = json.loads(json.dumps(v3_book("World", entries)))
    again, settings = read_book(book)
    assert settings.name == "World"
    assert [read_entry(one) for one in again] == [read_entry(one) for one in entries]
    assert again[0]["extensions"]["group"] == "boats"
    assert v3_entry(CARD_ENTRY) == CARD_ENTRY


def test_a_book_speaks_for_all_its_entries() -> None:
    _, settings = read_book(
        {"name": "W", "scan_depth": 9, "token_budget": 500, "recursive_scanning": False, "entries": [{}]}
    )
    assert (settings.scan_depth, settings.budget, settings.recursive) == (9, 500, False)
    assert read_book({"token_budget": 0, "entries": [{}]})[1].budget is None
    for bad in (None, [], {}, {"entries": []}, {"entries": [1]}, {"entries": "x"}):
        with pytest.raises(ValueError, match="no lore entries"):
            read_book(bad)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
ODD_KEYS = """
keys key content extensions enabled disable insertion_order order position probability constant selectiveLogic
scan_depth use_regex secondary_keys keysecondary comment name priority depth selective
"""
KEYS = st.sampled_from(ODD_KEYS.split())


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 10**400, -(10**400)])
def test_numbers_that_nobody_means_count_as_absent(number: float) -> None:
    plain = {"keys": ["ferry"], "content": "It never moors."}
    more = dict.fromkeys(("scan_depth", "depth", "probability", "book_budget"), number)
    odd = {**plain, "insertion_order": number, "priority": number, "extensions": more}
    assert read_entry(odd) == read_entry(plain)
    about = {"token_budget": number, "scan_depth": number, "entries": [plain]}
    settings = read_book(about)[1]
    assert (settings.budget, settings.scan_depth) == (None, None)


@given(st.dictionaries(KEYS, JSON | st.floats()))
def test_no_entry_however_odd_breaks_reading_or_firing(raw: dict[str, Any]) -> None:
    read = read_entry(raw)
    look(read, said="ferry")
    assert read_entry(v3_entry(raw)).content == read.content


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("ferry, the boat ,", ["ferry", "the boat"]),
        ("/a{1,2}/i, b", ["/a{1,2}/i", "b"]),
        ("a, /x\\/y,z/", ["a", "/x\\/y,z/"]),
        ("and/or, n/a", ["and/or", "n/a"]),
        (" , ", []),
    ],
)
def test_typed_keys_are_split_at_commas_outside_of_patterns(typed: str, keys: list[str]) -> None:
    assert split_keys(typed) == keys
