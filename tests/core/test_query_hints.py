"""What the wording of a message gives away."""

from datetime import UTC, datetime

import pytest

from bot.core.query_hints import NamedDay, is_question, named_days, named_speaker


@pytest.mark.parametrize(
    "text",
    [
        "What is her name?",
        "where did we sleep",
        "Tell me about the war",
        "你还记得吗",
        "それは何ですか",
        "¿Dónde?",
        "لماذا؟",
        "Hey. Remember me?",
        "Wo ist das Schwert",
        "weißt du noch, wie kalt es war",
        "où est l'épée",
        "te souviens-tu du dragon",
        "dónde está la espada",
        "por qué lloras",
        "onde está a espada",
        "dov'è la spada",
        "где меч",
        "gdzie jest miecz",
        "di mana pedangnya",
        "剑在哪里",
        "剣はどこ",
        "검은 어디 있어",
    ],
)
def test_questions(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "I lost my ring.",
        "Somewhere, a wolf howls.",
        "",
        "Whatever. Howling winds.",
        "Wolf!",
        "Come here.",
        "Kim sits down.",
        "Wohl kaum.",
        "Ou alors demain.",
        "Der König schläft.",
        "剑在磨坊下面。",
    ],
)
def test_remarks(text: str) -> None:
    assert not is_question(text)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("on 8 May 2023", [NamedDay(5, 8, 2023)]),
        ("the 3rd of June", [NamedDay(6, 3)]),
        ("July 4th, 2022", [NamedDay(7, 4, 2022)]),
        ("in May", [NamedDay(5)]),
        ("you may go", []),
        ("last October", [NamedDay(10)]),
        ("2023-05-08", [NamedDay(5, 8, 2023)]),
        ("2023-13-08", []),
        ("between January and March 2023", [NamedDay(1), NamedDay(3, None, 2023)]),
        ("marching on", []),
        ("July 2023", [NamedDay(7, None, 2023)]),
    ],
)
def test_named_days(text: str, days: list[NamedDay]) -> None:
    assert named_days(text) == days


def test_a_day_covers_its_week() -> None:
    assert NamedDay(5, 8).near(datetime(2023, 5, 14, tzinfo=UTC))
    assert not NamedDay(5, 8).near(datetime(2023, 5, 20, tzinfo=UTC))
    assert not NamedDay(5, 8, 2022).near(datetime(2023, 5, 8, tzinfo=UTC))
    assert not NamedDay(6).near(datetime(2023, 5, 8, tzinfo=UTC))


def test_one_named_speaker() -> None:
    speakers = {"Mira", "Lord Tomas Vale", "Will", ""}
    assert named_speaker("What did Mira say?", speakers) == "Mira"
    assert named_speaker("Has Tomas left?", speakers) == "Lord Tomas Vale"
    assert named_speaker("Mira and Tomas", speakers) is None
    assert named_speaker("will you come?", speakers) is None
    assert named_speaker("admiral", speakers) is None
