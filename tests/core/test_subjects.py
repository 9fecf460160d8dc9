"""Whom a fact is about: by tag and id, never by a name alone."""

from __future__ import annotations

import pytest

from bot.core.knowledge import Entity, EntityKind
from bot.core.subjects import claimed_by, may_replace, mentioned, subject
from bot.core.window import Roster, Speaker
from tests.core.scene_parts import ALICE, persona, said, turn

MIRA = persona()
SPEAKERS = [Speaker(ALICE, "Alice"), Speaker(222, "alice"), Speaker(ALICE, "Captain Jack")]
ROSTER = Roster.of([MIRA], SPEAKERS)


@pytest.mark.parametrize(
    ("about", "kind", "expected"),
    [
        ("Alice", "person", Entity(EntityKind.MEMBER, "Alice", owner_id=ALICE)),
        ("alice (2)", "", Entity(EntityKind.MEMBER, "alice", owner_id=222)),
        ("CAPTAIN JACK", "person", Entity(EntityKind.MEMBER, "Captain Jack", owner_id=ALICE)),
        ("Mira", "person", Entity(EntityKind.PERSONA, "Mira", persona_id=MIRA.id)),
        ("the old well", "place", Entity(EntityKind.PLACE, "the old well")),
        ("Storm", "animal", Entity(EntityKind.PERSON, "Storm")),
        ("the vow", "promise", Entity(EntityKind.OATH, "the vow")),
        ("silver key", "", Entity(EntityKind.THING, "silver key")),
        ("  ", "person", None),
    ],
)
def test_a_word_is_tied_to_the_one_it_names(about: str, kind: str, expected: Entity | None) -> None:
    assert subject(about, kind, roster=ROSTER, speakers=SPEAKERS, cast=[MIRA]) == expected


def test_who_speaks_or_is_named_is_mentioned() -> None:
    alice = Entity(EntityKind.MEMBER, "Alice", owner_id=ALICE)
    other = Entity(EntityKind.MEMBER, "Bert", owner_id=5)
    storm = Entity(EntityKind.PERSON, "Storm")
    well = Entity(EntityKind.PLACE, "the old well")
    found = mentioned([alice, other, storm, well], [turn("Storm is lame.", turn_id=1)])
    assert found == [alice, storm]


@pytest.mark.parametrize(
    ("new", "about", "old", "old_about", "allowed"),
    [
        ("Her horse is Ember.", "Alice", "Her horse is Storm.", "Alice", True),
        ("Storm is dead.", "Storm", "Alice rides Storm.", "Alice", True),
        ("Alice sold Storm.", "Alice", "Storm is fast.", "Storm", True),
        ("Bob limps.", "Bob", "Her horse is Storm.", "Alice", False),
    ],
)
def test_only_what_is_about_the_same_can_be_replaced(
    new: str, about: str, old: str, old_about: str, allowed: bool
) -> None:
    one, other = Entity(EntityKind.PERSON, about), Entity(EntityKind.PERSON, old_about)
    assert may_replace(new, one, old, other) is allowed


def test_a_claim_about_somebody_else_names_who_made_it() -> None:
    alice = Entity(EntityKind.MEMBER, "Alice", owner_id=ALICE)
    assert claimed_by([said("Alice is a thief.", 1)], alice) == "Mira"
    assert claimed_by([turn("I am a thief.", turn_id=1)], alice) == ""
    assert claimed_by([said("You stole it.", 1), turn("I did.", turn_id=2)], alice) == ""
