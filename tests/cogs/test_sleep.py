"""/persona sleep and wake on the real engine over the loopback Discord: the second is measured."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from bot.engine.notices import ASLEEP
from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer
from tests.discord_server.models import Message

SECOND = 1.0


def spoken(played: Played) -> list[Message]:
    """What personas said."""
    return [one for one in played.server.messages(played.channel) if one.webhook_id]


async def scene(played: Played) -> None:
    await played.troupe.personas.create(played.guild.id, name="Mira")
    await played.ask("scene start", name="Feast")


async def notices(played: Played, text: str) -> list[Message]:
    async with asyncio.timeout(30):
        while not (found := [one for one in played.server.messages(played.channel) if text in one.content]):
            await asyncio.sleep(0.01)
    return found


async def test_a_reply_being_written_is_cancelled_and_nothing_is_sent_after_a_second(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    gate = asyncio.Event()
    async with open_played(discord_server, tmp_path, {"reply": ["The bridge is closed."] * 3}) as played:
        await scene(played)
        played.model.gate = gate
        seconds = []
        for number in range(1, 4):
            await played.ask("persona wake")
            played.model.asked.clear()
            await played.member.say(played.channel, f"Mira, what of bridge {number}?")
            async with asyncio.timeout(30):
                await played.model.asked.wait()
            began = time.monotonic()
            told = await played.ask("persona sleep")
            seconds.append(time.monotonic() - began)
            assert "asleep" in told.content
            assert "1 replies under way were stopped" in told.content
            assert played.model.cancelled == number
        assert min(seconds) < SECOND, "also when the machine is not busy"
        gate.set()
        await notices(played, ASLEEP)
        await played.member.say(played.channel, "Mira, are you there?")
        await asyncio.sleep(SECOND + 0.2)
        assert spoken(played) == []
        assert len(await notices(played, ASLEEP)) == 1


@pytest.mark.parametrize("how", ["persona sleep", "settings set"])
async def test_a_reply_being_sent_stops_between_its_messages(
    discord_server: DiscordServer, tmp_path: Path, how: str
) -> None:
    long = " ".join(f"Stone number {at} of the road tells how {at} carts went by." for at in range(150))
    async with open_played(discord_server, tmp_path, {"reply": [long]}) as played:
        await scene(played)
        posts = f"^/webhooks/(?!{discord_server.application_id})"  # that one answers commands
        discord_server.faults.slow("POST", posts, 0.0)
        slow = discord_server.faults.slow("POST", posts, 10.0, times=99)
        await played.member.say(played.channel, "Mira, tell me everything.")
        async with asyncio.timeout(30):
            while not spoken(played):
                await asyncio.sleep(0.005)
        options = {"key": "asleep", "value": "yes"} if how == "settings set" else {}
        await played.ask(how, **options)
        async with asyncio.timeout(50):
            while await played.store.turns.open_outbox():
                await asyncio.sleep(0.01)
        assert slow.hits <= 1, "the second message was under way"
        assert len(spoken(played)) <= 2
        assert len(spoken(played)[0].content) > 1500, "there was more to say"


async def test_sleep_survives_a_restart_and_wake_ends_it(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    answers = {"reply": ["I am awake."] * 3}
    async with open_played(discord_server, tmp_path, answers) as played:
        await scene(played)
        await played.ask("persona sleep")
        guild, channel = played.guild, played.channel
        where = played.troupe.live.places()[0]
        moderator, member = played.moderator, played.member
    async with open_played(discord_server, tmp_path, answers) as again:
        again.guild, again.channel, again.moderator, again.member = guild, channel, moderator, member
        assert again.troupe.trust.sleep.covers(where)
        assert "The personas are asleep" in (await again.ask("settings show")).content
        await again.member.say(channel, "Mira, are you there?")
        await notices(again, ASLEEP)
        assert spoken(again) == []
        assert "awake again" in (await again.ask("persona wake")).content
        assert "The personas are asleep" not in (await again.ask("settings show")).content
        await again.member.say(channel, "Mira, and now?")
        assert [one.content for one in await again.said(1)] == ["I am awake."]
        assert "are awake" in (await again.ask("persona wake")).content
        done = (await again.ask("settings log")).content
        assert "`persona wake` by" in done.splitlines()[0]
        assert "`persona sleep` by" in done.splitlines()[1]


async def test_only_a_moderator_throws_the_switch(discord_server: DiscordServer, tmp_path: Path) -> None:
    async with open_played(discord_server, tmp_path) as played:
        asked = await played.member.slash("persona sleep", played.channel, ignore_defaults=True)
        answer = await asked.answer()
        assert "is for a moderator" in answer.content
        assert played.troupe.options.known(played.guild.id)["asleep"] == "no"
