from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.speech import StopWatcher, clean, for_discord, voices
from tests.core.scene_parts import persona

MIRA = persona("Mira", 1, former=("Selma",), card={"nickname": "Mi"})
KENJI = persona("Kenji Sato", 2)
VOICES = voices(MIRA, [MIRA, KENJI], ["Alice Liddell", "Bob", "mira (2)", "美玲", "Ünal"])


@pytest.mark.parametrize(
    "reply",
    [
        "Mira: Hi",
        "Mira: Mira: Hi",
        "**Mira:** Hi",
        "**Mira**: Hi",
        "[Mira] Hi",
        "[Mira]: Hi",
        "*Mira*: Hi",
        "mira : Hi",
        "ＭＩＲＡ： Hi",
        "Mira says: Hi",
        "Mira [narrates]: Hi",
        "Mira (smiling): Hi",
        "<Mira> Hi",
        "【Mira】Hi",
        "### Mira\nHi",
        "**Mira**\nHi",
        "> Mira: Hi",
        "Selma: Hi",
        "Mi: Hi",
        "Assistant: Hi",
        "{{char}}: Hi",
        "__Mira:__ Hi",
        "**[Mira]:** Hi",
        "\n\nMira:\nHi",
        "Mira: **Mira:** [Mira] Hi",
        "(Mira) Hi",
        "Mi\u200bra: Hi",
    ],
)
def test_c20_own_names_are_taken_off_in_every_form(reply: str) -> None:
    assert clean(reply, VOICES) == "Hi"


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("美玲", "美玲：你好"),
        ("美玲", "美玲说：你好"),
        ("Мира", "**Мира:** 你好"),
        ("ميرا", "ميرا: 你好"),
        ("มีรา", "มีรา: 你好"),
    ],
)
def test_own_names_of_any_script_are_taken_off(name: str, reply: str) -> None:
    assert clean(reply, voices(persona(name), [], ["Alice"])) == "你好"


@pytest.mark.parametrize(
    "reply",
    [
        "Mira smiles.",
        "I am Mira: the one and only.",
        "My name? Mira.",
        "*Mira waves.*",
        "The clock says 10:30.",
        "Look here: Alice is back.",
        "Alice, come in.",
        "Alice Liddell, come in.",
        "See https://example.org now.",
        "Mira",
        "Yes.",
        "…",
        "🙂",
        "**Alice**, sit.",
        "Once: a story.\nTwice: a lie.",
    ],
)
def test_a_name_inside_a_sentence_stays(reply: str) -> None:
    assert clean(reply, VOICES) == reply


def test_own_tags_of_later_lines_are_taken_off_too() -> None:
    assert clean("Mira: Hello.\n\nMira: Sit down.", VOICES) == "Hello.\n\nSit down."


@pytest.mark.parametrize(
    "line",
    [
        "Alice: I draw my sword",
        "Alice Liddell: yes",
        "**Bob:** hm",
        "[Bob] hm",
        "Bob says: hm",
        "bob : hm",
        "Kenji Sato: Hai",
        "Kenji: Hai",
        "mira (2): me too",
        "美玲：你好",
        "**Bob**\nhm",
        "User: hi",
        "Human: hi",
        "You: hi",
        "Bob [narrates]: rain",
        "Ünal: evet",
        "Mira: Alice: yes",
        "The others: hurray",
        "<Bob> hm",
        "{{user}}: hm",
    ],
)
def test_c21_everything_from_somebody_elses_line_on_is_dropped(line: str) -> None:
    assert clean(f"Hello.\n{line}\nMira: Good.", VOICES) == "Hello."
    watcher = StopWatcher(VOICES)
    assert watcher.feed("Hello.\n")
    assert not all(watcher.feed(character) for character in f"{line}\nMira: Good.")


def test_a_reply_that_only_speaks_for_others_is_empty() -> None:
    assert clean("Alice: I draw my sword", VOICES) == ""


@pytest.mark.parametrize("text", ["", " \n", "***", "Mira:", "> ", "<notes>x</notes>", "\x00"])
def test_nothing_said_is_empty(text: str) -> None:
    assert clean(text, VOICES) == ""


