"""Talking to personas through the whole engine: who is answered, once, and what the model is shown."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.spending import ceilings
from bot.core.types import TurnKind
from bot.engine.paid_calls import Spending
from bot.errors import ContextOverflow, DeliveryError, ModelMisconfigured, ModelUnavailable
from tests.engine.stage import ALICE, BOB, CELLAR, TAVERN, FakeMessenger, RealClock, open_stage
from tests.fakes import Cut


async def test_a_named_persona_answers_once_and_remembers_both_turns(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": ["Welcome, traveller."]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("Good evening, Mira.")
        await stage.quiet()
        assert stage.messenger.texts() == ["Welcome, traveller."]
        assert [turn.text for turn in await stage.window()] == ["Good evening, Mira.", "Welcome, traveller."]


async def test_an_unaddressed_line_is_recorded_and_not_answered(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("I sit down by the fire.")
        await stage.quiet()
        assert stage.messenger.said == []
        assert [turn.text for turn in await stage.window()] == ["I sit down by the fire."]


async def test_nothing_is_stored_where_no_scene_is(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("A secret of another room.", place=CELLAR)
        stage.say("Mira?", place=CELLAR, mention=True)
        await stage.troupe.journal.flushed()
        await stage.notices_out()
        assert (await stage.store.describe())["turns"] == 0
        assert [place for place, text in stage.messenger.notices] == [CELLAR.id]
        assert "/scene start" in stage.messenger.notices[0][1]


async def test_the_greeting_is_said_and_stored_as_a_turn(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona(greeting="{{char}} looks up."))
        await stage.quiet()
        assert stage.messenger.texts() == ["Mira looks up."]
        (turn,) = await stage.window()
        assert turn.persona_id
        assert (await stage.store.turns.by_ids([turn.id]))[0].message_ids


async def test_a_burst_while_replying_is_answered_once(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, {"reply": ["First.", "Second."]}, gate=gate) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira, hello.")
        await stage.model.asked.wait()
        for number in range(5):
            stage.say(f"Mira, and also {number}.", by=BOB)
        await stage.troupe.journal.flushed()
        gate.set()
        await stage.quiet()
        assert stage.messenger.texts() == ["First.", "Second."]
        assert "and also 4" in stage.model.of("reply")[1].messages[-1].content


async def test_two_places_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona()
        await stage.scene(mira)
        await stage.scene(mira, place=CELLAR)
        stage.say("Mira, up here!")
        stage.say("Mira, down here!", place=CELLAR)
        await stage.quiet()
        await stage.quiet(CELLAR)
        assert len(stage.messenger.texts()) == 1
        assert len(stage.messenger.texts(CELLAR)) == 1


async def test_the_prompt_has_one_system_message_and_ends_with_the_turn(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona(description="An innkeeper with a wooden leg."))
        stage.say("The rain will not stop.", by=BOB)
        stage.say("Mira, a room please.")
        await stage.quiet()
        messages = stage.model.of("reply")[0].messages
        assert [message.role for message in messages].count("system") == 1
        assert "wooden leg" in messages[0].content
        assert messages[-1].role == "user"
        assert messages[-1].content.rstrip().endswith("Alice: Mira, a room please.")
        assert "Bob: The rain will not stop." in "\n".join(message.content for message in messages)


@pytest.mark.parametrize(
    "answers", [["", "There you are."], ["As an AI language model, no.", "There you are."]]
)
async def test_an_empty_or_refused_answer_is_asked_for_once_more(tmp_path: Path, answers: list[str]) -> None:
    async with open_stage(tmp_path, {"reply": answers}) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira?")
        await stage.quiet()
        assert stage.messenger.texts() == ["There you are."]
        assert len(stage.model.of("reply")) == 2


async def test_an_exact_repeat_is_retried_and_never_posted_twice(tmp_path: Path) -> None:
    line = "The night is long and the road is longer."
    async with open_stage(tmp_path, {"reply": [line, line, line]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira?")
        await stage.quiet()
        stage.say("Mira, go on.")
        await stage.quiet()
        assert stage.messenger.texts() == [line]
        assert len(stage.messenger.notices) == 1


async def test_a_cut_answer_ends_with_its_last_whole_sentence(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": [Cut("She nods. The door is open. And then she op")]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira?")
        await stage.quiet()
        assert stage.messenger.texts() == ["She nods. The door is open."]
        assert await stage.troupe.personas.samples((await stage.troupe.personas.all(9))[0].id) == []


@pytest.mark.parametrize(
    ("failure", "word"),
    [(ModelUnavailable("down"), "respond"), (ModelMisconfigured("no key"), "misconfigured")],
)
async def test_a_failing_model_ends_in_one_notice_and_the_next_message_works(
    tmp_path: Path, failure: Exception, word: str
) -> None:
    async with open_stage(tmp_path, {"reply": [failure, "Here I am."]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira?")
        await stage.quiet()
        assert len(stage.messenger.notices) == 1
        assert word in stage.messenger.notices[0][1]
        stage.clock.ahead += timedelta(minutes=1)
        stage.say("Mira, again?")
        await stage.quiet()
        assert stage.messenger.texts() == ["Here I am."]
        assert len(stage.messenger.notices) == 1


async def test_a_prompt_that_is_too_long_is_shrunk(tmp_path: Path) -> None:
    answers = [ContextOverflow("too long", limit=2000), "I remember enough."]
    async with open_stage(tmp_path, {"reply": answers}, context_tokens=4000) as stage:
        await stage.scene(await stage.persona())
        for number in range(60):
            stage.say(f"Line {number} of a long evening, with many words that fill the window up. " * 3)
        stage.say("Mira, do you follow?")
        await stage.quiet()
        first, second = stage.model.of("reply")
        assert len(second.text) < len(first.text)
        assert stage.messenger.texts() == ["I remember enough."]


async def test_deleting_the_message_stops_the_reply(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, gate=gate) as stage:
        await stage.scene(await stage.persona())
        message_id = stage.say("Mira, I confess everything.")
        await stage.model.asked.wait()
        stage.delete(message_id)
        await stage.troupe.journal.flushed()
        gate.set()
        await stage.quiet()
        assert stage.messenger.said == []
        assert await stage.window() == []
        assert stage.model.cancelled == 1


async def test_an_edit_while_replying_answers_the_new_text_once(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, {"reply": ["Bergen, then.", "Bergen, then."]}, gate=gate) as stage:
        await stage.scene(await stage.persona())
        message_id = stage.say("Mira, I live in Oslo.")
        await stage.model.asked.wait()
        stage.edit(message_id, "Mira, I live in Bergen.")
        await stage.troupe.journal.flushed()
        gate.set()
        await stage.quiet()
        assert len(stage.messenger.texts()) == 1
        assert "Bergen" in stage.model.of("reply")[-1].text
        assert "Oslo" not in stage.model.of("reply")[-1].text


async def test_out_of_character_lines_are_kept_but_not_answered(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("((Mira, brb dinner))")
        await stage.quiet()
        assert stage.messenger.said == []
        assert [turn.kind for turn in await stage.window()] == [TurnKind.OUT_OF_CHARACTER]


async def test_a_long_reply_is_several_messages_and_one_turn(tmp_path: Path) -> None:
    text = "\n\n".join(
        f"Chapter {n} begins. " + " ".join(f"Then came rider {n * 40 + k} of the north." for k in range(13))
        for n in range(12)
    )
    async with open_stage(tmp_path, {"reply": [text]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira, tell me everything.")
        await stage.quiet()
        assert len(stage.messenger.texts()) > 1
        assert all(len(part) <= 2000 for part in stage.messenger.texts())
        turn = (await stage.window())[-1]
        stored = (await stage.store.turns.by_ids([turn.id]))[0]
        assert len(stored.message_ids) == len(stage.messenger.texts())


async def test_an_uncertain_send_that_arrived_is_not_repeated(tmp_path: Path) -> None:
    class Arrived(DeliveryError):
        arrives = True

    clock = RealClock()
    messenger = FakeMessenger(clock, failures=[Arrived("reset", uncertain=True)])
    async with open_stage(tmp_path, {"reply": ["Once."]}, messenger=messenger, clock=clock) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira?")
        await stage.quiet()
        assert stage.messenger.texts() == ["Once."]
        assert await stage.store.turns.open_outbox() == []


async def test_pausing_stops_recording_and_the_running_reply(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, gate=gate) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira?")
        await stage.model.asked.wait()
        await stage.troupe.scenes.pause(TAVERN)
        gate.set()
        stage.say("Nobody writes this down.")
        await stage.quiet()
        assert stage.messenger.said == []
        assert [turn.text for turn in await stage.window()] == ["Mira?"]


async def test_a_proxied_copy_is_answered_instead_of_the_deleted_original(tmp_path: Path) -> None:
    pluralkit = 466378653216014359
    async with open_stage(tmp_path, {"reply": ["Hello, Fox."]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("I was here before.", by=7, webhook_id=7, application_id=pluralkit, is_bot=True)
        await stage.quiet()
        await stage.troupe.options.set(TAVERN.space_id, 0, "proxy_wait", "0.3")
        original = stage.say("f: Mira, hello!")
        stage.say(
            "Mira, hello!", by=7, webhook_id=7, application_id=pluralkit, is_bot=True, author_name="Fox"
        )
        stage.delete(original)
        await stage.quiet()
        assert stage.messenger.texts() == ["Hello, Fox."]
        assert [turn.speaker for turn in await stage.window()] == ["member 7", "Fox", "Mira"]


async def test_a_proxy_app_that_posted_outside_of_every_scene_is_waited_for(tmp_path: Path) -> None:
    pluralkit = 466378653216014359
    async with open_stage(tmp_path, {"reply": ["Hello, Fox."]}) as stage:
        copied = {"by": 7, "webhook_id": 7, "application_id": pluralkit, "is_bot": True, "author_name": "Fox"}
        stage.say("I was in another room.", place=CELLAR, **copied)  # type: ignore[arg-type]
        await stage.scene(await stage.persona())
        original = stage.say("f: Mira, hello!")
        await stage.troupe.journal.flushed()
        await stage.window()
        assert stage.model.of("reply") == []
        stage.say("Mira, hello!", **copied)  # type: ignore[arg-type]
        stage.delete(original)
        await stage.quiet()
        assert stage.messenger.texts() == ["Hello, Fox."]
        assert [turn.text for turn in await stage.window()] == ["Mira, hello!", "Hello, Fox."]
    async with open_stage(tmp_path) as stage:
        assert stage.troupe.options.proxies_seen(TAVERN.space_id)


async def test_other_bots_are_neither_recorded_nor_answered(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira, and you?", by=55, is_bot=True)
        stage.say("Mira, and you?", by=56, webhook_id=56, application_id=1, is_bot=True)
        await stage.quiet()
        assert await stage.window() == []


async def test_daily_tokens_end_in_one_tired_line(tmp_path: Path) -> None:
    async with open_stage(tmp_path, spending=Spending(ceilings(daily_tokens=10))) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira?")
        await stage.quiet()
        stage.say("Mira?!", by=BOB)
        await stage.quiet()
        assert stage.model.of("reply") == []
        (line,) = stage.messenger.texts()
        assert "used up" in line
        assert stage.messenger.notices == []


async def test_a_cooldown_outlasts_a_restart(tmp_path: Path) -> None:
    clock = RealClock()
    async with open_stage(tmp_path, clock=clock) as stage:
        await stage.scene(await stage.persona())
        await stage.troupe.options.set(TAVERN.space_id, 0, "member_cooldown_s", "600")
        stage.say("Mira?")
        await stage.quiet()
    async with open_stage(tmp_path, clock=clock) as stage:
        stage.say("Mira!")
        await stage.quiet()
        assert stage.messenger.texts() == []
        assert len(stage.messenger.notices) == 1


async def test_a_member_is_told_once_to_wait(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        await stage.troupe.options.set(TAVERN.space_id, 0, "member_cooldown_s", "60")
        for text in ("Mira?", "Mira!", "Mira!!"):
            stage.say(text, by=ALICE)
            await stage.quiet()
        assert len(stage.messenger.texts()) == 1
        assert len(stage.messenger.notices) == 1
