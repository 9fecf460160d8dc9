"""Labelled lines in two forms, and a split that follows the text alone."""

import pytest

from bot.core.emotion import EMOTIONS
from bot.core.labelled_lines import GOEMOTIONS_LABELS, read_lines, targets


def feelings(line: str) -> list[frozenset[str]]:
    return [found.feelings for found in read_lines([line])]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Get out !\t1\n", {"anger"}),
        ("Trust me .\t8, 2", {"acceptance", "anticipation"}),
        ("A door .\t0", set()),
        ("Wow!\t26\tabc", {"surprise"}),
        ("Love it\t18,17\tabc", {"joy", "acceptance"}),
        ("Fine\t27\tabc", set()),
    ],
)
def test_both_forms_are_read(line: str, expected: set[str]) -> None:
    assert feelings(line) == [frozenset(expected)]


@pytest.mark.parametrize(
    "line", ["", "no labels", "\t1", "text\tjoy", "text\t9", "text\t99\tid", "text\t-1, x\tid", "text\t"]
)
def test_other_lines_are_passed_over(line: str) -> None:
    assert feelings(line) == []


def test_targets_stand_in_the_order_of_emotions() -> None:
    lines = list(read_lines(["a\t5", "b\t0", "c\t1,8"]))
    rows = targets(lines)
    assert rows.shape == (3, 8)
    assert rows[0].tolist() == [float(name == "joy") for name in EMOTIONS]
    assert rows[1].sum() == 0
    assert rows[2].tolist() == [float(name in ("anger", "acceptance")) for name in EMOTIONS]
    assert targets([]).shape == (0, 8)


def test_a_sentence_always_falls_into_the_same_part() -> None:
    first, second = read_lines(["Get  out !\t1", "get out !\t5\tid"])
    assert first.part == second.part
    parts = {next(read_lines([f"line {n}\t1"])).part for n in range(200)}
    assert parts == set(range(10))


def test_all_28_labels_lead_to_known_feelings() -> None:
    assert len(GOEMOTIONS_LABELS) == 28
    assert {name for _, names in GOEMOTIONS_LABELS for name in names} == set(EMOTIONS)
