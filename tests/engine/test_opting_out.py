"""A member who opted out is answered, and nothing of what they said is ever written."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.privacy_ledger import open_ledger
from bot.core.events import MessagePosted
from bot.engine import indexing
from bot.engine.state import PlaceState
from bot.errors import ModelUnavailable, StorageError
from tests.engine.stage import ALICE, BOB, NAMES, TAVERN, FakeMessenger, RealClock, Stage, open_stage
from tests.fakes import Prompt

ZAN = 919293949596979899
MARK = "xyzzyplugh"


@pytest.fixture(autouse=True)
def hurried_indexer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.0)
    monkeypatch.setitem(NAMES, ZAN, "Zanzibar")


def written(folder: Path, mark: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and mark.encode() in path.read_bytes()]


async def begun(stage: Stage) -> None:
    await stage.troupe.privacy.opt_out(ZAN)
    await stage.scene(await stage.persona())


async def test_the_answer_knows_the_message_and_no_file_does(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": ["A fine word you have there, my dear guest."]}) as stage:
        await begun(stage)
        stage.say("The song of the whale.", by=BOB)
        stage.say(f"Mira, my word is {MARK}!", by=ZAN)
        await stage.quiet()
        prompt = stage.model.of("reply")[0].text
        assert prompt.count(MARK) == 1
        assert "Zanzibar" in prompt
        assert "whale" in prompt
        assert stage.messenger.texts() == ["A fine word you have there, my dear guest."]
        await stage.store.truncate_wal()
        for mark in (MARK, "Zanzibar", str(ZAN)):
            assert written(tmp_path, mark) == []


async def test_the_answer_stands_in_the_window_and_nothing_is_made_of_it(tmp_path: Path) -> None:
    reply = "A fine word you have there, my dear guest, says the lantern."
    notes = json.dumps({"keep": [], "lines": [], "facts": [], "triggers": [], "emotions": []})
    async with open_stage(tmp_path, {"reply": [reply, "Yes."], "memory": [notes]}) as stage:
        await begun(stage)
        stage.say(f"Mira, my word is {MARK}!", by=ZAN)
        await stage.quiet()
        (turn,) = await stage.window()
        assert turn.unremembered
        assert turn.text == reply
        assert await stage.store.memories.of_story(1) == []
        assert await stage.store.turns.count_uncovered(1) == 0
        persona = (await stage.troupe.personas.all(TAVERN.space_id))[0]
        assert await stage.troupe.personas.samples(persona.id) == []
        for song in range(11):
            stage.say(f"A song of {song} bottles.", by=BOB)
        async with asyncio.timeout(30):
            while not stage.model.of("memory"):
                await asyncio.sleep(0.01)
        assert "lantern" not in stage.model.of("memory")[0].text
        stage.say("Mira, what did you say?", by=BOB)
        await stage.quiet()
        second = stage.model.of("reply")[1].text
        assert "lantern" in second
        assert MARK not in second
        assert "Zanzibar" not in second
        found = await stage.troupe.memories.search(TAVERN, "lantern guest")
        assert all("lantern" not in one.memory.text for one in found)


async def test_what_asks_for_no_answer_leaves_no_trace_at_all(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await begun(stage)
        stage.say(f"Just talking of {MARK}.", by=ZAN)
        stage.say("Mira, hello!", by=BOB)
        await stage.quiet()
        assert MARK not in stage.model.of("reply")[0].text
        assert all(MARK not in turn.text for turn in await stage.window())


async def test_after_a_restart_the_answer_stays_and_is_not_given_twice(tmp_path: Path) -> None:
    messenger = FakeMessenger(clock := RealClock())
    said = "A fine word you have there, my dear guest."
    parts = {"messenger": messenger, "clock": clock, "ledger": open_ledger(tmp_path)}
    async with open_stage(tmp_path, {"reply": [said]}, **parts) as stage:  # type: ignore[arg-type]
        await begun(stage)
        message = stage.say(f"Mira, my word is {MARK}!", by=ZAN)
        await stage.quiet()
    event = MessagePosted(
        TAVERN, message, ZAN, "Zanzibar", f"Mira, my word is {MARK}!", clock(), backfilled=True
    )
    messenger.past = [event]
    parts["ledger"] = open_ledger(tmp_path)
    async with open_stage(tmp_path, **parts) as stage:  # type: ignore[arg-type]
        await stage.quiet()
        await stage.troupe.catch_up(clock() - timedelta(minutes=1))
        await stage.quiet()
        assert [turn.text for turn in await stage.window()] == [said]
        assert stage.model.of("reply") == []
    assert messenger.texts() == [said]


async def test_a_lost_session_that_is_read_again_gives_no_second_answer(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await begun(stage)
        text = f"Mira, my word is {MARK}!"
        message = stage.say(text, by=ZAN)
        await stage.quiet()
        stage.messenger.past = [
            MessagePosted(TAVERN, message, ZAN, "Zanzibar", text, stage.clock(), backfilled=True)
        ]
        await stage.troupe.catch_up(stage.clock() - timedelta(minutes=5))
        await stage.quiet()
        assert len(stage.messenger.texts()) == 1


async def test_an_edit_or_deletion_reaches_the_answer_in_the_making(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path) as stage:
        await begun(stage)
        stage.model.gate = gate
        message = stage.say(f"Mira, my word is {MARK}!", by=ZAN)
        await stage.model.asked.wait()
        stage.model.asked.clear()
        stage.edit(message, "Mira, my word is nothing!")
        await stage.model.asked.wait()
        assert "my word is nothing" in stage.model.of("reply")[1].text
        assert MARK not in stage.model.of("reply")[1].text
        stage.delete(message)
        await stage.quiet()
        gate.set()
        await stage.quiet()
        assert stage.messenger.texts() == []


async def test_other_words_for_what_was_said_before_are_not_written_and_the_old_ones_go(
    tmp_path: Path,
) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        first, second = stage.say("The mill burns.", by=ZAN), stage.say("The well is deep.", by=ZAN)
        await stage.quiet()
        await stage.troupe.privacy.opt_out(ZAN)
        stage.edit(first, f"My word is {MARK}.", by=ZAN)
        stage.edit(second, "The well is deep.", by=ZAN)  # a preview of a link appeared
        await stage.quiet()
        assert [turn.text for turn in await stage.window()] == ["The well is deep."]
        assert [memory.text for memory in await stage.store.memories.of_story(1)] == ["The well is deep."]


async def test_a_model_that_fails_gives_one_notice_and_writes_nothing(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": [ModelUnavailable("down")]}) as stage:
        await begun(stage)
        stage.say(f"Mira, my word is {MARK}!", by=ZAN)
        await stage.quiet()
        await stage.notices_out()
        assert len(stage.messenger.notices) == 1
        assert await stage.window() == []


async def test_opting_in_again_is_remembered_again(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await begun(stage)
        assert stage.troupe.privacy.is_out(ZAN)
        assert not await stage.troupe.privacy.opt_out(ZAN)
        stage.say("Unheard.", by=ZAN)
        assert await stage.troupe.privacy.opt_in(ZAN)
        stage.say("Heard.", by=ZAN)
        await stage.quiet()
        assert [turn.text for turn in await stage.window()] == ["Heard."]


async def test_forgetting_keeps_an_opt_out_and_takes_the_answers_with_it(tmp_path: Path) -> None:
    def reply(_: Prompt) -> str:
        return f"Dear Zanzibar, {MARK} it is."

    async with open_stage(tmp_path, {"reply": reply}, ledger=open_ledger(tmp_path)) as stage:
        await begun(stage)
        stage.say(f"Mira, my word is {MARK}!", by=ZAN)
        stage.say("I am Alice.", by=ALICE)
        await stage.quiet()
        assert any(MARK in turn.text for turn in await stage.window())
        await stage.troupe.privacy.forget(ZAN)
        assert stage.troupe.privacy.is_out(ZAN)
        assert [turn.text for turn in await stage.window()] == ["I am Alice."]
        assert written(tmp_path, MARK) == []


async def test_a_question_that_is_not_written_is_answered_although_its_place_is_read_again(
    tmp_path: Path,
) -> None:
    async with open_stage(tmp_path) as stage:
        await begun(stage)
        stage.model.gate = asyncio.Event()
        stage.say("Mira, are you there?", by=BOB)
        await stage.model.asked.wait()
        stage.say(f"Mira, my word is {MARK}!", by=ZAN)
        await stage.troupe.journal.flushed()
        await stage.window()

        async def fails(state: PlaceState) -> None:
            raise StorageError("The database is in use by another program.")

        with pytest.raises(StorageError):
            await stage.troupe.places.do(TAVERN, fails)
        await stage.window()
        stage.model.gate.set()
        await stage.quiet()
        assert [MARK in text for text in stage.messenger.texts()] == [False, True]


@pytest.mark.parametrize("in_the_making", [False, True])
async def test_a_question_that_is_not_written_is_answered_although_another_member_is_forgotten(
    tmp_path: Path, in_the_making: bool
) -> None:
    async with open_stage(tmp_path) as stage:
        await begun(stage)
        stage.say("The mill burns.", by=ALICE)
        await stage.quiet()
        stage.model.gate = asyncio.Event()
        if not in_the_making:
            stage.say("Mira, are you there?", by=BOB)
            await stage.model.asked.wait()
        stage.say(f"Mira, my word is {MARK}!", by=ZAN)
        await stage.troupe.journal.flushed()
        await stage.window()
        await stage.model.asked.wait()
        await stage.troupe.privacy.forget(ALICE)
        stage.model.gate.set()
        await stage.quiet()
        assert len([text for text in stage.messenger.texts() if MARK in text]) == 1


async def test_a_reply_that_was_given_up_already_is_not_asked_for_twice(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await begun(stage)
        stage.say("The mill burns.", by=ALICE)
        await stage.quiet()
        stage.model.gate = asyncio.Event()
        message = stage.say(f"Mira, my word is {MARK}!", by=ZAN)
        await stage.model.asked.wait()
        stage.edit(message, f"Mira, my word was {MARK}!", by=ZAN)
        await stage.troupe.journal.flushed()
        held = stage.troupe.places.held([TAVERN.space_id], within=5.0)
        async with held:
            pass
        stage.model.gate.set()
        await stage.quiet()
        assert stage.model.of("reply")[-1].text.count(MARK) == 1
        assert len([text for text in stage.messenger.texts() if MARK in text]) == 1
