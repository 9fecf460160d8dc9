from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.memory_bank import LONGEST, BankEntry, entries_of, read_bank, written


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        (
            "- The ferry burned.\n- Bob rebuilt it.\n  With his sister.",
            ["The ferry burned.", "Bob rebuilt it.\nWith his sister."],
        ),
        ("1. One.\n2) Two.\n* Three.", ["One.", "Two.", "Three."]),
        ("A first paragraph,\ntwo lines.\n\n\nA second.", ["A first paragraph,\ntwo lines.", "A second."]),
        (
            "Alice: Hi.\nMira: Ahoy.\n\nAlice: Bye.\nMira: Pah.",
            ["Alice: Hi.\nMira: Ahoy.", "Alice: Bye.\nMira: Pah."],
        ),
        ('{"text": "One."}\n\n{"memory": "Two."}\n{"odd": 1}\n', ["One.", "Two."]),
        ('{\n  "memory": "One.",\n  "when": "spring"\n}\n', ["One."]),
        ('["One.", {"content": "Two."}, 3, null]', ["One.", "Two."]),
        ('{"user": "Hi.", "assistant": "Ahoy."}', ["user: Hi.\nassistant: Ahoy."]),
        ('{"messages": [{"role": "Bob", "content": "Hi."}, "Ahoy.", 3]}', ["Bob: Hi.\nAhoy."]),
        ('{"conversations": [{"from": "human", "value": "Hi."}]}', ["human: Hi."]),
        ("{not json} but text", ["{not json} but text"]),
        ("雨の夜、船が燃えた。\r\n\r\n妹が直した。", ["雨の夜、船が燃えた。", "妹が直した。"]),
    ],
)
def test_every_form_is_read(text: str, entries: list[str]) -> None:
    assert [entry.text for entry in read_bank(text).entries] == entries


def test_headings_and_fields_say_when_and_who() -> None:
    bank = read_bank("# Childhood\n- One.\n## The war\nTwo.\n")
    assert bank.entries == (BankEntry("One.", "Childhood"), BankEntry("Two.", "The war"))
    line = json.dumps({"text": "Hi.", "speaker": "Bob", "when": "spring"})
    assert read_bank(line).entries == (BankEntry("Hi.", "spring", "Bob"),)


def test_broken_json_lines_are_named_and_the_others_read() -> None:
    lines = [
        '{"text": "One."}',
        "",
        '{"text": "Tw',
        *['{"text": "Three."}'] * 30,
        "null?",
        '{"text": "Four."}',
    ]
    bank = read_bank("\n".join(lines))
    assert [entry.text for entry in bank.entries] == ["One.", "Three.", "Four."]
    assert (bank.merged, bank.broken) == (29, (3, 34))


def test_repeats_are_merged_and_long_ones_cut() -> None:
    bank = read_bank(f"- One.\n- one. \n- ＯＮＥ.\n- {'word ' * 1000}")
    assert (len(bank.entries), bank.merged, bank.cut) == (2, 2, 1)
    assert len(bank.entries[1].text) <= LONGEST + 2


def test_limits_are_told() -> None:
    assert len(read_bank("\n".join(f"- {n}" for n in range(5000))).entries) == 5000
    with pytest.raises(ValueError, match="5,000"):
        read_bank("\n".join(f"- {n}" for n in range(5001)))
    for empty in ("", "\n \n", "# Only a heading", "{}", "[1, 2]"):
        with pytest.raises(ValueError, match="no memories"):
            read_bank(empty)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        bank = read_bank(text)
    except ValueError:
        return
    assert all(entry.text.strip() for entry in bank.entries)
    assert len(bank.entries) + bank.merged <= 5000


def test_what_a_card_carries_comes_back() -> None:
    entries = (BankEntry("One.", "spring", "Bob"), BankEntry("Two.\nlines"))
    assert entries_of(json.loads(json.dumps(written(entries)))) == entries
    assert entries_of({"text": "x"}) == ()
    assert entries_of([None, 1, {"text": " "}, "ok"]) == (BankEntry("ok"),)
