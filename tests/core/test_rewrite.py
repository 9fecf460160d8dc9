from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.rewrite import REWRITE_SCHEMA, Fact, Refused, Rewrite, Trigger, parse_rewrite
from bot.core.scratchpad import LONGEST_LINE, MOST_LINES, SECTIONS
from bot.core.types import Line

OLD = (
    Line("place", "The inn, at night.", (1,)),
    Line("people", "Alice and Mira are here.", (1, 2)),
    Line("threads", "Mira owes Alice a song.", (2, 3)),
    Line("standing", "Members want short answers.", (4,)),
)
TURNS = (11, 12, 13)
SCORES = [2, 3, 6, 1, 2, 4, 1, 3]


def read(answer: object, current: tuple[Line, ...] = OLD, **options: object) -> Rewrite:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    found = parse_rewrite(text, turn_ids=TURNS, current=current, **options)  # type: ignore[arg-type]
    assert isinstance(found, Rewrite), found
    return found


def refusal(text: str, **options: object) -> str:
    found = parse_rewrite(text, turn_ids=TURNS, current=OLD, **options)  # type: ignore[arg-type]
    assert isinstance(found, Refused), found
    return found.reason


FULL = {
    "keep": [1, 2],
    "lines": [{"section": "threads", "text": "Mira sang; the debt is paid.", "turns": [2, 3], "from": [3]}],
    "facts": [{"about": "Alice", "text": "Alice is allergic to nuts.", "turns": [1], "when": "the feast"}],
    "triggers": [{"text": "Alice is offered food", "turns": [1]}],
    "emotions": [{"turn": 1, "scores": SCORES}, {"turn": 2, "scores": [7, 6, 1, 2, 1, 1, 1, 5]}],
}


def test_a_whole_answer_is_read() -> None:
    found = read(FULL)
    assert [line.text for line in found.lines] == [
        "The inn, at night.",
        "Alice and Mira are here.",
        "Mira sang; the debt is paid.",
        "Members want short answers.",
    ]
    assert found.lines[2].sources == (2, 3, 12, 13)
    assert found.replaced == (OLD[2],)
    assert found.facts == (Fact("Alice", "Alice is allergic to nuts.", (11,), "the feast"),)
    assert found.triggers == (Trigger("Alice is offered food", (11,)),)
    assert found.emotions[11].tolist() == SCORES
    assert set(found.emotions) == {11, 12}
    assert found.standing == (OLD[3],)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: f"```json\n{text}\n```\nI extracted one fact.",
        lambda text: f"```JSON\n{text}\n```",
        lambda text: f"Here is the JSON you asked for:\n{text}\nAnything else?",
        lambda text: text[:-1] + ",}",
        lambda text: text.replace('"', "'"),
        lambda text: json.dumps({"result": json.loads(text)}),
        lambda text: str(json.loads(text)),
    ],
)
def test_c28_the_answer_may_come_wrapped(wrap) -> None:  # type: ignore[no-untyped-def]
    found = read(wrap(json.dumps(FULL)))
    assert (found.lines, found.replaced) == (read(FULL).lines, (OLD[2],))
    assert len(found.facts) == 1


CERTAINLY = "Certainly! I have updated the notes as you asked."


@pytest.mark.parametrize(
    "text",
    [
        CERTAINLY,
        "",
        " \n",
        "I'm sorry, but I can't assist with that.",
        "What would you like me to write?",
        "*Mira smiles.* Welcome back, Alice! The stew is hot.",
        "{}",
        "[]",
        '{"answer": 42}',
        '{"lines": []}',
        '{"keep": [], "lines": []}',
        '{"lines": [{"section": "events", "text": "Certainly!"}]}',
        '{"lines": [{"section": "events", "text": "*smiles and waves*"}]}',
        '{"lines": [{"section": "events", "text": "\\"Welcome, friend!\\""}]}',
        '{"keep": [], "lines": [{"section": "threads", "text": "<one sentence>", "turns": [2]}]}',
        '{"lines": [{"text": 7}, {"text": null}, 3, []]}',
        '{"emotions": {"1": [2, 3, 6, 1, 2, 4, 1, 3]}}',
    ],
)
def test_c37_junk_never_replaces_notes(text: str) -> None:
    assert refusal(text)


def test_c37_a_cut_or_endless_answer_is_refused() -> None:
    assert refusal(json.dumps(FULL), truncated=True) == "it was cut off"
    assert refusal("x" * 40_000) == "it is too long"
    assert refusal(json.dumps({"lines": [{"text": "word " * 8000}]})) == "it is too long"


