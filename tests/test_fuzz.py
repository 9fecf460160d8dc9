"""Generated texts, cards, lore and answers: nothing crashes, and what must hold does.

Where a module's own tests generate cases for it (speech, splitting, thoughts, endings, notes, words), they
stay there; these are the kinds that cross modules or come from outside the process.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.adapters.card_files import _read, _read_lorebook
from bot.adapters.chat_answer import Answer, error_in
from bot.adapters.chat_context import find_context_tokens
from bot.adapters.chat_failures import read_failure
from bot.core import loose_json
from bot.core.card_file import read_card, v2_card, v3_card
from bot.core.lore import Scan, activate
from bot.core.lore_decorators import read_decorators
from bot.core.lore_entries import read_book, read_entry, v3_book
from bot.core.lore_keys import split_keys
from bot.core.macros import Macros, expand, unknown_macros
from bot.core.persona_drafts import read_draft
from bot.core.reflecting import parse_insights
from bot.core.speech import for_discord
from bot.core.splitting import LIMIT, length, split
from bot.errors import ModelError, TroupeError

few = settings(max_examples=40)

SCALARS = st.none() | st.booleans() | st.integers(-9, 99) | st.floats() | st.text(max_size=8)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def objects(*keys: str) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some of these keys, and anything under them."""
    return st.dictionaries(st.sampled_from(keys) | st.text(max_size=5), JSON, max_size=8)


def pieces_of(*known: str) -> st.SearchStrategy[str]:
    """Texts made of these pieces and others."""
    return st.lists(st.sampled_from(known) | st.text(max_size=6), max_size=12).map("".join)


def read_or_words(read: Callable[..., Any], *given: object) -> Any:
    """What is read, or the sentence that says why it is not."""
    try:
        return read(*given)
    except (TroupeError, ValueError) as problem:
        told = str(problem).strip()
    assert told
    return told


# ---------------------------------------------------------------- macros
MACROS = pieces_of(
    *("{{", "}}", "{{char}}", "{{user}}", "{{User}}", "<USER>", "<bot>", "{{random:a,b}}", "{{roll:d6}}"),
    *("{{pick::a::b}}", "{{//", "{{original}}", "{{time}}", "{{foo}}", "{{{", "::", ",", "\n", "{{reverse:"),
)
VALUES = Macros(
    char="Mira", user="Alice", time="12:00", date="1 May", original="{{char}} {{original}}", seed=7
)


@few
@given(MACROS)
def test_macros_expand_the_same_way_every_time_and_known_names_are_filled(text: str) -> None:
    filled = expand(text, VALUES)
    assert filled == expand(text, VALUES)
    assert expand(f"{{{{char}}}} {text}", VALUES).startswith("Mira ")
    assert set(unknown_macros(text)) <= {
        text[at:end] for at in range(len(text)) for end in range(at, len(text) + 1)
    }


@few
@given(st.text(alphabet=st.characters(exclude_characters="{}<>")))
def test_text_without_macros_is_untouched(text: str) -> None:
    assert expand(text, VALUES) == text


