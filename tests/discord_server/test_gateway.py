"""Sessions of the unmodified client: login, resume, lost sessions, compression, intents, shards."""

from __future__ import annotations

from pathlib import Path

import discord
import pytest

from .conftest import Tavern, heard, running
from .process import BotProcess
from .sample_bot import SampleBot
from .server import DiscordServer


async def test_login_gives_guild_channels_permissions_and_application(tavern: Tavern, bot: SampleBot) -> None:
    found = bot.get_guild(tavern.guild.id)
    assert found is not None
    assert [channel.name for channel in found.channels] == ["inn", "tales"]
    assert found.me.guild_permissions.manage_webhooks
    assert not found.me.guild_permissions.manage_channels
    assert bot.application_id == tavern.server.application_id
    assert len(tavern.server.gateway.identifies) == 1
    assert tavern.server.gateway.heartbeats


async def test_wrong_token_is_refused(discord_server: DiscordServer) -> None:
    client = SampleBot()
    with pytest.raises(discord.LoginFailure):
        await client.start("wrong")
    await client.close()


async def test_a_cut_connection_is_resumed_and_missed_events_are_replayed(
    tavern: Tavern, bot: SampleBot
) -> None:
    await tavern.server.gateway.drop()
    missed = await tavern.alice.say(tavern.inn, "while you were away")
    message = await heard(bot, missed)
    assert message.content == "while you were away"
    await bot.happened("resumed")
    assert tavern.server.gateway.resumes == 1
    assert len(tavern.server.gateway.identifies) == 1


@pytest.mark.parametrize("code", [4000, 4009])
async def test_close_codes_decide_between_resume_and_a_new_session(
    tavern: Tavern, bot: SampleBot, code: int
) -> None:
    await tavern.server.gateway.close(code)
    said = await tavern.alice.say(tavern.inn, "later")
    if code == 4000:
        await heard(bot, said)
        assert len(tavern.server.gateway.identifies) == 1
        return
    await tavern.server.until(lambda: len(tavern.server.gateway.identifies) == 2)
    await bot.until(lambda: [name for name, _ in bot.events].count("ready") == 2)
    assert not any(message.id == said.id for message in bot.heard)


async def test_reconnect_request_is_followed_by_a_resume(tavern: Tavern, bot: SampleBot) -> None:
    tavern.server.gateway.reconnect()
    await bot.happened("resumed")
    assert tavern.server.gateway.resumes == 1


async def test_invalid_session_loses_events_and_identifies_again(tavern: Tavern, bot: SampleBot) -> None:
    tavern.server.gateway.invalid_session(resumable=False)
    await tavern.server.until(lambda: len(tavern.server.gateway.identifies) == 2)
    await bot.until(lambda: [name for name, _ in bot.events].count("ready") == 2)
    await heard(bot, await tavern.alice.say(tavern.inn, "again"))


async def test_duplicate_dispatch_reaches_the_client_twice(tavern: Tavern, bot: SampleBot) -> None:
    tavern.server.gateway.duplicate_next = 1
    said = await tavern.alice.say(tavern.inn, "twice")
    last = await tavern.alice.say(tavern.inn, "once")
    await heard(bot, last)
    assert [message.id for message in bot.heard].count(said.id) == 2


async def test_held_frames_arrive_in_order_after_a_pause(tavern: Tavern, bot: SampleBot) -> None:
    tavern.server.gateway.pause()
    first = await tavern.alice.say(tavern.inn, "1")
    second = await tavern.alice.say(tavern.inn, "2")
    page = [item async for item in bot.get_channel(tavern.inn.id).history()]  # type: ignore[union-attr]
    assert len(page) == 2
    assert not bot.heard
    tavern.server.gateway.resume()
    await heard(bot, second)
    assert [message.id for message in bot.heard] == [first.id, second.id]


async def test_missing_content_intent_closes_with_4014_when_it_is_not_granted(tavern: Tavern) -> None:
    tavern.server.gateway.privileged_intents = 0
    client = SampleBot()
    with pytest.raises(discord.PrivilegedIntentsRequired):
        await client.start(tavern.server.token)
    await client.close()


async def test_without_the_content_intent_only_mentions_own_and_direct_messages_are_readable(
    tavern: Tavern,
) -> None:
    client = SampleBot(content=False)
    async with running(client, tavern.server):
        plain = await heard(client, await tavern.alice.say(tavern.inn, "secret"))
        called = await heard(client, await tavern.alice.say(tavern.inn, f"<@{tavern.server.bot_user_id}> hi"))
        direct = await heard(client, await tavern.alice.say(tavern.server.dm(tavern.alice), "psst"))
        assert plain.content == ""
        assert called.content.endswith("hi")
        assert direct.content == "psst"
        menu = await tavern.alice.context_menu("Why?", tavern.server.messages(tavern.inn)[0])
        assert (await menu.answer()).content == "because of 'secret'"


