from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.core.cards import CALM, new_card, read_card_json, style_samples, temperament
from bot.core.character import TRAITS, traits

PERSONAS = sorted((Path(__file__).parents[2] / "personas").glob("*.json"))
REQUIRED_WORDS = (
    "name description personality scenario first_mes mes_example creator_notes system_prompt creator "
    "post_history_instructions character_version alternate_greetings group_only_greetings tags extensions"
)
REQUIRED = set(REQUIRED_WORDS.split())


def test_a_new_card_has_every_required_field() -> None:
    card = new_card(
        " Mira  Vale ", "A ferrywoman.\r\nOld.", "dry", "Hop in.", "<START>\n{{char}}: Mind the gap."
    )
    assert set(card) == REQUIRED
    assert (card["name"], card["description"], card["first_mes"]) == (
        "Mira Vale",
        "A ferrywoman.\nOld.",
        "Hop in.",
    )
    assert new_card("A")["tags"] is not new_card("B")["tags"]


def test_flat_v1() -> None:
    data = read_card_json({"name": "Mira", "description": "d", "first_mes": "hi"})
    assert set(data) == REQUIRED
    assert (data["name"], data["description"], data["first_mes"]) == ("Mira", "d", "hi")


def test_data_wins_over_the_root_and_unknown_fields_stay() -> None:
    card = {
        "spec": "chara_card_v2",
        "name": "Root",
        "first_mes": "old",
        "data": {
            "name": "Mira",
            "first_mes": "new\r\nline",
            "extensions": {"fav": True},
            "odd": [1],
            "nickname": "Mi",
        },
    }
    data = read_card_json(card)
    assert (data["name"], data["first_mes"], data["odd"], data["nickname"]) == (
        "Mira",
        "new\nline",
        [1],
        "Mi",
    )
    assert data["extensions"] == {"fav": True}


def test_c44_null_is_absent() -> None:
    card = {
        "data": {
            "name": "Mira",
            "character_book": None,
            "tags": None,
            "system_prompt": None,
            "extensions": None,
        }
    }
    data = read_card_json(card)
    assert "character_book" not in data
    assert (data["tags"], data["system_prompt"], data["extensions"]) == ([], "", {})


@pytest.mark.parametrize(
    ("card", "fallback", "name"),
    [
        ({"name": "Root", "data": {"name": "", "description": "d"}}, "", "Root"),
        ({"data": {"name": "  ", "description": "d"}}, "mira_card", "mira_card"),
        ({"data": {"name": "\u200b\u2060", "description": "d"}}, "mira_card", "mira_card"),
        ({"char_name": "Mira", "char_persona": "d"}, "", "Mira"),
    ],
)
def test_c45_the_name_is_looked_for(card: object, fallback: str, name: str) -> None:
    assert read_card_json(card, fallback)["name"] == name


@pytest.mark.parametrize(
    ("card", "problem"),
    [
        ([], "not a character card"),
        ("text", "not a character card"),
        ({}, "Nothing of a character"),
        ({"data": {"name": 3}}, "Nothing of a character"),
        ({"entries": {"0": {}}}, "lorebook"),
        ({"data": {"description": "d"}}, "no name"),
    ],
)
def test_what_is_no_card_is_refused(card: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_card_json(card)


def test_style_samples_are_the_characters_own_lines() -> None:
    examples = (
        "<START>\n{{user}}: Hello?\n{{char}}: Ahoy.\n*spits*\nBob: eh\nignored\n<start>\r\nMira: Second.\n"
        "<START>\nNo tags here.\n<START>\n"
    )
    assert style_samples({"name": "Mira", "mes_example": examples}) == (
        "Ahoy.\n*spits*",
        "Second.",
        "No tags here.",
    )
    assert style_samples({"name": "Mira"}) == ()
    assert style_samples({"name": "Mira", "mes_example": None}) == ()
    assert style_samples({"name": "Mira", "mes_example": "{{user}}: hi"}) == ()


def test_the_temperament_comes_from_the_card() -> None:
    assert temperament({}).tolist() == pytest.approx(list(CALM))
    card = {"extensions": {"troupe": {"temperament": [6, 5, 2, 3, 1, 1, 2, 7]}}}
    assert temperament(card).tolist() == [6, 5, 2, 3, 1, 1, 2, 7]
    assert temperament({"extensions": {"troupe": {"temperament": "grumpy"}}}).tolist() == pytest.approx(
        list(CALM)
    )


def test_three_personas_are_bundled() -> None:
    assert len(PERSONAS) >= 3


@pytest.mark.parametrize("path", PERSONAS, ids=lambda path: path.stem)
def test_a_bundled_persona_is_a_complete_and_short_v3_card(path: Path) -> None:
    card = json.loads(path.read_text(encoding="utf-8"))
    assert (card["spec"], card["spec_version"]) == ("chara_card_v3", "3.0")
    assert set(card["data"]) >= REQUIRED
    data = read_card_json(card)
    assert data["creator"] == "Troupe"
    assert all(data[key] for key in ("description", "personality", "scenario", "first_mes", "tags"))
    assert 2 <= len(style_samples(data)) <= 3
    assert len(set(temperament(data).tolist())) > 2
    assert tuple(traits(data)) == TRAITS
    assert all(len(text) <= 70 for text in traits(data).values())
    prompted = "".join(data[key] for key in ("description", "personality", "scenario", "mes_example"))
    assert len(prompted) < 1400
