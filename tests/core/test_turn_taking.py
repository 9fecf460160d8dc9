from __future__ import annotations

import pytest

from bot.core.turn_taking import Decision, Reason, ReplyMode, decide
from bot.core.types import TurnKind
from tests.core.scene_parts import persona, said, scene, turn

MIRA = persona("Mira", 1)
KENJI = persona("Kenji Sato", 2, former=("Hiro",), card={"nickname": "ケンジ"})
CAST = [MIRA, KENJI]


def test_a_reply_to_a_persona_wins_over_a_name() -> None:
    heard = turn("Mira, look", mentions_bot=True)
    decision = decide(heard, scene=scene(), cast=CAST, reply_mode=ReplyMode.NAMED, replied_persona_id=2)
    assert decision == Decision(2, Reason.REPLIED_TO)


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("Kenji and Mira, come", 2),
        ("Mira and Kenji, come", 1),
        ("Hiro?", 2),
        ("ケンジさん", 2),
        ("Kenji Sato!", 2),
    ],
)
def test_the_first_one_named_answers(text: str, chosen: int) -> None:
    decision = decide(turn(text), scene=scene(), cast=CAST, reply_mode=ReplyMode.NAMED)
    assert decision == Decision(chosen, Reason.NAMED)


def test_the_longer_name_wins_at_the_same_place() -> None:
    cast = [persona("Mira", 1), persona("Mira Vale", 2)]
    assert decide(turn("Mira Vale!"), scene=scene(), cast=cast, reply_mode=ReplyMode.NAMED).persona_id == 2
    assert decide(turn("Mira!"), scene=scene(), cast=cast, reply_mode=ReplyMode.NAMED).persona_id == 1


@pytest.mark.parametrize(("last", "chosen"), [(None, 1), (2, 2), (99, 1)])
def test_a_mention_goes_to_the_last_speaker_or_the_first_of_the_cast(last: int | None, chosen: int) -> None:
    decision = decide(
        turn("hello there", mentions_bot=True),
        scene=scene(),
        cast=CAST,
        reply_mode=ReplyMode.MENTION,
        last_speaker_persona_id=last,
    )
    assert decision == Decision(chosen, Reason.MENTIONED)


def test_always_answers_what_addresses_nobody() -> None:
    decision = decide(turn("it rains"), scene=scene(), cast=CAST, reply_mode=ReplyMode.ALWAYS)
    assert decision == Decision(1, Reason.ALWAYS)


def test_mode_mention_hears_no_names_but_lets_them_choose() -> None:
    silent = decide(turn("Kenji?"), scene=scene(), cast=CAST, reply_mode=ReplyMode.MENTION)
    assert silent == Decision(None, Reason.NOT_ADDRESSED)
    asked = decide(turn("Kenji?", mentions_bot=True), scene=scene(), cast=CAST, reply_mode=ReplyMode.MENTION)
    assert asked == Decision(2, Reason.NAMED)


@pytest.mark.parametrize("mode", list(ReplyMode))
def test_nobody_answers_out_of_character_paused_or_own_turns(mode: ReplyMode) -> None:
    outside = turn("((Mira, brb))", kind=TurnKind.OUT_OF_CHARACTER, mentions_bot=True)
    assert decide(outside, scene=scene(), cast=CAST, reply_mode=mode) == Decision(
        None, Reason.OUT_OF_CHARACTER
    )
    paused = decide(turn("Mira?", mentions_bot=True), scene=scene(paused=True), cast=CAST, reply_mode=mode)
    assert paused == Decision(None, Reason.PAUSED)
    assert decide(said("Mira smiles."), scene=scene(), cast=CAST, reply_mode=mode) == Decision(
        None, Reason.OWN
    )
    assert not any(reason.worth_telling for reason in (Reason.OUT_OF_CHARACTER, Reason.PAUSED, Reason.OWN))


def test_off_is_silent_unless_an_answer_was_asked_for() -> None:
    named = decide(turn("Mira?"), scene=scene(), cast=CAST, reply_mode=ReplyMode.OFF)
    assert (named.persona_id, named.reason.worth_telling) == (None, False)
    asked = decide(turn("Mira?", mentions_bot=True), scene=scene(), cast=CAST, reply_mode=ReplyMode.OFF)
    assert (asked.persona_id, asked.reason.worth_telling) == (None, True)


def test_an_empty_cast_is_told_only_when_addressed() -> None:
    mentioned = decide(
        turn("hi", mentions_bot=True), scene=scene(cast=()), cast=[], reply_mode=ReplyMode.NAMED
    )
    assert mentioned == Decision(None, Reason.NOBODY_HERE)
    assert mentioned.reason.worth_telling
    silent = decide(turn("hi"), scene=scene(cast=()), cast=[], reply_mode=ReplyMode.ALWAYS)
    assert not silent.reason.worth_telling


def test_a_reply_to_a_persona_that_left_is_told() -> None:
    decision = decide(
        turn("why?"), scene=scene(), cast=[MIRA], reply_mode=ReplyMode.NAMED, replied_persona_id=2
    )
    assert decision == Decision(None, Reason.NOT_HERE)
    assert decision.reason.worth_telling


def test_narration_can_name_a_persona() -> None:
    told = turn("*The door opens before Mira.*", kind=TurnKind.NARRATION)
    assert decide(told, scene=scene(), cast=CAST, reply_mode=ReplyMode.NAMED).persona_id == 1
