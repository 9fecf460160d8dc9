"""Personas speak through one webhook a channel, never twice, and plainly where no webhook may be used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import pytest

from bot.adapters.webhooks import DiscordMessenger, display_name
from bot.client import TroupeClient
from bot.core.emotion import FLAT
from bot.core.types import OutboxRow, Persona, Place
from bot.errors import DeliveryError
from tests.connected import connected
from tests.discord_server import Channel, DiscordServer, Guild, Permission, ScriptedUser
from tests.discord_server.models import Message, Overwrite
from tests.fakes_troupe import FakeTroupe

EXECUTE = ("POST", "/webhooks/{webhook_id}/{webhook_token}")
CREATE = ("POST", "/channels/{channel_id}/webhooks")
MIRA = Persona(
    id=7,
    space_id=1,
    name="Mira",
    card={},
    temperament=np.asarray(FLAT),
    avatar_url="https://cdn.example.org/mira.png",
)


@dataclass
class Stage:
    server: DiscordServer
    client: TroupeClient
    guild: Guild
    channel: Channel
    alice: ScriptedUser

    @property
    def messenger(self) -> DiscordMessenger:
        return self.client.messenger

    def place(self, channel: Channel | None = None) -> Place:
        channel = channel or self.channel
        parent_id = channel.parent_id if channel.is_thread else None
        return Place(id=channel.id, guild_id=channel.guild_id or 0, name=channel.name, parent_id=parent_id)

    def texts(self, channel: Channel | None = None) -> list[str]:
        return [message.content for message in self.server.messages(channel or self.channel)]

    def row(self, text: str, message: Message | None = None, nonce: str = "row") -> OutboxRow:
        now = self.server.world.clock.wall()
        return OutboxRow(1, 1, self.channel.id, 0, text, "Mira", 7, nonce, now - timedelta(seconds=1))


@pytest.fixture
async def stage(discord_server: DiscordServer) -> AsyncIterator[Stage]:
    guild = discord_server.add_guild("Tavern")
    channel = discord_server.add_channel(guild, "inn")
    alice = discord_server.add_member(guild, "Alice")
    async with connected(discord_server, FakeTroupe()) as client:
        yield Stage(discord_server, client, guild, channel, alice)


async def test_speaks_with_name_picture_and_no_pings(stage: Stage) -> None:
    message_id = await stage.messenger.speak(stage.place(), MIRA, "Hello @everyone", nonce="a")
    (message,) = stage.server.messages(stage.channel)
    assert (message.id, message.content, message.author_name) == (message_id, "Hello @everyone", "Mira")
    assert message.avatar_url == MIRA.avatar_url
    (request,) = stage.server.requests_to(*EXECUTE)
    assert request.json["allowed_mentions"] == {"parse": []}


async def test_c05_one_webhook_serves_all_even_when_many_ask_at_once(stage: Stage) -> None:
    await asyncio.gather(
        *(stage.messenger.speak(stage.place(), MIRA, str(n), nonce=str(n)) for n in range(5))
    )
    assert len(stage.server.requests_to(*CREATE)) == 1
    assert sorted(stage.texts()) == ["0", "1", "2", "3", "4"]


async def test_our_webhook_of_an_earlier_process_is_used_again(stage: Stage) -> None:
    stage.server.world.add_webhook(stage.channel, "Somebody else's", stage.alice.user)
    made = await stage.client.get_channel(stage.channel.id).create_webhook(name="Troupe")  # type: ignore[union-attr]
    await stage.messenger.speak(stage.place(), MIRA, "Hi", nonce="a")
    assert stage.server.messages(stage.channel)[0].webhook_id == made.id
    assert len(stage.server.requests_to(*CREATE)) == 1


async def test_a_deleted_webhook_is_made_anew_once(stage: Stage) -> None:
    await stage.messenger.speak(stage.place(), MIRA, "one", nonce="a")
    (webhook,) = stage.server.webhooks_of(stage.channel)
    stage.server.delete_webhook(webhook)
    await stage.messenger.speak(stage.place(), MIRA, "two", nonce="b")
    assert stage.texts() == ["one", "two"]
    assert len(stage.server.requests_to(*CREATE)) == 2


async def test_c07_in_a_thread_the_parents_webhook_speaks_with_the_thread(stage: Stage) -> None:
    thread = await stage.alice.create_thread(stage.channel, "Cellar")
    await stage.messenger.speak(stage.place(thread), MIRA, "Dark.", nonce="a")
    assert "Dark." in stage.texts(thread)
    (webhook,) = stage.server.webhooks_of(stage.channel)
    assert stage.server.messages(thread)[-1].webhook_id == webhook.id
    await stage.messenger.speak(stage.place(), MIRA, "Light.", nonce="b")
    assert len(stage.server.requests_to(*CREATE)) == 1


async def test_c07_in_a_forum_post(stage: Stage) -> None:
    forum = stage.server.add_channel(stage.guild, "tales", kind="forum")
    post = await stage.alice.create_post(forum, "A tale", "Once upon a time")
    await stage.messenger.speak(stage.place(post), MIRA, "there was a mill.", nonce="a")
    assert stage.texts(post)[-1] == "there was a mill."


async def test_a_thread_whose_parent_is_not_known_still_works(stage: Stage) -> None:
    thread = await stage.alice.create_thread(stage.channel, "Cellar")
    place = Place(id=thread.id, guild_id=stage.guild.id, name="Cellar")
    await stage.messenger.speak(place, MIRA, "Dark.", nonce="a")
    assert "Dark." in stage.texts(thread)


async def test_c05_at_the_limit_of_webhooks_the_name_stands_in_bold(stage: Stage) -> None:
    for number in range(15):
        stage.server.add_webhook(stage.channel, f"hook {number}")
    message_id = await stage.messenger.speak(stage.place(), MIRA, "Hello", nonce="a")
    (message,) = stage.server.messages(stage.channel)
    assert (message.id, message.content) == (message_id, "**Mira**\nHello")
    await stage.messenger.speak(stage.place(), MIRA, "Again", nonce="b")
    assert len(stage.server.requests_to(*CREATE)) == 1
    assert "15 a channel" in (await stage.messenger.prepare(stage.place()) or "")
    stage.server.take_violations()


async def test_c08_without_manage_webhooks_the_name_stands_in_bold(stage: Stage) -> None:
    overwrite = Overwrite(id=stage.server.bot_user_id, kind=1, deny=int(Permission.MANAGE_WEBHOOKS))
    channel = stage.server.add_channel(stage.guild, "closed", overwrites=[overwrite])
    await stage.messenger.speak(stage.place(channel), MIRA, "Hello", nonce="nonce-1")
    assert stage.texts(channel) == ["**Mira**\nHello"]
    (request,) = stage.server.requests_to("POST", "/channels/{channel_id}/messages")
    assert (request.json["nonce"], request.json["enforce_nonce"]) == ("nonce-1", True)
    assert request.json["allowed_mentions"]["parse"] == []
    long = "x" * 2000
    await stage.messenger.speak(stage.place(channel), MIRA, long, nonce="nonce-2")
    last = stage.server.messages(channel)[-1]
    assert last.content == long
    assert last.embeds[0]["author"]["name"] == "Mira"


async def test_c18_a_direct_message_is_never_sent_by_webhook(stage: Stage) -> None:
    channel = stage.server.dm(stage.alice)
    await stage.messenger.speak(stage.place(channel), MIRA, "psst", nonce="a")
    assert stage.texts(channel) == ["**Mira**\npsst"]
    assert stage.server.requests_to("GET", "/channels/{channel_id}/webhooks") == []


@pytest.mark.parametrize("name", ["Clyde", "blahclydeblah", "Discordia", "DISCORD", "x" * 120, "  Mira  "])
async def test_c06_names_that_discord_refuses_are_shown_in_a_variant(stage: Stage, name: str) -> None:
    persona = Persona(
        id=8, space_id=1, name=name, card={}, temperament=np.asarray(FLAT), avatar_url="https://x.org"
    )
    await stage.messenger.speak(stage.place(), persona, "Hello", nonce="a")
    (message,) = stage.server.messages(stage.channel)
    assert message.author_name == display_name(name)
    assert message.author_name.replace("\u200a", "") == " ".join(name.split())[:80]


async def test_a_name_of_nothing_visible_still_speaks() -> None:
    assert display_name(" \n ") == "Persona"


@pytest.mark.parametrize("status", [500, 502, 503, 520])
async def test_a_server_error_is_not_repeated_blindly_and_is_uncertain(stage: Stage, status: int) -> None:
    await stage.messenger.speak(stage.place(), MIRA, "first", nonce="a")
    stage.server.fail_next("POST", r"^/webhooks/", status=status, after_effect=True)
    with pytest.raises(DeliveryError) as caught:
        await stage.messenger.speak(stage.place(), MIRA, "second", nonce="b")
    assert caught.value.uncertain
    assert stage.texts() == ["first", "second"]
    found = await stage.messenger.find_spoken(stage.row("second"), stage.place())
    assert found == stage.server.messages(stage.channel)[-1].id


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_cut_connection_is_uncertain_and_the_channel_tells(stage: Stage, when: str) -> None:
    await stage.messenger.speak(stage.place(), MIRA, "first", nonce="a")
    stage.server.reset_next("POST", r"^/webhooks/", when=when)
    with pytest.raises(DeliveryError) as caught:
        await stage.messenger.speak(stage.place(), MIRA, "second", nonce="b")
    assert caught.value.uncertain
    found = await stage.messenger.find_spoken(stage.row("second"), stage.place())
    assert (found is not None) == (when == "after")


async def test_what_another_row_became_is_not_found_again(stage: Stage) -> None:
    message_id = await stage.messenger.speak(stage.place(), MIRA, "…", nonce="a")
    assert await stage.messenger.find_spoken(stage.row("…", nonce="a"), stage.place()) == message_id
    assert await stage.messenger.find_spoken(stage.row("…", nonce="b"), stage.place()) is None


async def test_members_words_are_never_taken_for_ours(stage: Stage) -> None:
    await stage.alice.say(stage.channel, "second")
    await stage.server.add_webhook(stage.channel, "other").say("second", username="Mira")
    assert await stage.messenger.find_spoken(stage.row("second"), stage.place()) is None


async def test_a_plain_message_is_found_by_its_bold_name(stage: Stage) -> None:
    message = await stage.server.post_as_bot(stage.channel, "**Mira**\nHello")
    assert await stage.messenger.find_spoken(stage.row("Hello"), stage.place()) == message.id


async def test_a_limit_told_in_html_is_waited_for(stage: Stage) -> None:
    await stage.messenger.speak(stage.place(), MIRA, "first", nonce="a")
    stage.messenger._busy_pause_s = 0.01
    stage.server.fail_next(
        "POST", r"^/webhooks/", status=429, body="<html>no</html>", headers={"Via": "1.1 x"}
    )
    await stage.messenger.speak(stage.place(), MIRA, "second", nonce="b")
    assert stage.texts() == ["first", "second"]


async def test_a_refusal_is_certain(stage: Stage) -> None:
    overwrite = Overwrite(id=stage.server.bot_user_id, kind=1, deny=int(Permission.SEND_MESSAGES))
    channel = stage.server.add_channel(stage.guild, "silent", overwrites=[overwrite])
    with pytest.raises(DeliveryError) as caught:
        await stage.messenger.notice(stage.place(channel), "hello")
    assert not caught.value.uncertain


async def test_a_notice_replies_and_goes_out_once(stage: Stage) -> None:
    said = await stage.alice.say(stage.channel, "hello?")
    first = await stage.messenger.notice(stage.place(), "No scene here.", reply_to=said.id)
    second = await stage.messenger.notice(stage.place(), "No scene here.", reply_to=said.id)
    assert first == second
    assert stage.texts() == ["hello?", "No scene here."]
    assert stage.server.messages(stage.channel)[-1].referenced is said


async def test_a_notice_to_nobody_is_not_doubled_when_discord_fails_after_it_took_it(stage: Stage) -> None:
    stage.server.fail_next("POST", r"/channels/\d+/messages", status=502, after_effect=True)
    await stage.messenger.notice(stage.place(), "Nothing can be written down just now.")
    assert stage.texts() == ["Nothing can be written down just now."]
    await stage.messenger.notice(stage.place(), "Nothing can be written down just now.")
    assert len(stage.texts()) == 2  # said anew on purpose


async def test_c16_a_notice_to_a_deleted_message_still_arrives(stage: Stage) -> None:
    said = await stage.alice.say(stage.channel, "hello?")
    await stage.alice.delete(said)
    await stage.messenger.notice(stage.place(), "No scene here.", reply_to=said.id)
    assert stage.texts() == ["No scene here."]


async def test_typing_never_fails(stage: Stage) -> None:
    await stage.messenger.typing(stage.place())
    assert len(stage.server.requests_to("POST", "/channels/{channel_id}/typing")) == 1
    await stage.messenger.typing(Place(id=1, guild_id=stage.guild.id, name="gone"))
    stage.server.take_violations()


async def test_history_is_read_in_order_by_the_same_door(stage: Stage) -> None:
    bob = stage.server.add_member(stage.guild, "Bob", nick="Sir Bob")
    first = await stage.alice.say(stage.channel, "old")
    for number in range(120):
        await bob.say(stage.channel, f"{number} {stage.alice.mention}")
    await stage.messenger.speak(stage.place(), MIRA, "mine", nonce="a")
    events = [event async for event in stage.messenger.history(stage.place(), after=first.id)]
    assert [event.text for event in events] == [f"{number} @Alice" for number in range(120)]
    assert {event.author_name for event in events} == {"Sir Bob"}
    assert all(event.backfilled for event in events)
    assert len(stage.server.requests_to("GET", "/guilds/{guild_id}/members/{user_id}")) == 1


async def test_history_of_a_closed_channel_is_a_delivery_error(stage: Stage) -> None:
    channel = stage.server.add_channel(stage.guild, "secret", private_to=[stage.alice])
    with pytest.raises(DeliveryError):
        _ = [event async for event in stage.messenger.history(stage.place(channel), after=0)]


async def test_without_a_connection_speaking_is_a_delivery_error(discord_server: DiscordServer) -> None:
    guild = discord_server.add_guild("Tavern")
    channel = discord_server.add_channel(guild, "inn")
    async with connected(discord_server, FakeTroupe()) as client:
        pass
    with pytest.raises(DeliveryError):
        await client.messenger.notice(Place(channel.id, guild.id, "inn"), "hello")
    await client.messenger.close()