# ---------------------------------------------------------------- cards
CARD_KEYS = (
    *("name", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes", "tags"),
    *(
        "system_prompt",
        "alternate_greetings",
        "character_book",
        "extensions",
        "assets",
        "spec",
        "data",
        "nickname",
    ),
    *("spec_version", "creator", "char_name", "char_persona", "group_only_greetings", "entries"),
)
CARDS = objects(*CARD_KEYS).flatmap(
    lambda inner: st.sampled_from(
        [
            inner,
            {"spec": "chara_card_v2", "data": inner},
            {"spec": "chara_card_v3", "data": inner, "name": "Old"},
        ]
    )
)


@few
@given(CARDS | JSON)
def test_any_card_is_read_or_refused_in_words_and_what_is_read_can_be_read_again(card: object) -> None:
    read = read_or_words(read_card, card, "Fallback")
    if isinstance(read, str):
        return
    data, notes = read
    assert data["name"].strip()
    assert all(
        isinstance(data[key], str) for key in ("description", "personality", "first_mes", "mes_example")
    )
    assert "\r" not in json.dumps([data["description"], data["first_mes"]])
    assert all(note.strip() for note in notes)
    again, _ = read_card(json.loads(json.dumps(v3_card(data))))
    assert (again["name"], again["description"]) == (data["name"], data["description"])
    older, _ = read_card(json.loads(json.dumps(v2_card(data))))
    assert older["name"] == data["name"]


PNG = b"\x89PNG\r\n\x1a\n"
FILES = st.one_of(
    st.binary(max_size=60),
    st.binary(max_size=60).map(PNG.__add__),
    st.binary(max_size=60).map(b"PK\x03\x04".__add__),
    CARDS.map(lambda card: json.dumps(card).encode()),
    CARDS.map(lambda card: json.dumps(card).encode("utf-16")),
    CARDS.map(lambda card: json.dumps(card).encode()[:-3]),
)


@few
@given(FILES, st.text(max_size=12))
def test_any_file_is_a_card_a_lorebook_or_refused(raw: bytes, filename: str) -> None:
    read_or_words(_read, raw, filename)
    read_or_words(_read_lorebook, raw, filename)


# ---------------------------------------------------------------- lore
ENTRY_KEYS = (
    *("keys", "key", "content", "enabled", "disable", "constant", "insertion_order", "order", "priority"),
    *(
        "secondary_keys",
        "keysecondary",
        "selective",
        "selectiveLogic",
        "probability",
        "scan_depth",
        "position",
    ),
    *("extensions", "use_regex", "case_sensitive", "comment", "name", "group", "sticky", "cooldown", "delay"),
)
CONTENTS = pieces_of(
    "ferry", "@@depth 3", "@@dont_activate", "@@activate_only_after 2", "\n", "@@", " storm ", "@@@"
)
ENTRIES = st.builds(
    lambda odd, keys, content, constant: {**odd, "keys": keys, "content": content, "constant": constant},
    objects(*ENTRY_KEYS),
    st.lists(st.sampled_from(["ferry", "storm", "/f.*y/", "", "ferryman"]), max_size=3),
    CONTENTS,
    st.booleans(),
)


@few
@given(st.lists(ENTRIES, max_size=6), st.integers(0, 60), st.lists(st.text(max_size=10), max_size=4))
def test_lore_fits_its_budget_and_every_entry_has_a_verdict(
    raw: list[dict[str, Any]], budget: int, said: list[str]
) -> None:
    entries = [read_entry(one, str(number)) for number, one in enumerate(raw)]
    scan = Scan(texts=[*said, "the ferry in the storm"], budget=budget, count=len)
    verdicts = activate(entries, scan)
    assert [verdict.entry for verdict in verdicts] == entries
    assert all(verdict.why for verdict in verdicts)
    assert sum(len(verdict.text) for verdict in verdicts if verdict.fired) <= budget
    assert verdicts == activate(entries, scan)


@few
@given(objects("entries", "name", "token_budget", "scan_depth", "recursive_scanning") | JSON)
def test_any_book_is_read_and_written_again(book: object) -> None:
    read = read_or_words(read_book, book)
    if isinstance(read, str):
        return
    entries, _ = read
    again, _ = read_book(v3_book("Book", entries))
    assert len(again) == len(entries)


@few
@given(CONTENTS)
def test_decorators_only_take_lines_from_the_beginning(content: str) -> None:
    _, rest = read_decorators(content)
    assert content.strip().endswith(rest.strip())


@few
@given(st.text())
def test_keys_are_split_without_losing_letters(text: str) -> None:
    keys = split_keys(text)
    assert all(key.strip() == key and key for key in keys)
    letters = set(string.ascii_letters)
    assert [c for c in "".join(keys) if c in letters] == [c for c in text if c in letters]


# ---------------------------------------------------------------- answers of models
@few
@given(JSON, pieces_of("Here you are:", "```json\n", "```", "\n", "Anything else?", "»"))
def test_json_is_found_whatever_is_written_around_it(value: object, around: str) -> None:
    if not isinstance(value, dict | list) or not value or set(around) & set("{["):
        return
    written = json.dumps(value)
    found = json.dumps(loose_json.read(f"{around}{written}{around}"))
    if "\\u0000" in written:
        assert "\\u0000" not in found  # no database can hold it
    else:
        assert found == written  # as text: NaN is not itself


@few
@given(JSON, st.integers(1, 5))
def test_what_is_about_the_model_is_read_from_any_answer(value: object, most: int) -> None:
    text = json.dumps({"insights": value, "name": value, "description": value})
    draft = read_draft(text)
    assert draft is None or all(isinstance(part, str) and part.strip() for part in draft.values())
    for insight in parse_insights(text, ids=range(1, most + 1)):
        assert insight.text.strip()
        assert set(insight.evidence) <= set(range(1, most + 1))


CHUNKS = objects("choices", "usage", "model", "error", "object").map(
    lambda chunk: (
        chunk | ({"choices": [chunk.get("choices")]} if isinstance(chunk.get("choices"), dict) else {})
    )
) | st.builds(
    lambda delta, reason, usage: {
        "choices": [{"delta": delta, "message": delta, "finish_reason": reason}],
        "usage": usage,
    },
    objects("content", "reasoning_content", "reasoning", "refusal", "tool_calls", "role"),
    SCALARS,
    objects("prompt_tokens", "completion_tokens") | SCALARS,
)


@few
@given(st.lists(CHUNKS | JSON, max_size=6), st.sampled_from([True, False, None]))
def test_any_chunks_make_a_completion(chunks: list[Any], headless: bool | None) -> None:
    answer = Answer(model="m", headless_thoughts=headless)
    shown = "".join(answer.take(chunk) for chunk in chunks if not error_in(chunk)) + answer.end()
    completion = answer.completion()
    assert completion.text in {shown, ""}
    assert completion.usage is None or completion.usage.prompt_tokens + completion.usage.completion_tokens > 0


BODIES = objects("error", "message", "detail", "type", "code", "msg", "n_ctx") | JSON | st.text()


@few
@given(
    st.integers(100, 599),
    BODIES,
    st.dictionaries(st.sampled_from(["retry-after", "date"]), st.text(max_size=9)),
)
def test_any_refusal_becomes_an_error_of_ours_that_holds_no_key(
    status: int, body: object, headers: Mapping[str, str]
) -> None:
    failure = read_failure(
        status, {"error": body, "message": "for sk-very-secret"}, headers, secrets=["sk-very-secret"]
    )
    error = failure.as_error("the server")
    assert isinstance(error, ModelError)
    assert "secret" not in str(error)
    assert failure.retry_after is None or failure.retry_after >= 0


@pytest.mark.filterwarnings("error")
@few
@given(
    st.lists(objects("data", "models", "default_generation_settings", "value") | JSON, min_size=8, max_size=8)
)
async def test_no_page_of_a_server_breaks_the_question_for_its_context(pages: list[object]) -> None:
    left = iter(pages)

    async def fetch(_: str) -> object:
        return next(left, None)

    found = await find_context_tokens(fetch, "m")
    assert found is None or found > 0


# ---------------------------------------------------------------- what Discord gets
SAID = pieces_of(
    *(
        "@everyone",
        "@Here",
        "<@&12>",
        "<@12>",
        "<#7>",
        "<:smile:9>",
        "```",
        "`",
        "*",
        "**",
        "||",
        "\n\n",
        " ",
    ),
    *("word " * 30, "e\u0301", "👩‍👩‍👧", "\u200b", "日本語", "> ", "- ", "# "),
)


@few
@given(SAID)
def test_what_is_sent_calls_nobody_and_fits(text: str) -> None:
    sent = for_discord(text)
    assert sent.strip()
    assert "@everyone" not in sent
    assert "@here" not in sent.lower()
    assert "<@&" not in sent
    parts = split(sent)
    assert all(part.strip() and length(part) <= LIMIT for part in parts)
    assert for_discord("".join(parts)).count("@everyone") == 0
