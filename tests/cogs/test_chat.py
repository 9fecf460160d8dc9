"""What happens in channels reaches the engine as plain events, in order, and nothing else does."""

from __future__ import annotations

import asyncio

import pytest

from bot.core.events import MessageEdited, MessagePosted, MessagesDeleted
from tests.cogs.conftest import Stage
from tests.connected import eventually
from tests.discord_server.fixtures import LoggedErrors


async def heard(stage: Stage, count: int) -> list[MessagePosted]:
    await eventually(lambda: len(stage.troupe.heard) >= count)
    await asyncio.sleep(0.05)
    assert len(stage.troupe.heard) == count
    return stage.troupe.heard  # type: ignore[return-value]


async def test_a_message_comes_with_its_place_author_and_time(stage: Stage) -> None:
    said = await stage.member.say(stage.channel, "Good evening!")
    (event,) = await heard(stage, 1)
    assert event.place.id == stage.channel.id
    assert event.place.guild_id == stage.guild.id
    assert (event.place.name, event.place.parent_id) == ("inn", None)
    assert (event.message_id, event.author_id, event.author_name) == (said.id, stage.member.id, "Alice")
    assert (event.text, event.mentions_bot, event.is_bot) == ("Good evening!", False, False)
    assert event.created_at.tzinfo is not None


async def test_a_nickname_is_the_name(stage: Stage) -> None:
    bob = stage.server.add_member(stage.guild, "Bob", nick="Sir Bob")
    await bob.say(stage.channel, "Hail!")
    assert (await heard(stage, 1))[0].author_name == "Sir Bob"


async def test_order_of_arrival_is_kept(stage: Stage) -> None:
    for number in range(100):
        await stage.member.say(stage.channel, str(number))
    assert [event.text for event in await heard(stage, 100)] == [str(number) for number in range(100)]


async def test_c19_ids_become_names(stage: Stage) -> None:
    bob = stage.server.add_member(stage.guild, "Bob")
    garden = stage.server.add_channel(stage.guild, "garden")
    text = f"{bob.mention} waits in <#{garden.id}> <:blobcat:444444444444444444> <@999999999999999999>"
    await stage.member.say(stage.channel, text)
    assert (await heard(stage, 1))[0].text == "@Bob waits in #garden :blobcat: @someone"


async def test_c14_an_attachment_alone_becomes_a_note(stage: Stage) -> None:
    await stage.member.say(stage.channel, "", attachments=[("cat.png", b"\x89PNG")])
    text = (await heard(stage, 1))[0].text
    assert "cat.png" in text
    assert "Alice" in text


async def test_a_forward_is_read_from_its_snapshot(stage: Stage) -> None:
    first = await stage.member.say(stage.channel, "The key is under the stone.")
    await stage.member.say(stage.channel, "", forward=first)
    text = (await heard(stage, 2))[1].text
    assert "The key is under the stone." in text
    assert "forwards" in text
    assert stage.troupe.heard[1].reply_to is None  # type: ignore[union-attr]


async def test_a_mention_of_the_bot_and_a_reply_are_seen(stage: Stage) -> None:
    first = await stage.member.say(stage.channel, f"<@{stage.server.bot_user_id}> hello")
    await stage.member.say(stage.channel, "and again", reply_to=first)
    events = await heard(stage, 2)
    assert [event.mentions_bot for event in events] == [True, False]
    assert [event.reply_to for event in events] == [None, first.id]


async def test_c07_a_thread_is_its_own_place_with_a_parent(stage: Stage) -> None:
    thread = await stage.member.create_thread(stage.channel, "Cellar")
    await stage.member.say(thread, "Dark here.")
    place = (await heard(stage, 1))[0].place
    assert (place.id, place.parent_id, place.guild_id) == (thread.id, stage.channel.id, stage.guild.id)


async def test_c18_a_direct_message_has_no_guild_and_addresses_the_bot(stage: Stage) -> None:
    channel = stage.server.dm(stage.member)
    await stage.member.say(channel, "psst")
    (event,) = await heard(stage, 1)
    assert (event.place.guild_id, event.place.id, event.place.space_id) == (0, channel.id, channel.id)
    assert event.mentions_bot


async def test_c04_own_and_bot_messages_are_not_heard(stage: Stage) -> None:
    robot = stage.server.add_member(stage.guild, "Robot", bot=True)
    await robot.say(stage.channel, "beep")
    await stage.server.post_as_bot(stage.channel, "my own notice")
    webhook = await stage.client.get_channel(stage.channel.id).create_webhook(name="Troupe")  # type: ignore[union-attr]
    await webhook.send("I am Mira", username="Mira", wait=True)
    await stage.member.say(stage.channel, "last")
    assert [event.text for event in await heard(stage, 1)] == ["last"]


async def test_webhooks_of_other_apps_are_passed_on_with_their_app(stage: Stage) -> None:
    app = stage.server.add_app(stage.guild, "PluralKit", application_id=466378653216014359)
    said = await stage.member.say(stage.channel, "f: I am a fox")
    copy = await app.proxy(said, "Fox", "I am a fox")
    _, event, gone = await heard(stage, 3)
    assert gone == MessagesDeleted(stage.channel.id, (said.id,))
    assert (event.message_id, event.text) == (copy.id, "I am a fox")
    assert event.application_id == 466378653216014359
    assert event.webhook_id is not None
    assert (event.author_name, event.is_bot) == ("Fox", True)


async def test_system_messages_are_not_heard(stage: Stage) -> None:
    said = await stage.member.say(stage.channel, "pin me")
    await stage.moderator.pin(said)
    await stage.member.say(stage.channel, "after")
    assert [event.text for event in await heard(stage, 2)] == ["pin me", "after"]


async def test_c17_an_edit_gives_the_new_text_and_an_embed_update_nothing(stage: Stage) -> None:
    said = await stage.member.say(stage.channel, "I live in Oslo")
    await stage.member.edit(said, "I live in Bergen")
    events = await heard(stage, 2)
    edited = events[1]
    assert isinstance(edited, MessageEdited)
    assert edited.author_id == stage.member.id
    assert (edited.message_id, edited.place_id, edited.text) == (
        said.id,
        stage.channel.id,
        "I live in Bergen",
    )
    fresh = await stage.member.say(stage.channel, "see https://example.com")
    stage.server.unfurl(fresh)
    await stage.member.say(stage.channel, "next")
    assert [getattr(event, "text", "") for event in (await heard(stage, 4))[2:]] == [fresh.content, "next"]


async def test_deletions_single_and_many_are_heard(stage: Stage) -> None:
    said = [await stage.member.say(stage.channel, text) for text in "abc"]
    await stage.member.delete(said[0])
    await stage.moderator.bulk_delete(said[1:])
    events = await heard(stage, 5)
    assert events[3] == MessagesDeleted(stage.channel.id, (said[0].id,))
    assert events[4] == MessagesDeleted(stage.channel.id, (said[1].id, said[2].id))


@pytest.mark.logs_exceptions
async def test_a_failing_listener_is_logged_once_with_a_reference(
    stage: Stage, logged_errors: LoggedErrors
) -> None:
    stage.troupe.hear_failure = ValueError("broken")
    await stage.member.say(stage.channel, "boom")
    await eventually(lambda: logged_errors.records)
    await asyncio.sleep(0.05)
    (record,) = logged_errors.take()
    assert "reference" in record.getMessage()
