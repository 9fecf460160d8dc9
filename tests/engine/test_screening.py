"""What is refused never becomes a turn; what waits to be checked keeps its order and survives an end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.core.events import MessagePosted
from bot.engine.screening import REFUSED
from bot.errors import ModerationUnavailable
from tests.engine.gates import steps
from tests.engine.stage import ALICE, BOB, CELLAR, TAVERN, FakeMessenger, RealClock, Stage, open_stage
from tests.records import sql


@dataclass
class FakeModeration:
    """Refuses what holds the word "grub", fails on "storm", waits on "slow" until it is let go."""

    asked: list[str] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def refuses(self, text: str) -> bool:
        self.asked.append(text)
        if "slow" in text:
            await self.gate.wait()
        if "storm" in text:
            raise ModerationUnavailable("moderation.example: timeout")
        return "grub" in text


async def begun(stage: Stage, **options: str) -> None:
    await stage.scene(await stage.persona())
    for key, value in {"moderation": "both", **options}.items():
        await stage.troupe.options.set(TAVERN.space_id, 0, key, value)


async def heard(stage: Stage) -> list[str]:
    await stage.troupe.trust.screening.flushed()
    await stage.quiet()
    await stage.notices_out()
    return [turn.text for turn in await stage.window()]


async def everywhere(stage: Stage, word: str) -> list[str]:
    """The tables that hold a word."""
    found = []
    for (name,) in await sql(stage.store, "SELECT name FROM sqlite_master WHERE type='table'"):
        rows = await sql(stage.store, f'SELECT * FROM "{name}"')
        found += [name for row in rows if word in str(row)]
    return found


async def test_a_refused_message_is_no_turn_and_is_answered_with_one_notice(tmp_path: Path) -> None:
    moderation = FakeModeration()
    async with open_stage(tmp_path, moderation=moderation) as stage:
        await begun(stage)
        stage.say("Mira, you grub!", mention=True)
        stage.say("Mira, good evening.", mention=True)
        assert "Mira, you grub!" not in await heard(stage)
        assert [text for _, text in stage.messenger.notices if text == REFUSED] == [REFUSED]
        assert await everywhere(stage, "grub") == []
        assert not [prompt for prompt in stage.model.prompts if "grub" in prompt.text]
        assert len(stage.messenger.texts()) == 1


async def test_words_are_refused_without_a_server(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await begun(stage, blocked_words="grub, two words")
        stage.say("A GRUB speaks.")
        stage.say("These are two words.")
        stage.say("These are words two.")
        assert await heard(stage) == ["These are words two."]


async def test_an_edit_that_is_refused_takes_its_message_out_of_memory(tmp_path: Path) -> None:
    async with open_stage(tmp_path, moderation=FakeModeration()) as stage:
        await begun(stage)
        said = stage.say("I like apples.")
        await heard(stage)
        stage.edit(said, "I like grub.")
        assert await heard(stage) == []
        assert await everywhere(stage, "grub") == []
        assert await everywhere(stage, "apples") == []


async def test_a_slow_check_holds_back_what_comes_after_it_in_its_place_alone(tmp_path: Path) -> None:
    moderation = FakeModeration()
    async with open_stage(tmp_path, moderation=moderation) as stage:
        await begun(stage)
        stage.say("A slow beginning.", by=ALICE)
        said = stage.say("An end.", by=BOB)
        stage.edit(said, "Another end.")
        async with asyncio.timeout(30):
            while len(moderation.asked) < 3:
                await asyncio.sleep(0.01)
        assert await stage.window() == []
        assert moderation.asked == ["A slow beginning.", "An end.", "Another end."]  # side by side
        moderation.gate.set()
        assert await heard(stage) == ["A slow beginning.", "Another end."]


@pytest.mark.parametrize(("policy", "left"), [("open", ["A storm comes."]), ("closed", [])])
async def test_a_server_that_fails_lets_through_or_refuses_as_the_setting_says(
    tmp_path: Path, policy: str, left: list[str]
) -> None:
    async with open_stage(tmp_path, moderation=FakeModeration()) as stage:
        await begun(stage, moderation_failure=policy)
        stage.say("A storm comes.")
        assert await heard(stage) == left


async def test_a_refused_answer_is_not_posted_and_not_kept(tmp_path: Path) -> None:
    script = {"reply": ["You grub, I say.", "Good evening."]}
    async with open_stage(tmp_path, script, moderation=FakeModeration()) as stage:  # type: ignore[arg-type]
        await begun(stage)
        stage.say("Mira, what am I?", mention=True)
        assert await heard(stage) == ["Mira, what am I?"]
        assert stage.messenger.texts() == []
        assert [text for _, text in stage.messenger.notices if "was not posted" in text]
        assert await everywhere(stage, "grub") == []
        stage.say("Mira, and now?", mention=True)
        assert (await heard(stage))[-1] == "Good evening."


async def test_nothing_is_asked_unless_the_guild_wants_it(tmp_path: Path) -> None:
    moderation = FakeModeration()
    async with open_stage(tmp_path, moderation=moderation) as stage:
        await begun(stage, moderation="off")
        stage.say("Mira, you grub!", mention=True)
        assert (await heard(stage))[0] == "Mira, you grub!"
        await stage.troupe.options.set(TAVERN.space_id, 0, "moderation", "replies")
        stage.say("A grub again.")
        await heard(stage)
        assert moderation.asked == []


async def test_what_was_being_checked_at_the_end_is_read_from_the_channel_again(tmp_path: Path) -> None:
    clock = RealClock()
    messenger = FakeMessenger(clock)
    async with open_stage(tmp_path, messenger=messenger, clock=clock, moderation=FakeModeration()) as stage:
        await begun(stage)
        stage.say("Good evening.")
        await heard(stage)
        message_id = stage.say("A slow one.")
    messenger.past.append(
        MessagePosted(
            place=TAVERN,
            message_id=message_id,
            author_id=ALICE,
            author_name="Alice",
            text="A slow one.",
            created_at=clock(),
            backfilled=True,
        )
    )
    moderation = FakeModeration()
    moderation.gate.set()
    async with open_stage(tmp_path, messenger=messenger, clock=clock, moderation=moderation) as stage:
        assert await heard(stage) == ["Good evening.", "A slow one."]


class TwoGates:
    """Checks of the tavern and of the cellar end when the test says so."""

    def __init__(self) -> None:
        self.gates = {"tavern": asyncio.Event(), "cellar": asyncio.Event()}

    async def refuses(self, text: str) -> bool:
        await self.gates[text].wait()
        return False


async def test_waiting_for_all_that_is_checked_ends_in_whatever_order_places_do(tmp_path: Path) -> None:
    moderation = TwoGates()
    async with open_stage(tmp_path, moderation=moderation) as stage:
        await begun(stage)
        await stage.scene(await stage.persona("Odo"), place=CELLAR)
        stage.say("tavern")
        stage.say("cellar", place=CELLAR)
        waiting = asyncio.create_task(stage.troupe.trust.screening.flushed())
        await steps()
        moderation.gates["cellar"].set()
        await steps()
        assert not waiting.done()
        moderation.gates["tavern"].set()
        async with asyncio.timeout(30):
            await waiting
        assert not stage.troupe.trust.screening.busy