async def test_private_channels_are_not_heard(tavern: Tavern, bot: SampleBot) -> None:
    closed = tavern.server.add_channel(tavern.guild, "closed", private_to=[tavern.alice])
    opened = tavern.server.add_channel(
        tavern.guild, "opened", private_to=[tavern.alice, tavern.server.world.bot]
    )
    await tavern.alice.say(closed, "unheard")
    await heard(bot, await tavern.alice.say(opened, "heard"))
    assert [message.content for message in bot.heard] == ["heard"]
    with pytest.raises(discord.Forbidden):
        await bot.http.get_message(closed.id, closed.order[0])


async def test_guilds_come_and_go(tavern: Tavern, bot: SampleBot) -> None:
    other = tavern.server.add_guild("Castle")
    assert (await bot.happened("join"))[1].id == other.id
    tavern.server.kick_bot(other)
    assert (await bot.happened("remove"))[1].id == other.id


@pytest.mark.parametrize("discord_server", [{"shards": 2}], indirect=True)
async def test_two_shards_get_each_guild_once(tavern: Tavern, bot: SampleBot) -> None:
    assert len(tavern.server.gateway.sessions) == 2
    await heard(bot, await tavern.alice.say(tavern.inn, "sharded"))
    assert len(bot.heard) == 1


@pytest.mark.parametrize("compression", ["zstd", "zlib"])
async def test_both_compressions_work(tavern: Tavern, tmp_path: Path, compression: str) -> None:
    module = "tests.discord_server.sample_process"
    async with BotProcess(tavern.server, tmp_path, arguments=[compression], module=module) as process:
        await process.ready()
        (connection,) = tavern.server.gateway.connections
        assert connection.compress == f"{compression}-stream"
        for number in range(3):
            answer = await (
                await tavern.alice.slash("scene cast add", tavern.inn, persona=f"Bob{number}")
            ).answer()
            assert answer.content == f"added Bob{number} 0"
    assert not process.running


async def test_a_process_can_be_killed_and_started_again(tavern: Tavern, tmp_path: Path) -> None:
    module = "tests.discord_server.sample_process"
    async with BotProcess(tavern.server, tmp_path, module=module) as process:
        await process.ready()
        await process.kill()
        assert not process.running
        await process.start()
        await process.ready()
        assert len(tavern.server.gateway.identifies) == 2
        assert await process.terminate() == 0


async def test_errors_logged_in_a_process_are_reported(tavern: Tavern, tmp_path: Path) -> None:
    module = "tests.discord_server.sample_process"
    with pytest.raises(AssertionError, match="failed on purpose"):
        async with BotProcess(tavern.server, tmp_path, arguments=["fail"], module=module) as process:
            await process.ready()


@pytest.mark.parametrize("discord_server", [{"heartbeat_interval": 0.05}], indirect=True)
async def test_without_acknowledged_heartbeats_the_client_comes_back(tavern: Tavern) -> None:
    client = SampleBot(heartbeat_timeout=0.5)
    async with running(client, tavern.server):
        tavern.server.gateway.drop_heartbeat_acks = True
        await tavern.server.until(lambda: len(tavern.server.gateway.heartbeats) > 3)
        await tavern.server.until(lambda: tavern.server.gateway.resumes >= 1)
        tavern.server.gateway.drop_heartbeat_acks = False
        await heard(client, await tavern.alice.say(tavern.inn, "back"))


async def test_a_connection_closed_before_hello_stops_a_plain_client(tavern: Tavern) -> None:
    tavern.server.gateway.close_before_hello = 1
    client = discord.Client(intents=discord.Intents.none())
    with pytest.raises(AttributeError):
        await client.start(tavern.server.token)
    await client.close()


async def test_members_are_asked_for_over_the_gateway(tavern: Tavern, bot: SampleBot) -> None:
    guild = bot.get_guild(tavern.guild.id)
    assert guild is not None
    found = await guild.query_members("Ali")
    assert [member.id for member in found] == [tavern.alice.id]


async def test_a_resume_may_repeat_events_that_had_arrived(tavern: Tavern, bot: SampleBot) -> None:
    said = await tavern.alice.say(tavern.inn, "again and again")
    await heard(bot, said)
    tavern.server.gateway.replay_extra = 1
    await tavern.server.gateway.drop()
    await bot.happened("resumed")
    assert [message.id for message in bot.heard] == [said.id, said.id]
