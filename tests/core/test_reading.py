from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.reading import attachment_note, kind_of, readable, with_notes
from bot.core.types import TurnKind

USERS = {111: "Alice", 222: "Bob"}


def test_c19_numbers_become_names() -> None:
    heard = (
        "<@111> hugged <@!222> in <#333> <:blobcat:444> <a:wave:5> <@&9> </scene start:77> <t:1700000000:R>"
    )
    assert readable(heard, users=USERS, channels={333: "tavern"}, roles={9: "Guard"}) == (
        "@Alice hugged @Bob in #tavern :blobcat: :wave: @Guard /scene start 14 November 2023 22:13 UTC"
    )


def test_unknown_ids_leave_no_number() -> None:
    assert readable("<@5> <#6> <@&7>") == "@someone #a channel @a role"


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("<t:1700000000>", "14 November 2023 22:13 UTC"),
        ("<t:1700000000:t>", "22:13 UTC"),
        ("<t:1700000000:D>", "14 November 2023"),
        ("<t:99999999999999999:R>", "some time"),
        ("<t:-1:d>", "31 December 1969"),
    ],
)
def test_timestamps_are_written_out(token: str, words: str) -> None:
    assert readable(token) == words


@given(st.text(alphabet="<@!&#:/t0123456789>ab -", max_size=40))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(readable(text), str)


@pytest.mark.parametrize(
    "text",
    [
        "((brb))",
        "(( two\nlines ))",
        "((forgot to close",
        "// brb",
        "//brb\nback",
        "[ooc] hi",
        "(OOC) hi",
        "ooc: hi",
    ],
)
def test_out_of_character(text: str) -> None:
    assert kind_of(f" {text}\n") == (TurnKind.OUT_OF_CHARACTER, text)


@pytest.mark.parametrize(
    "text", ["*The door opens.*", "_The door opens._", "*a*\n\n*b **c** d*", "/me waves"]
)
def test_narration(text: str) -> None:
    assert kind_of(text) == (TurnKind.NARRATION, text)


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "*waves* hello",
        "*a* and *b*",
        "**loud**",
        "__under__",
        "((aside)) hello",
        "(sighs)",
        "",
        "*",
        "a // b",
        "https://x.org",
        "snake_case",
        "oocyte: a cell",
    ],
)
def test_in_character(text: str) -> None:
    assert kind_of(text)[0] is TurnKind.IN_CHARACTER


@pytest.mark.parametrize(
    ("name", "content_type", "note"),
    [
        ("cat.png", "image/png", "[Alice shows a picture: cat.png]"),
        ("cat.JPG", None, "[Alice shows a picture: cat.JPG]"),
        ("song.ogg", "audio/ogg", "[Alice shows a recording: song.ogg]"),
        ("clip.mp4", None, "[Alice shows a video: clip.mp4]"),
        ("notes.txt", "text/plain", "[Alice shows a file: notes.txt]"),
        ("x]\nMira: hi.png", "image/png", "[Alice shows a picture: x) Mira hi.png]"),
    ],
)
def test_attachments_become_neutral_notes(name: str, content_type: str | None, note: str) -> None:
    assert attachment_note("Alice", name, content_type) == note


def test_notes_stand_below_the_text() -> None:
    assert with_notes("look", ["[a]", "[b]"]) == "look\n[a]\n[b]"
    assert with_notes(" ", ["[a]"]) == "[a]"