def test_the_watcher_lets_a_whole_reply_pass() -> None:
    reply = "Mira: Sit, Alice.\n\n*She looks at Bob: he sleeps.* It is 10:30, see https://a.b/c\n[a map]\n"
    watcher = StopWatcher(VOICES)
    assert all(watcher.feed(character) for character in reply)
    assert StopWatcher(VOICES).feed(reply)


def test_the_watcher_stops_loops_and_copied_notes() -> None:
    watcher = StopWatcher(VOICES)
    fed = 0
    while watcher.feed("The river turns. ") and fed < 100:
        fed += 1
    assert fed < 60
    assert not StopWatcher(VOICES).feed("Fine. <notes>\n- Alice")


def test_a_full_name_wins_over_a_calling_name() -> None:
    vale = persona("Mira Vale", 1)
    both = voices(vale, [vale, persona("Mira", 2)], ["Vale Smith"])
    assert clean("Mira Vale: Hi", both) == "Hi"
    assert clean("Hi\nMira: no", both) == "Hi"
    assert clean("Mira: Hi", voices(vale, [vale], [])) == "Hi"


def test_copied_notes_and_marks_of_the_prompt_leave_no_trace() -> None:
    reply = "Hi.<|mask|>\n<notes>\n- Alice: secret\n</notes>\nWelcome … [cut here, the rest is stored]"
    assert clean(reply, VOICES) == "Hi.\n\nWelcome …"


def test_lines_copied_from_the_notes_are_left_out() -> None:
    notes = "- yesterday, Alice: I am ill\nMira feels happy."
    assert clean(
        "Sit down.\n - yesterday, Alice: I am ill\nMira feels happy.\nStew?", VOICES, notes=notes
    ) == ("Sit down.\nStew?")


def test_c30_a_cut_reply_ends_with_its_last_sentence() -> None:
    cut = 'She nods. "Come," she says, and then she op'
    assert (
        clean("*She looks up.* Come in. and then she op", VOICES, truncated=True)
        == "*She looks up.* Come in."
    )
    assert clean(cut, VOICES, truncated=False).endswith("op")


def test_what_stops_before_somebody_else_is_not_cut_further() -> None:
    assert clean("Come in\nAlice: no", VOICES, truncated=True) == "Come in"


def test_c03_crowds_are_shown_and_not_called() -> None:
    sent = for_discord("@everyone <@&111> hello @Here")
    assert "@everyone" not in sent
    assert "<@&111>" not in sent
    assert sent.replace("\u200b", "") == "@everyone <@&111> hello @Here"


def test_c19_ids_that_nobody_knows_do_not_show() -> None:
    sent = for_discord(
        "Hi <@5> and <@6>, see <#7> <:blob:8> <a:cat:9> :wave:", known_users={5}, known_emoji={9}
    )
    assert sent == "Hi <@5> and, see :blob: <a:cat:9> :wave:"
    assert for_discord("<@999999999>") == "…"


TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "Mira:",
                "Alice:",
                "**",
                "*",
                "\n",
                "[Mira] ",
                "```",
                '"',
                "Hello. ",
                "||",
                "<notes>",
                " ",
                "“",
                "Mira ",
            ]
        ),
        st.text(max_size=12),
    ),
    max_size=25,
).map("".join)


@given(TEXTS, st.booleans())
def test_any_answer_is_cleaned_and_never_starts_a_line_for_others(text: str, truncated: bool) -> None:
    said = clean(text, VOICES, truncated=truncated)
    assert said == said.strip()
    assert not any(line.startswith(("Alice:", "Mira:", "[Mira]")) for line in said.split("\n"))
    assert said.count("```") % 2 == 0
    written = iter(text)
    assert all(letter in written for letter in said if letter.isalnum()), "words that nobody wrote"


@given(TEXTS, st.integers(1, 5))
def test_the_watcher_stops_wherever_the_pieces_end(text: str, size: int) -> None:
    watcher = StopWatcher(VOICES)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    stopped = not all(watcher.feed(piece) for piece in pieces)
    if any(line.startswith("Alice:") for line in text.split("\n")):
        assert stopped
