"""Scenes come up for their notes in the order of their moments, however often these change."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from bot.core.types import Place
from bot.engine.due_notes import ENOUGH_TURNS, PATIENCE, Due, DueNotes

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TAVERN = Place(id=500, guild_id=9, name="tavern")


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


def taken(due: Due | None) -> int | None:
    return due.scene_id if due else None


def test_enough_turns_come_at_once_and_few_after_a_while() -> None:
    clock = Clock()
    waiting = DueNotes(now=clock)
    waiting.note(TAVERN, 1, 1)
    waiting.note(TAVERN, 2, ENOUGH_TURNS)
    assert taken(waiting.take()) == 2
    assert waiting.take() is None
    assert waiting.pause() == 60.0
    clock.now += PATIENCE - timedelta(seconds=30)
    assert waiting.pause() == 30.0
    clock.now += timedelta(seconds=30)
    assert taken(waiting.take()) == 1


def test_a_scene_that_is_worked_on_is_not_taken_again_until_it_is_given_back() -> None:
    waiting = DueNotes(now=Clock())
    waiting.note(TAVERN, 1, ENOUGH_TURNS)
    due = waiting.take()
    assert due is not None
    assert waiting.busy
    waiting.note(TAVERN, 1, ENOUGH_TURNS + 1)
    assert waiting.take() is None
    waiting.give_back(due)
    assert not waiting.busy
    assert waiting.take() is due


def test_a_scene_with_nothing_left_is_forgotten_and_comes_back_as_new() -> None:
    clock = Clock()
    waiting = DueNotes(now=clock)
    waiting.note(TAVERN, 1, 3)
    waiting.note(TAVERN, 1, 0)
    assert len(waiting) == 0
    clock.now += PATIENCE
    assert waiting.take() is None
    waiting.note(TAVERN, 1, 1)
    assert waiting.take() is None  # it waits from now on
    clock.now += PATIENCE
    assert taken(waiting.take()) == 1


def test_what_was_put_off_comes_later() -> None:
    clock = Clock()
    waiting = DueNotes(now=clock)
    waiting.note(TAVERN, 1, ENOUGH_TURNS)
    due = waiting.take()
    assert due is not None
    due.not_before = NOON + timedelta(hours=1)
    waiting.give_back(due)
    waiting.note(TAVERN, 1, ENOUGH_TURNS + 1)
    assert waiting.take() is None
    clock.now += timedelta(hours=1)
    assert waiting.take() is due


def test_it_takes_whom_a_search_through_all_would_take() -> None:
    chance, clock = random.Random(7), Clock()
    waiting = DueNotes(now=clock)
    for _ in range(3000):
        clock.now += timedelta(seconds=chance.randrange(30))
        scene_id = chance.randrange(40)
        waiting.note(TAVERN, scene_id, chance.randrange(15))
        ready = [due.when() for due in waiting._scenes.values() if due.when() <= clock.now]
        due = waiting.take()
        assert (due is None) == (not ready)
        if due is not None:
            assert due.when() == min(ready)
            due.uncovered = chance.randrange(5)
            due.since = clock.now
            due.not_before = clock.now + timedelta(seconds=chance.randrange(600))
            waiting.give_back(due)