def test_lines_without_good_numbers_inherit_the_batch() -> None:
    answer = {
        "keep": [],
        "lines": [{"text": "A new thing occurred."}, {"text": "Another.", "turns": [0, 9, "x"]}],
    }
    assert [line.sources for line in read(answer, ()).lines] == [TURNS, TURNS]


@pytest.mark.parametrize(
    ("turns", "sources"),
    [
        ([1, 3], (11, 13)),
        (2, (12,)),
        ("1-3", (11, 12, 13)),
        (["T2", "#3"], (12, 13)),
        ([3.0], (13,)),
        ("turns 1, 2", (11, 12)),
        ([[1], {"turn": 2}], (11, 12)),
        (True, TURNS),
        ([1e300, -1], TURNS),
    ],
)
def test_numbers_are_read_in_every_form(turns: object, sources: tuple[int, ...]) -> None:
    assert read({"keep": [], "lines": [{"text": "A thing.", "turns": turns}]}, ()).lines[0].sources == sources


@pytest.mark.parametrize(
    "answer",
    [
        {"keep": [1, 2, 3]},
        {"keep": "1-3", "lines": []},
        {"keep": "all"},
        {"keep": ["The inn, at night.", "alice and MIRA are here.", "Mira owes Alice a song."]},
        {"keep": [{"line": 1}, {"line": 2}, {"line": 3}]},
        {"drop": []},
    ],
)
def test_kept_lines_stay_with_their_sources(answer: object) -> None:
    if answer == {"drop": []}:
        answer = {"drop": [], "lines": [{"section": "place", "text": "The inn, at night.", "turns": []}]}
        assert [line.text for line in read(answer).lines] == [line.text for line in OLD]
        return
    found = read(answer)
    assert (found.lines, found.replaced) == (OLD, ())


def test_dropped_lines_become_replaced() -> None:
    found = read(
        {"drop": [1], "lines": [{"section": "place", "text": "On the river, dawn breaks.", "turns": [3]}]}
    )
    assert found.replaced == (OLD[0],)
    assert len(found.lines) == 4


def test_lines_repeated_as_text_are_the_old_ones() -> None:
    answer = {"lines": [{"section": "people", "text": "Alice and Mira are here.", "turns": [1]}]}
    found = read(answer)
    assert found.lines == (Line("people", "Alice and Mira are here.", (1, 2, 11)), OLD[3])
    assert found.replaced == (OLD[0], OLD[2])


def test_without_a_word_on_old_notes_they_stay() -> None:
    found = read({"lines": [{"section": "events", "text": "Bob burst in, soaked.", "turns": [2]}]})
    assert found.replaced == ()
    assert len(found.lines) == 5


def test_a_line_told_anew_takes_over_where_it_came_from() -> None:
    answer = {
        "keep": [1, 2],
        "lines": [{"section": "threads", "text": "Mira still owes Alice that song.", "turns": [3]}],
    }
    line = next(line for line in read(answer).lines if line.section == "threads")
    assert line.sources == (2, 3, 13)


def test_standing_instructions_stay_until_dropped_by_number() -> None:
    assert OLD[3] in read({"keep": [1]}).lines
    assert OLD[3] not in read({"keep": [1], "drop": [4]}).lines
    answer = {"keep": [1], "lines": [{"section": "standing", "text": "Long answers please.", "from": [4]}]}
    assert [line.text for line in read(answer).standing] == ["Long answers please."]


@pytest.mark.parametrize(
    ("word", "section"),
    [
        ("Open threads and promises", "threads"),
        ("Where and when", "place"),
        ("地点", "place"),
        ("RELATIONSHIPS", "feelings"),
        ("gibberish", "events"),
        (None, "events"),
    ],
)
def test_sections_are_understood(word: object, section: str) -> None:
    assert (
        read({"keep": [], "lines": [{"section": word, "text": "Something."}]}, ()).lines[0].section == section
    )


def test_notes_may_come_under_their_sections() -> None:
    answer = {
        "notes": {"place": "The quay.", "threads": ["- Find the cat.", {"text": "Pay Bob.", "turns": [2]}]}
    }
    found = read(answer, ())
    assert [(line.section, line.text) for line in found.lines] == [
        ("place", "The quay."),
        ("threads", "Find the cat."),
        ("threads", "Pay Bob."),
    ]


def test_caps_hold() -> None:
    many = {"keep": [1, 2, 3], "lines": [{"text": f"Thing {n} took place.", "turns": [1]} for n in range(60)]}
    found = read(many)
    assert len(found.lines) == MOST_LINES
    assert OLD[3] in found.lines
    assert {OLD[0], OLD[1], OLD[2]} <= set(found.replaced)
    long = read({"keep": [], "lines": [{"text": "word " * 200}]}, ()).lines[0].text
    assert len(long) <= LONGEST_LINE
    assert long.endswith("word…")


