"""The emotion vector, and reading eight numbers out of whatever a model wrote."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import emotion
from bot.core.emotion import EMOTIONS, FLAT, parse_scores

JOY, ACCEPTANCE, FEAR, SURPRISE, SADNESS, DISGUST, ANGER, ANTICIPATION = range(8)


def named(**scores: float) -> list[float]:
    return [scores.get(name, 1.0) for name in EMOTIONS]


def test_the_order_is_the_contract() -> None:
    assert EMOTIONS == (
        "joy",
        "acceptance",
        "fear",
        "surprise",
        "sadness",
        "disgust",
        "anger",
        "anticipation",
    )
    assert FLAT.tolist() == [1.0] * 8
    with pytest.raises(ValueError, match="read-only"):
        FLAT[0] = 2


def test_opposites_face_each_other() -> None:
    pairs = {frozenset((EMOTIONS[i], EMOTIONS[other])) for i, other in enumerate(emotion.OPPOSITES)}
    assert pairs == {
        frozenset(pair)
        for pair in (
            ("joy", "sadness"),
            ("acceptance", "disgust"),
            ("fear", "anger"),
            ("surprise", "anticipation"),
        )
    }


def test_clamp_keeps_the_scale_and_repairs_what_is_not_finite() -> None:
    clamped = emotion.clamp([0, 11, math.nan, math.inf, -3, 5.5, 1, 10])
    assert clamped.tolist() == [1, 10, 1, 1, 1, 5.5, 1, 10]
    assert clamped.dtype == np.float32


@pytest.mark.parametrize("wrong", [[], [1] * 7, [[1] * 8], 3])
def test_clamp_refuses_another_length(wrong: object) -> None:
    with pytest.raises(ValueError):
        emotion.clamp(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "vector",
    [
        [1, 2, 3, 4, 5, 6, 7, 8],
        [8, 7, 6, 5, 4, 3, 2, 1],
        [1.5, 2.5, 3, 4, 5, 6, 7, 9.5],
        [5] * 8,
        [1] * 8,
        [0, 1, 5, 1, 1, 1, 1, 1],
        [1, 1, 11, 1, 1, 1, 1, 1],
        [1, 1, math.nan, 1, 1, 1, 1, 2],
        [1, 1, math.inf, 1, 1, 1, 1, 2],
        [1, 2, 3],
    ],
)
def test_numbers_that_are_no_judgement_are_degenerate(vector: list[float]) -> None:
    assert emotion.is_degenerate(vector)


@pytest.mark.parametrize(
    "vector", [[1, 1, 1, 1, 1, 1, 1, 2], [8, 2, 1, 3, 1, 1, 1, 4], [1, 1, 2, 2, 3, 3, 4, 4]]
)
def test_ordinary_numbers_are_not_degenerate(vector: list[float]) -> None:
    assert not emotion.is_degenerate(vector)


def test_flat_means_that_nothing_stands_out() -> None:
    assert emotion.is_flat([5] * 8)
    assert emotion.is_flat([1, 1, 1, 1.9, 1, 1, 1, 1])
    assert not emotion.is_flat([1, 1, 1, 2.5, 1, 1, 1, 1])


def test_distance_is_one_minus_cosine_of_the_raw_numbers() -> None:
    glad, sad = named(joy=9), named(sadness=9)
    expected = 1 - np.dot(glad, sad) / (np.linalg.norm(glad) * np.linalg.norm(sad))
    assert emotion.distance(glad, sad) == pytest.approx(expected)
    assert emotion.distance(glad, glad) == pytest.approx(0, abs=1e-12)
    assert emotion.distance([0] * 8, sad) == 1


def test_strongest_names_come_first_and_the_lowest_are_left_out() -> None:
    assert emotion.strongest(named(fear=7, joy=3), 3) == [("fear", 7.0), ("joy", 3.0)]
    assert emotion.strongest(FLAT) == []


def test_stack_marks_what_is_unknown() -> None:
    rows, known = emotion.stack([emotion.clamp(named(joy=4)), None])
    assert rows.tolist() == [named(joy=4), [1.0] * 8]
    assert known.tolist() == [True, False]
    assert emotion.stack([])[0].shape == (0, 8)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"joy": 8, "anger": 2}', named(joy=8, anger=2)),
        ('```json\n{"Joy": 8, "Trust": 3}\n```\nI scored it.', named(joy=8, acceptance=3)),
        ("{'joy': 8, 'fear': '3',}", named(joy=8, fear=3)),
        ("Here you are: [2, 1, 9, 1, 1, 1, 1, 4]", [2, 1, 9, 1, 1, 1, 1, 4]),
        ('I [really] mean ["2", "1", 9, 1, 1, 1, 1, 4]', [2, 1, 9, 1, 1, 1, 1, 4]),
        (
            "[{'analysis': \"it's a gift\", 'dim': 'joy', 'score': 7}, {'dim': 'anger', 'score': 80}]",
            named(joy=7, anger=10),
        ),
        ("[{'analysis': 'he's glad', 'dim': 'joy', 'score': 7}]", named(joy=7)),
        ([{"dim": "joy", "score": "7"}, {"dim": "fear", "score": None}], named(joy=7)),
        ([{"emotion": "SADNESS", "intensity": "6/10"}], named(sadness=6)),
        ({"emotions": {"fear": 5}}, named(fear=5)),
        ({"turn": 3, "scores": [1, 2, 1, 1, 1, 1, 9, 1]}, [1, 2, 1, 1, 1, 1, 9, 1]),
        ({"joy": {"score": 5, "reason": "a gift"}}, named(joy=5)),
        ('{"喜悦": 8, "恐惧": 3}', named(joy=8, fear=3)),
        ('{"joie": 8, "Colère": 4, "dégoût": 2}', named(joy=8, anger=4, disgust=2)),
        ('{"гнев": 7}', named(anger=7)),
        ('{"JOY ": 0, "fear": -4, "anger": 1e9}', named(joy=1, fear=1, anger=10)),
        ('{"joy": 8, "anger": 3, "fea', named(joy=8, anger=3)),
        ("joy: 7\nfear: 2", named(joy=7, fear=2)),
        ("**Joy**: 8/10\n**Anger** - 2", named(joy=8, anger=2)),
        ('{"joy": true, "fear": 3}', named(fear=3)),
        ('{"joy": NaN, "fear": 3}', named(fear=3)),
        ((1, 2, 1, 1, 1, 1, 1, 3), [1, 2, 1, 1, 1, 1, 1, 3]),
        (np.array([1, 2, 1, 1, 1, 1, 1, 3.5]), [1, 2, 1, 1, 1, 1, 1, 3.5]),
        ([["joy", 4], ["fear", 2]], named(joy=4, fear=2)),
        (b'{"joy": 4}', named(joy=4)),
        ({"Joy": 4, "joy": 9}, named(joy=4)),
        ("“joy”: 4 then {“joy”: 6}", named(joy=6)),
    ],
)
def test_scores_are_read_from_any_form(reply: object, expected: list[float]) -> None:
    scores = parse_scores(reply)
    assert scores is not None
    assert scores.tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Certainly! She feels wonderful.",
        "I cannot help with that.",
        "[1, 2, 3]",
        "{}",
        "[]",
        '{"happy hour": 5}',
        '{"joy": "very much"}',
        [1, 2, 3, 4, 5, 6, 7],
        [1, 2, 3, 4, 5, 6, 7, "many"],
        None,
        7,
        True,
        {"a": {"b": {"c": None}}},
        "{" * 500,
        "[" * 50_000,
        "{'a': " * 3000,
        "((((" * 1000,
    ],
)
def test_what_holds_no_scores_is_none(reply: object) -> None:
    assert parse_scores(reply) is None


def test_a_deeply_nested_object_does_not_exhaust_the_stack() -> None:
    nested: object = {"joy": 3}
    for _ in range(2000):
        nested = [nested]
    assert parse_scores(nested) is None


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(EMOTIONS),
    lambda inner: (
        st.lists(inner, max_size=9) | st.dictionaries(st.sampled_from(EMOTIONS) | st.text(max_size=6), inner)
    ),
    max_leaves=20,
)


def assert_valid_or_none(scores: object) -> None:
    if scores is not None:
        assert isinstance(scores, np.ndarray)
        assert scores.shape == (8,)
        assert scores.dtype == np.float32
        assert ((scores >= 1) & (scores <= 10)).all()


@given(st.text(alphabet=st.sampled_from("{}[]()\"',:= \n\\-0123456789.joyfearangr“”`//*é喜悦")))
def test_any_text_gives_a_valid_vector_or_none(text: str) -> None:
    assert_valid_or_none(parse_scores(text))


@given(json_values)
def test_any_object_gives_a_valid_vector_or_none(value: object) -> None:
    assert_valid_or_none(parse_scores(value))


scores_in_order = st.lists(
    st.floats(1, 10, allow_nan=False).map(lambda x: round(x, 2)), min_size=8, max_size=8
)


@given(
    scores_in_order, st.sampled_from(["json", "python", "fenced", "listed", "numbers", "upper"]), st.data()
)
def test_what_was_written_is_what_is_read(values: list[float], form: str, data: st.DataObject) -> None:
    pairs = dict(zip(EMOTIONS, values, strict=True))
    order = data.draw(st.permutations(EMOTIONS))
    shuffled = {name: pairs[name] for name in order}
    written = {
        "json": json.dumps(shuffled),
        "python": str(shuffled),
        "fenced": f"Sure!\n```json\n{json.dumps(shuffled, indent=1)}\n```\nDone.",
        "listed": str(
            [{"analysis": "so it's", "dim": name, "score": score} for name, score in shuffled.items()]
        ),
        "numbers": json.dumps(values),
        "upper": json.dumps({name.upper(): str(score) for name, score in shuffled.items()}),
    }[form]
    read = parse_scores(written)
    assert read is not None
    assert read.tolist() == pytest.approx(values, rel=1e-6)
