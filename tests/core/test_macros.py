from __future__ import annotations

from datetime import timedelta

import pytest

from bot.core.macros import OTHERS, Macros, expand
from tests.core.scene_parts import START, persona, scene

VALUES = Macros(char="Mira", user="Alice", time="20:00", date="12 May 2026", original="Be yourself.", seed=5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{char}} greets {{user}}", "Mira greets Alice"),
        ("{{Char}} {{ USER }} <BOT> <user> <CHAR>", "Mira Alice Mira Alice Mira"),
        ("{{time}}, {{date}}", "20:00, 12 May 2026"),
        ("{{original}} Be brave.", "Be yourself. Be brave."),
        ("a{{// not for you}}b{{comment: nor this}}c{{hidden_key: x}}", "abc"),
        ("{{foo}} {{bar:1}} {{roll:x}} {{char:x}}", "{{foo}} {{bar:1}} {{roll:x}} {{char:x}}"),
        ("{{random:{{user}}}}", "Alice"),
        ("{{random::a, b}}", "a, b"),
        ("{{random:a\\,b}}", "a,b"),
        ("{{roll:1}} {{roll:d1}} {{roll 3d1}}", "1 1 3"),
        ("{{{{char}}", "{{Mira"),
        ("{{}} { {char} }", "{{}} { {char} }"),
    ],
)
def test_macros_are_filled(text: str, expected: str) -> None:
    assert expand(text, VALUES) == expected


def test_dice_and_choices_stay_the_same_for_a_scene_and_differ_between_scenes() -> None:
    text = "{{roll:2d6}} {{random:a,b,c,d,e,f}} {{random:a,b,c,d,e,f}}"
    assert expand(text, VALUES) == expand(text, VALUES)
    drawn = {expand(text, Macros(char="Mira", seed=seed)) for seed in range(20)}
    assert len(drawn) > 10
    assert all(2 <= int(one.split()[0]) <= 12 for one in drawn)


def test_two_dice_of_one_text_are_two_dice() -> None:
    rolls = [
        expand("{{roll:d20}} {{roll:d20}}", Macros(char="Mira", seed=seed)).split() for seed in range(20)
    ]
    assert any(first != second for first, second in rolls)


def test_user_is_the_only_member_or_the_others() -> None:
    def user(*members: str) -> str:
        return Macros.of(persona(), scene=scene(), members=members, now=START).user

    assert [user("Alice"), user(), user("Alice", "Bob"), user("Alice", "Alice")] == [
        "Alice",
        OTHERS,
        OTHERS,
        "Alice",
    ]


def test_a_members_name_is_never_a_macro() -> None:
    values = Macros.of(persona(), scene=scene(), members=["{{original}}<BOT>"], now=START)
    assert expand("hello {{user}}", values.with_original("secret")) == "hello originalBOT"


def test_time_holds_for_the_scene() -> None:
    running = scene(started_at=START)
    values = [Macros.of(persona(), scene=running, members=(), now=START + timedelta(days=n)) for n in (0, 3)]
    assert values[0] == values[1]
    assert (values[0].time, values[0].date) == ("20:00", "12 May 2026")


def test_the_nickname_is_the_character() -> None:
    named = persona("Mira Vale", card={"nickname": "Mi"})
    assert Macros.of(named, scene=scene(), members=(), now=START).char == "Mi"
