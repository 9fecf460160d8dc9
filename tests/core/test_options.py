from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.options import OPTIONS, PLURALKIT, TUPPERBOX


def test_the_keys_are_those_of_the_contract() -> None:
    assert set(OPTIONS) >= {
        "reply_mode", "moderator_roles", "gm_roles", "member_cooldown_s", "daily_tokens", "recall_strategy",
        "emotion_weight", "recall_tokens", "proxy_apps", "proxy_wait",
        "privacy_notice", "retention_days", "grace_days",
    }  # fmt: skip


@pytest.mark.parametrize("key", sorted(OPTIONS))
def test_defaults_choices_and_numeric_examples_are_readable(key: str) -> None:
    option = OPTIONS[key]
    assert option.parse(option.show(option.default)) == option.default
    assert [option.parse(choice) for choice in option.choices] == list(option.choices)
    if not option.example.startswith("@"):
        option.parse(option.example)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("reply_mode", " Always ", "always"),
        ("recall_strategy", "Semantic First", "semantic_first"),
        ("recall_strategy", "emotion-first", "emotion_first"),
        (
            "moderator_roles",
            "<@&123456789012345678> 223456789012345678",
            (123456789012345678, 223456789012345678),
        ),
        ("gm_roles", "none", ()),
        ("emotion_weight", "0,35", 0.35),
        ("recall_tokens", "auto", None),
        ("recall_tokens", "600", 600),
        ("daily_tokens", "200_000", 200000),
        ("proxy_apps", f"{PLURALKIT},{TUPPERBOX},{PLURALKIT}", (PLURALKIT, TUPPERBOX)),
        ("proxy_wait", "2", 2.0),
    ],
)
def test_what_moderators_type_is_read(key: str, text: str, value: object) -> None:
    assert OPTIONS[key].parse(text) == value


def test_an_empty_text_is_shown_as_the_word_that_sets_it() -> None:
    for key in ("tired_line", "blocked_words", "privacy_notice"):
        assert OPTIONS[key].show("") == "none"


def test_the_bounds_of_large_numbers_are_written_out() -> None:
    with pytest.raises(ValueError, match=r"from 0 to 100000000000\."):
        OPTIONS["daily_tokens"].parse("1e99")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("reply_mode", "sometimes"),
        ("emotion_weight", "0.6"),
        ("emotion_weight", "nan"),
        ("daily_tokens", "1.5"),
        ("daily_tokens", "-1"),
        ("member_cooldown_s", "soon"),
        ("moderator_roles", "@Staff"),
        ("proxy_apps", "12"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_sentence(key: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"it is .*\."):
        OPTIONS[key].parse(text)


@given(st.sampled_from(sorted(OPTIONS)), st.text(max_size=30))
def test_any_text_is_read_or_refused(key: str, text: str) -> None:
    try:
        value = OPTIONS[key].parse(text)
    except ValueError:
        return
    assert OPTIONS[key].parse(OPTIONS[key].show(value)) == value
