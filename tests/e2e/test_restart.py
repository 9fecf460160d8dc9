"""A bot in its own process stops in time, comes back, remembers, catches up, and answers nothing twice."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.e2e.bot_process import Table, plain, window
from tests.model_server import Say

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]

STOP_S = 10.0


async def test_what_was_missed_is_read_and_answered_and_the_rest_is_remembered(table: Table) -> None:
    inn, anna, ben = table.channel(), table.member("Anna"), table.member("Ben", nick="Sir Ben")
    table.stage.model.set_script("reply", plain)
    await table.persona("Mira", inn)
    await table.scene("Feast", inn, location="The hall")
    await table.use("alias use", inn, anna, name="Captain Rook")
    await anna.say(inn, "My cat is called Pepper.")
    await table.talk(anna, inn, "Mira, good morning!", "Mira")
    syncs = len(table.stage.discord.command_syncs)
    began = time.monotonic()
    assert await table.stage.bot.terminate() == 0
    assert time.monotonic() - began < STOP_S
    await ben.say(inn, "The cat is in the oven.")
    missed = await ben.say(inn, "Mira, did you see it?")
    await table.stage.up()
    await table.reply_to(missed, "Mira")
    shown = window(table.prompts()[-1]).splitlines()
    assert "Captain Rook: My cat is called Pepper." in shown
    assert "Sir Ben: The cat is in the oven." in shown
    assert "Sir Ben: Mira, did you see it?" in shown
    assert "The hall" in table.prompts()[-1].messages[0][1]
    await table.talk(anna, inn, "Mira, thank you!", "Mira")
    assert len(table.spoken(inn)) == len(table.prompts()) == 3
    assert "Pepper" in await table.use("memory search", inn, query="What is the cat called?")
    assert len(table.stage.discord.command_syncs) == syncs


async def test_a_stop_lets_replies_end_and_leaves_the_endless_ones_for_the_next_start(table: Table) -> None:
    inn, yard, anna = table.channel("inn"), table.channel("yard"), table.member("Anna")
    await table.persona("Mira", inn)
    for place in (inn, yard):
        await table.scene("Feast", place)
    hang = Say("Never heard.", gate=asyncio.Event())
    slow = Say("One moment, I come with the soup.", delay=0.2)
    table.stage.model.set_script("reply", lambda one: hang if "the gate" in window(one) else slow)
    soup = await anna.say(inn, "Mira, the soup!")
    gate = await anna.say(yard, "Mira, the gate!")
    await table.stage.model.wait_until(lambda _: len(table.prompts()) == 2)
    began = time.monotonic()
    assert await table.stage.bot.terminate() == 0
    assert time.monotonic() - began < STOP_S
    assert [one.content for one in table.spoken(inn)] == ["One moment, I come with the soup."]
    assert table.spoken(yard) == []
    table.stage.restore()
    await table.stage.up()
    assert "the gate!" in (await table.reply_to(gate, "Mira")).content
    await table.talk(anna, inn, "Mira, more!", "Mira")
    await table.talk(anna, yard, "Mira, more!", "Mira")
    assert len(table.spoken(inn)) == len(table.spoken(yard)) == 2
    assert soup.id < table.spoken(inn)[0].id


async def test_a_gateway_that_closes_before_its_first_word_only_delays_the_start(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    assert await table.stage.bot.terminate() == 0
    table.stage.discord.gateway.close_before_hello = 1
    said = await anna.say(inn, "Mira, knock knock!")
    await table.stage.up()
    assert table.stage.discord.gateway.close_before_hello == 0
    assert "knock knock" in (await table.reply_to(said, "Mira")).content
    assert {error["logger"] for error in table.stage.take_errors()} <= {"discord.shard"}
    assert "Mira" in await table.use("scene show", inn)


async def test_after_an_invalid_session_what_was_missed_is_fetched(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await table.talk(anna, inn, "Mira, good morning!", "Mira")
    discord = table.stage.discord
    syncs, sessions = len(discord.command_syncs), len(discord.gateway.identifies)
    discord.gateway.invalid_session()
    await discord.until(lambda: not discord.gateway.connections, 10, "the end of the connection")
    await anna.say(inn, "The bell has fallen down.")
    missed = await anna.say(inn, "Mira, did you hear that?")
    await table.reply_to(missed, "Mira", timeout=30)
    assert len(discord.gateway.identifies) == sessions + 1
    assert "Anna: The bell has fallen down." in window(table.prompts()[-1])
    await table.talk(anna, inn, "Mira, come and look!", "Mira")
    assert len(table.spoken(inn)) == len(table.prompts()) == 3
    assert len(discord.command_syncs) == syncs


async def test_a_cut_connection_is_resumed_and_nothing_is_heard_twice(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await table.talk(anna, inn, "Mira, is somebody at the door?", "Mira")
    await table.stage.discord.gateway.flushed()
    discord = table.stage.discord
    resumes = discord.gateway.resumes
    discord.gateway.replay_extra = 3
    await discord.gateway.drop()
    said = await anna.say(inn, "Mira, are you still there?")
    await table.reply_to(said, "Mira", timeout=30)
    await table.talk(anna, inn, "Mira, good.", "Mira")
    discord.gateway.replay_extra = 0
    assert discord.gateway.resumes == resumes + 1
    assert len(table.spoken(inn)) == len(table.prompts()) == 3
    assert table.stage.stored("SELECT count(*) FROM turns WHERE place_id = ?", inn.id) == [(6,)]
