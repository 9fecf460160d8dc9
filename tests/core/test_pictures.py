"""Which moments of a scene a timeline labels."""

from __future__ import annotations

from bot.core.pictures import LABELLED, LONGEST_LABEL, timeline
from bot.core.types import Memory
from tests.core.scene_parts import memory


def feared(number: int, strongest: float | None, text: str = "") -> Memory:
    return memory(number, None if strongest is None else [1, 1, strongest, 1, 1, 1, 1, 1], text)


def test_the_strongest_moments_are_labelled_with_room_between_them() -> None:
    strong = {0: 9.0, 2: 8.0, 20: 7.0, 40: 6.0, 60: 5.0, 80: 4.5, 95: 4.2}
    made = timeline("Feast", [feared(at, strong.get(at, 2.0)) for at in range(100)])
    assert len(made.feelings) == 100
    assert [at for at, _ in made.labels] == [0, 20, 40, 60, 80]
    assert len(made.labels) == LABELLED
    assert made.labels[0][1] == "Alice: moment 0"


def test_faint_and_unknown_feelings_get_no_label() -> None:
    made = timeline("Feast", [feared(1, 3.0), feared(2, None)])
    assert (len(made.feelings), made.labels) == (1, ())


def test_a_long_text_is_cut() -> None:
    ((_, label),) = timeline("Feast", [feared(1, 9.0, "word " * 40)]).labels
    assert len(label) <= LONGEST_LABEL
    assert label.endswith("…")