def test_c35_the_same_note_twice_is_one() -> None:
    answer = {
        "keep": [],
        "lines": [{"text": "Bob sleeps.", "turns": [1]}, {"text": "bob  sleeps.", "turns": [2]}],
        "facts": ["Bob snores.", {"text": "bob snores.", "turns": [1]}],
    }
    found = read(answer, ())
    assert [line.sources for line in found.lines] == [(11, 12)]
    assert found.facts == (Fact("", "Bob snores.", TURNS, ""),)


def test_c32_notes_in_another_script_than_the_chat_are_refused() -> None:
    chinese = json.dumps(
        {"keep": [1], "lines": [{"text": "爱丽丝在客栈里等着米拉回来，他们一起唱了一首歌。"}]}
    )
    english = ["Alice waits at the inn for Mira to come back."]
    assert refusal(chinese, texts=english) == "it is in another language than the chat"
    assert read(chinese, texts=["爱丽丝在客栈里等米拉，他们一起唱歌，夜很深了，大家都很高兴。"])
    assert read(FULL, texts=["爱"])


@pytest.mark.parametrize(
    "emotions",
    [
        {"1": SCORES},
        {"turn 1": SCORES},
        [{"turn": 1, "scores": SCORES}],
        [{"turn": 1, "reason": "nervous", "scores": SCORES}],
        {
            "1": {
                "joy": 2,
                "acceptance": 3,
                "fear": 6,
                "surprise": 1,
                "sadness": 2,
                "disgust": 4,
                "anger": 1,
                "anticipation": 3,
            }
        },
        [
            {
                "turn": "1",
                "喜悦": 2,
                "信任": 3,
                "恐惧": 6,
                "惊讶": 1,
                "悲伤": 2,
                "厌恶": 4,
                "愤怒": 1,
                "期待": 3,
            }
        ],
        [SCORES, [5, 5, 5, 5, 5, 5, 5, 5], [1, 2, 3, 4, 5, 6, 7, 8]],
    ],
)
def test_emotions_are_read_by_turn(emotions: object) -> None:
    found = read({**FULL, "emotions": emotions}).emotions
    assert {turn: vector.tolist() for turn, vector in found.items()} == {11: SCORES}


@pytest.mark.parametrize(
    "scores",
    [
        [5] * 8,
        [1, 2, 3, 4, 5, 6, 7, 8],
        [0, 3, 6, 1, 2, 4, 1, 3],
        [2, 3, 60, 1, 2, 4, 1, 3],
        [1, 2, 3],
        "high",
        None,
        {"joy": 11},
        {},
    ],
)
def test_scores_that_are_no_judgement_are_left_out(scores: object) -> None:
    assert read({**FULL, "emotions": [{"turn": 1, "scores": scores}]}).emotions == {}
    assert read({**FULL, "emotions": {"1": scores}}).emotions == {}
    assert read({**FULL, "emotions": {"9": SCORES}}).emotions == {}


def test_the_schema_names_the_sections() -> None:
    text = json.dumps(REWRITE_SCHEMA)
    assert all(f'"{section}"' in text for section in SECTIONS)


KEY_WORDS = "keep lines facts emotions triggers text turns from section 1 turn scores drop notes place"
KEYS = KEY_WORDS.split()
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 40),
        st.floats(),
        st.text(max_size=8),
        st.just("Bob sleeps."),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=25,
)


@given(VALUES)
def test_any_answer_is_read_or_refused_and_every_line_has_sources(value: object) -> None:
    found = parse_rewrite(json.dumps(value), turn_ids=TURNS, current=OLD)
    if isinstance(found, Rewrite):
        assert 0 < len(found.lines) <= MOST_LINES
        known = {*TURNS, 1, 2, 3, 4}
        for line in found.lines:
            assert line.sources
            assert set(line.sources) <= known
            assert line.section in SECTIONS
        kept = {line.text for line in found.lines}
        assert all(line.text in kept or line in found.replaced for line in OLD)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert parse_rewrite(text, turn_ids=TURNS, current=OLD)


def test_facts_say_of_what_kind_they_are_and_which_known_ones_they_replace() -> None:
    fact = {
        "about": "Alice",
        "kind": "Person",
        "text": "Her horse is Ember.",
        "turns": [1],
        "replaces": [2, 9],
    }
    answer = json.dumps({"keep": "all", "lines": [{"text": "A horse.", "turns": [1]}], "facts": [fact]})
    found = parse_rewrite(answer, turn_ids=[11, 12], current=OLD, known=[70, 71])
    assert isinstance(found, Rewrite)
    assert (found.facts[0].kind, found.facts[0].replaces) == ("person", (71,))
