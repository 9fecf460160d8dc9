"""Almost-JSON is read, and nothing breaks the reader."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import loose_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Sure: {"a": [1, 2]} done', {"a": [1, 2]}),
        ("{'a': 'it's', 'b': \"x\"}", {"a": "it's", "b": "x"}),
        ("{a: b, c: [1, 2,],}", {"a": "b", "c": [1.0, 2.0]}),
        ("{'t': True, 'f': False, 'n': None}", {"t": True, "f": False, "n": None}),
        ('{"a": 1, "b": [2, 3', {"a": 1.0, "b": [2.0, 3.0]}),
        ('{"a": 1, "b":', {"a": 1.0}),
        ("[] {} [5]", [5]),
        ("no brackets here", None),
        ("", None),
    ],
)
def test_the_first_value_is_read(text: str, value: object) -> None:
    assert loose_json.read(text) == value


def test_every_value_is_found() -> None:
    assert list(loose_json.read_all("[1] then {'b': 2} and (3)")) == [[1], {"b": 2.0}]


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    list(loose_json.read_all(text))


@pytest.mark.parametrize(
    "piece", ["{", "[", "{]", "{'a", "[{", "'", '{"a":', "//", "{}", "[,", "(:", "[(", "{'a':'b' "]
)
def test_long_junk_is_read_quickly(piece: str) -> None:
    started = time.perf_counter()
    for count, _ in enumerate(loose_json.read_all(piece * 30_000)):
        if count > 50:
            break
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize("end", ["}", ",}"])  # strictly and loosely read
@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("caf\\u00e9 \\ud83c\\udfad", "café 🎭"),
        ("half \\ud83c of one", "half  of one"),
        ("half \\udfad of one", "half  of one"),
        ("no\\u0000thing", "nothing"),
        ('say \\"hi\\"\\nnow\\tor never', 'say "hi"\nnow\tor never'),
    ],
)
def test_escapes_become_what_a_database_takes(said: str, value: str, end: str) -> None:
    found = loose_json.read('{"a": "' + said + '"' + end)
    assert found == {"a": value}
    found["a"].encode()


def test_what_is_nested_without_an_end_is_cut() -> None:
    assert loose_json.read("[" * 900 + "1" + "]" * 900)
