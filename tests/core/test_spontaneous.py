"""What comes to mind by itself: strong memories, or those that fit the mood."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bot.core.spontaneous import pick
from bot.core.types import Memory, MemoryKind
from bot.core.vectors import Vector
from tests.core.scene_parts import memory


def felt(joy: float = 1, sadness: float = 1, anger: float = 1) -> Vector:
    return np.array([joy, 1, 1, 1, sadness, 1, anger, 1], dtype=np.float32)


def buried(number: int, emotion: Vector | None) -> Memory:
    return memory(number, emotion, "We buried him under the oak.")


STRONG, FAINT = buried(1, felt(joy=9)), buried(2, felt(sadness=3.2))


def test_without_a_mood_the_strongest_comes() -> None:
    assert pick([FAINT, STRONG], None, resting=()) == STRONG
    assert pick([FAINT], None, resting=()) is None


def test_a_mood_brings_what_felt_alike_before_what_was_only_strong() -> None:
    sad = buried(3, felt(sadness=8))
    assert pick([STRONG, sad], felt(sadness=7), resting=()) == sad
    assert pick([FAINT], felt(sadness=7), resting=()) == FAINT


def test_what_rests_stays_away() -> None:
    assert pick([STRONG, FAINT], None, resting={1}) is None


def test_facts_pins_scraps_and_unknown_feelings_do_not_come_up() -> None:
    others = [
        replace(STRONG, kind=MemoryKind.FACT),
        replace(STRONG, kind=MemoryKind.PINNED),
        replace(STRONG, text="Hm."),
        replace(STRONG, emotion=None),
    ]
    assert pick(others, None, resting=()) is None
