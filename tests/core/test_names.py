from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.names import called, calling_name, find_name, fold, label_text, with_former
from tests.core.scene_parts import persona


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Mira, are you there?", "Mira"),
        ("hello Mira!", "Mira"),
        ("MIRA!", "Mira"),
        ("it is Mira's sword", "Mira"),
        ("**Mira**", "Mira"),
        ("Ｍｉｒａ?", "Mira"),
        ("Mi\u200bra", "Mira"),
        ("Привет, Мира.", "Мира"),
        ("你好美玲在吗", "美玲"),
        ("ミラさん、こんばんは", "ミラ"),
        ("ﾐﾗさん", "ミラ"),
        ("미라야 안녕", "미라"),
        ("สวัสดีมีรา", "มีรา"),
        ("Mira你好", "Mira"),
        ("où est Élodie", "E\u0301lodie"),
        ("old   Tom   Vale sleeps", "Tom Vale"),
        ("hey r2d2", "r2d2"),
        ("مرحبا ميرا", "ميرا"),
    ],
)
def test_a_name_is_found(text: str, name: str) -> None:
    assert find_name(text, name) is not None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Miracles happen", "Mira"),
        ("Admira", "Mira"),
        ("will you come?", "Will"),
        ("a rose is a rose", "Rose"),
        ("мира во всём мире", "Мира"),
        ("ミラーを見て", "ミラ"),
        ("Mira_x", "Mira"),
        ("Mira2", "Mira"),
        ("", "Mira"),
        ("anything", "  "),
        ("anything", "\u200b"),
    ],
)
def test_what_only_looks_like_a_name_is_not_found(text: str, name: str) -> None:
    assert find_name(text, name) is None


def test_the_capital_rule_looks_on_after_a_small_match() -> None:
    assert find_name("will you, Will?", "Will") == 10


@given(st.text(max_size=60), st.text(max_size=8))
def test_any_text_and_name_are_survived(text: str, name: str) -> None:
    found = find_name(text, name)
    assert found is None or found >= 0


@given(st.text(max_size=120))
def test_a_label_can_hold_no_tag(name: str) -> None:
    label = label_text(name)
    assert label
    assert len(label.splitlines()) == 1
    assert not set(label) & set(":：[]")


@pytest.mark.parametrize(
    ("name", "calling"),
    [
        ("Mira", None),
        ("Mira Vale", "Mira"),
        ("Old Tom", "Tom"),
        ("The Oracle", "Oracle"),
        ("Queen of Swords", "Swords"),
        ("Dr. Li", None),
    ],
)
def test_calling_names(name: str, calling: str | None) -> None:
    assert calling_name(name) == calling


def test_a_persona_answers_to_all_its_names() -> None:
    mira = persona("Mira Vale", former=("Selma",), card={"nickname": "Mi"})
    assert called(mira) == ("Mira Vale", "Mi", "Selma", "Mira")


def test_folding_ignores_case_width_and_invisible_characters() -> None:
    assert fold(" ＡＬＥＸ\u200b  the\tGreat ") == "alex the great"


def test_a_renamed_persona_is_told_with_its_former_names() -> None:
    assert with_former(persona("Mira")) == "Mira"
    assert with_former(persona("Selma", former=("Mira", "The [Ferry] Woman"))) == (
        "Selma (formerly Mira, The (Ferry) Woman)"
    )
