"""The connection: it syncs only what changed, recovers from what passes, and says plainly what does not."""

from __future__ import annotations

import asyncio

import discord
import pytest

from bot.adapters.reconnecting import BoundedBackoff
from bot.client import TroupeClient
from bot.errors import SettingsError
from bot.invite import PERMISSIONS, invite_link, missing_permissions
from tests.connected import Values, connected, eventually, make_client
from tests.discord_server import BOT_DEFAULT, DiscordServer, Permission
from tests.discord_server.fixtures import LoggedErrors
from tests.fakes_troupe import FakeTroupe


async def test_commands_are_synced_once_for_an_unchanged_definition(discord_server: DiscordServer) -> None:
    values = Values()
    async with connected(discord_server, FakeTroupe(), values):
        await eventually(lambda: values.kept)
    async with connected(discord_server, FakeTroupe(), values):
        pass
    assert len(discord_server.command_syncs) == 1
    values.kept = dict.fromkeys(values.kept, "another definition")
    async with connected(discord_server, FakeTroupe(), values):
        await eventually(lambda: len(discord_server.command_syncs) == 2)


async def test_c12_a_refused_sync_does_not_stop_hearing(
    discord_server: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.client.SYNC_RETRY_S", 0.3)
    guild = discord_server.add_guild("Tavern")
    channel = discord_server.add_channel(guild, "inn")
    alice = discord_server.add_member(guild, "Alice")
    discord_server.fail_next("PUT", r"/commands$", status=403, code=50001)
    troupe = FakeTroupe()
    client = make_client(troupe)
    task = asyncio.create_task(client.serve(discord_server.token))
    await eventually(lambda: troupe.starts)
    await alice.say(channel, "hello")
    await eventually(lambda: troupe.heard)
    await eventually(lambda: discord_server.commands.get(None))
    await client.stop()
    await task


async def test_c12_lost_sessions_are_caught_up_and_nothing_is_done_twice(
    discord_server: DiscordServer,
) -> None:
    guild = discord_server.add_guild("Tavern")
    channel = discord_server.add_channel(guild, "inn")
    alice = discord_server.add_member(guild, "Alice")
    troupe = FakeTroupe()
    async with connected(discord_server, troupe) as client:
        client._connection.call_hooks = _no_pause  # type: ignore[method-assign,assignment]
        for count in range(1, 4):
            await discord_server.gateway.close(4000, resumable=False)
            await eventually(lambda wanted=count: len(troupe.catch_ups) == wanted, 20)  # type: ignore[misc]
        assert all(since is not None for since in troupe.catch_ups)
        await alice.say(channel, "hello")
        await eventually(lambda: troupe.heard)
        await asyncio.sleep(0.1)
        assert len(troupe.heard) == 1
    assert troupe.starts == 1
    assert troupe.sessions == 1 + len(troupe.catch_ups)
    assert len(discord_server.command_syncs) == 1


async def _no_pause(key: str, *args: object, **kwargs: object) -> None:
    """Stands in for discord.py's hooks: the five seconds before an IDENTIFY."""


async def test_waits_between_attempts_to_connect_are_bounded(discord_server: DiscordServer) -> None:
    troupe = FakeTroupe()
    async with connected(discord_server, troupe) as client:
        shard = client.get_shard(0)
        assert shard is not None
        before = shard._parent._backoff
        assert isinstance(before, BoundedBackoff)
        await discord_server.gateway.drop()
        await eventually(lambda: discord_server.gateway.resumes)
        assert shard._parent._backoff is before, "attempts are counted over sessions"


async def test_a_resumed_session_needs_no_history(discord_server: DiscordServer) -> None:
    guild = discord_server.add_guild("Tavern")
    channel = discord_server.add_channel(guild, "inn")
    alice = discord_server.add_member(guild, "Alice")
    troupe = FakeTroupe()
    async with connected(discord_server, troupe):
        discord_server.gateway.reconnect()
        await alice.say(channel, "meanwhile")
        await eventually(lambda: troupe.heard, 15)
    assert troupe.catch_ups == []


async def test_c15_missing_intent_is_one_clear_settings_error(discord_server: DiscordServer) -> None:
    client = make_client(FakeTroupe())
    discord_server.gateway.privileged_intents = 0  # nothing is switched on in the portal
    with pytest.raises(SettingsError, match="Message Content Intent"):
        await client.serve(discord_server.token)


async def test_a_wrong_token_is_one_clear_settings_error_without_the_token(
    discord_server: DiscordServer,
) -> None:
    client = make_client(FakeTroupe())
    with pytest.raises(SettingsError, match="DISCORD_TOKEN") as caught:
        await client.serve("wrong-token")
    assert "wrong-token" not in str(caught.value)


async def test_a_start_without_discord_is_tried_again(discord_server: DiscordServer) -> None:
    discord_server.fail_next("GET", r"^/users/@me$", status=503, times=2)
    troupe = FakeTroupe()
    async with connected(discord_server, troupe):
        pass
    assert troupe.starts == 1


@pytest.mark.logs_exceptions
async def test_a_gateway_that_closes_before_its_first_word_does_not_end_the_bot(
    discord_server: DiscordServer, logged_errors: LoggedErrors
) -> None:
    discord_server.gateway.close_before_hello = 1  # discord.py issue 10520; it waits 5 s by itself
    troupe = FakeTroupe()
    async with connected(discord_server, troupe):
        discord_server.gateway.close_before_hello = 1
        discord_server.gateway.reconnect()
        await eventually(lambda: discord_server.gateway.resumes == 1)
    assert troupe.starts == 1
    assert "shard_id" in logged_errors.take()[0].getMessage()


async def test_whatever_ends_the_connection_it_is_opened_anew(discord_server: DiscordServer) -> None:
    guild = discord_server.add_guild("Tavern")
    channel = discord_server.add_channel(guild, "inn")
    alice = discord_server.add_member(guild, "Alice")
    troupe = FakeTroupe()
    async with connected(discord_server, troupe) as client:
        queue = client._AutoShardedClient__queue  # type: ignore[attr-defined]
        event = discord.shard.EventItem(discord.shard.EventType.terminate, None, AttributeError("sequence"))
        queue.put_nowait(event)  # what discord.py does with an exception of a shard that it does not know
        await eventually(lambda: len(troupe.catch_ups) == 1, 20)
        await alice.say(channel, "hello")
        await eventually(lambda: troupe.heard)
        assert len(troupe.heard) == 1
        answer = await (await alice.slash("help", channel)).answer()
        assert "/persona create" in answer.content


async def test_joining_a_guild_says_the_first_steps_once(discord_server: DiscordServer) -> None:
    guild = discord_server.add_guild("Tavern", with_bot=False)
    discord_server.add_channel(guild, "rules", private_to=[discord_server.owner])
    channel = discord_server.add_channel(guild, "general")
    async with connected(discord_server, FakeTroupe()):
        failing = discord_server.fail_next("POST", r"/channels/\d+/messages", status=502, after_effect=True)
        discord_server.invite_bot(guild)
        message = await discord_server.wait_for_message(channel)
        posts = ("POST", "/channels/{channel_id}/messages")
        await eventually(lambda: failing.hits and len(discord_server.requests_to(*posts)) == 2)
        await discord_server.gateway.flushed()
        assert [one.content for one in discord_server.messages(channel)] == [message.content]
        assert "/persona create" in message.content
        assert "/scene start" in message.content
        assert "Privacy" in message.content


async def test_stop_ends_serve_also_before_it_began() -> None:
    client = TroupeClient()
    await client.stop()


def test_intents_and_mentions_are_the_least_that_is_needed() -> None:
    client = TroupeClient()
    wanted = {"guilds", "guild_messages", "dm_messages", "message_content"}
    assert {name for name, on in client.intents if on} == wanted
    assert client.allowed_mentions is not None
    assert client.allowed_mentions.to_dict() == {"parse": []}


def test_the_invite_link_asks_for_exactly_what_is_checked() -> None:
    named = Permission.VIEW_CHANNEL | Permission.SEND_MESSAGES | Permission.SEND_MESSAGES_IN_THREADS
    named |= Permission.MANAGE_WEBHOOKS | Permission.READ_MESSAGE_HISTORY | Permission.EMBED_LINKS
    assert int(named) == PERMISSIONS
    assert f"permissions={PERMISSIONS}" in invite_link(42)
    assert "client_id=42" in invite_link(42)
    assert missing_permissions(int(BOT_DEFAULT)) == []
    assert missing_permissions(PERMISSIONS & ~(1 << 11)) == ["Send Messages"]
    assert missing_permissions(PERMISSIONS & ~(1 << 11), thread=True) == []
