"""Messages of people, the bot and webhooks, with the permissions and limits that hold for them."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import aiohttp
import discord
import pytest

from .apps import ScriptedApp
from .conftest import Tavern, heard
from .errors import ScriptError
from .models import Message
from .permissions import BOT_DEFAULT, Permission
from .sample_bot import SampleBot

PLURALKIT = 466378653216014359


def text_channel(bot: SampleBot, tavern: Tavern) -> discord.TextChannel:
    """Return the inn as the client knows it."""
    channel = bot.get_channel(tavern.inn.id)
    assert isinstance(channel, discord.TextChannel)
    return channel


async def test_a_message_is_heard_and_answered_as_a_reply(tavern: Tavern, bot: SampleBot) -> None:
    said = await tavern.alice.say(tavern.inn, "Hello")
    message = await heard(bot, said)
    assert (message.author.display_name, message.content) == ("Alice", "Hello")
    await message.reply("Hi")
    reply = await tavern.server.wait_for_message(tavern.inn, lambda item: item.content == "Hi")
    assert reply.referenced is said
    assert reply.mentions == []


async def test_reply_forward_sticker_and_files_arrive(tavern: Tavern, bot: SampleBot) -> None:
    first = await tavern.alice.say(tavern.inn, "first")
    reply = await heard(bot, await tavern.alice.say(tavern.inn, "second", reply_to=first))
    assert reply.reference is not None
    assert reply.reference.message_id == first.id
    assert isinstance(reply.reference.resolved, discord.Message)
    forward = await heard(bot, await tavern.alice.say(tavern.inn, forward=first))
    assert forward.content == ""
    assert forward.message_snapshots[0].content == "first"
    sticker = await heard(bot, await tavern.alice.say(tavern.inn, stickers=["Wave"]))
    assert sticker.stickers[0].name == "Wave"
    with_file = await heard(bot, await tavern.alice.say(tavern.inn, "see", attachments=[("a.txt", b"words")]))
    assert await with_file.attachments[0].read() == b"words"


async def test_edits_deletions_and_previews_are_events(tavern: Tavern, bot: SampleBot) -> None:
    said = await tavern.alice.say(tavern.inn, "old")
    await tavern.alice.edit(said, "new")
    edit = (await bot.happened("edit"))[1]
    assert edit.message.content == "new"
    assert edit.message.edited_at is not None
    bot.events.clear()
    tavern.server.unfurl(said)
    preview = (await bot.happened("edit"))[1]
    assert preview.message.content == "new"
    await tavern.alice.delete(said)
    assert (await bot.happened("delete"))[1].message_id == said.id
    more = [await tavern.alice.say(tavern.inn, str(number)) for number in range(3)]
    await tavern.mod.bulk_delete(more)
    assert (await bot.happened("bulk"))[1].message_ids == {item.id for item in more}
    assert tavern.server.messages(tavern.inn) == []


async def test_history_is_paged_in_both_directions_and_around(tavern: Tavern, bot: SampleBot) -> None:
    said = [await tavern.alice.say(tavern.inn, str(number)) for number in range(250)]
    channel = text_channel(bot, tavern)
    newest = [item.content async for item in channel.history(limit=None)]
    assert newest == [str(number) for number in reversed(range(250))]
    after = channel.history(limit=None, after=discord.Object(said[99].id))
    assert [item.content async for item in after] == [str(number) for number in range(100, 250)]
    before = channel.history(limit=5, before=discord.Object(said[10].id))
    assert [item.content async for item in before] == ["9", "8", "7", "6", "5"]
    around = channel.history(limit=5, around=discord.Object(said[50].id))
    assert [item.content async for item in around] == ["52", "51", "50", "49", "48"]


async def test_an_old_message_takes_its_place_in_time(tavern: Tavern, bot: SampleBot) -> None:
    await tavern.alice.say(tavern.inn, "now")
    old = await heard(bot, await tavern.alice.say(tavern.inn, "then", ago=3600))
    assert (discord.utils.utcnow() - old.created_at).total_seconds() == pytest.approx(3600, abs=5)
    assert [item.content for item in tavern.server.messages(tavern.inn)] == ["then", "now"]


async def test_a_repeated_nonce_posts_once(tavern: Tavern, bot: SampleBot) -> None:
    channel = text_channel(bot, tavern)
    first = await channel.send("only once", nonce="same")
    again = await channel.send("only once", nonce="same")
    assert first.id == again.id
    assert len(tavern.server.messages(tavern.inn)) == 1


async def test_webhooks_post_in_channel_thread_and_forum(tavern: Tavern, bot: SampleBot) -> None:
    channel = text_channel(bot, tavern)
    webhook = await channel.create_webhook(name="Troupe")
    sent = await webhook.send("I am Luna", username="Luna", avatar_url="https://example.org/a.png", wait=True)
    stored = tavern.inn.by_id[sent.id]
    assert (stored.author_name, stored.avatar_url) == ("Luna", "https://example.org/a.png")
    assert stored.application_id == tavern.server.application_id
    thread = await tavern.alice.create_thread(tavern.inn, "Side room")
    inside = await webhook.send("psst", username="Luna", thread=discord.Object(thread.id), wait=True)
    assert thread.by_id[inside.id].content == "psst"
    await inside.edit(content="louder")
    assert thread.by_id[inside.id].content == "louder"
    await inside.delete()
    assert inside.id not in thread.by_id
    forum = bot.get_channel(tavern.forum.id)
    assert isinstance(forum, discord.ForumChannel)
    hook = await forum.create_webhook(name="Troupe")
    post = await hook.send("Once upon a time", thread_name="A tale", username="Luna", wait=True)
    assert tavern.guild.threads[post.id].name == "A tale"
    mine = [item async for item in channel.history(limit=1, oldest_first=True)]
    assert mine[0].webhook_id == webhook.id


async def test_forum_posts_and_threads_of_people_are_heard(tavern: Tavern, bot: SampleBot) -> None:
    post = await tavern.alice.create_post(tavern.forum, "My tale", "It was dark")
    thread = (await bot.happened("thread"))[1]
    assert (thread.id, thread.name, thread.parent.id) == (post.id, "My tale", tavern.forum.id)
    message = await heard(bot, post.by_id[post.id])
    assert message.channel == thread
    await thread.send("And stormy")
    assert [item.content for item in tavern.server.messages(post)] == ["It was dark", "And stormy"]
    made = await bot.get_channel(tavern.forum.id).create_thread(name="From the bot", content="Hi")  # type: ignore[union-attr]
    assert tavern.guild.threads[made.thread.id].owner_id == tavern.server.bot_user_id


async def test_a_proxy_app_replaces_a_message(tavern: Tavern, bot: SampleBot) -> None:
    app: ScriptedApp = tavern.server.add_app(tavern.guild, "PluralKit", application_id=PLURALKIT)
    said = await tavern.alice.say(tavern.inn, "as Luna", attachments=[("a.txt", b"x")])
    copy = await heard(bot, await app.proxy(said, "Luna"))
    assert (copy.author.name, copy.application_id) == ("Luna", PLURALKIT)
    assert copy.webhook_id is not None
    assert await copy.attachments[0].read() == b"x"
    assert (await bot.happened("delete"))[1].message_id == said.id


async def test_pings_follow_text_and_allowed_mentions(tavern: Tavern, bot: SampleBot) -> None:
    channel = text_channel(bot, tavern)
    text = f"@everyone {tavern.alice.mention}"
    quiet = await channel.send(text)
    loud = await channel.send(text, allowed_mentions=discord.AllowedMentions(users=True))
    stored = tavern.inn.by_id
    assert (stored[quiet.id].mentions, stored[quiet.id].mention_everyone) == ([], False)
    assert stored[loud.id].mentions == [tavern.alice.user]
    assert stored[quiet.id].allowed_mentions == {"parse": []}


async def test_missing_permissions_are_50013_and_missing_channels_50001(
    tavern: Tavern, bot: SampleBot
) -> None:
    channel = text_channel(bot, tavern)
    tavern.server.set_bot_permissions(tavern.guild, BOT_DEFAULT & ~Permission.MANAGE_WEBHOOKS)
    with pytest.raises(discord.Forbidden) as refused:
        await channel.create_webhook(name="Troupe")
    assert refused.value.code == 50013
    closed = tavern.server.add_channel(tavern.guild, "closed", private_to=[tavern.alice])
    with pytest.raises(discord.Forbidden) as unseen:
        await bot.get_partial_messageable(closed.id).send("hello")
    assert unseen.value.code == 50001
    with pytest.raises(discord.NotFound) as missing:
        await channel.fetch_message(1)
    assert missing.value.code == 10008


async def test_a_user_without_permission_cannot_write(tavern: Tavern) -> None:
    closed = tavern.server.add_channel(tavern.guild, "closed", private_to=[tavern.alice])
    with pytest.raises(ScriptError, match="may not send"):
        await tavern.mod.say(closed, "hello")


async def test_webhook_limits(tavern: Tavern, bot: SampleBot) -> None:
    channel = text_channel(bot, tavern)
    hooks = [await channel.create_webhook(name=f"Hook {number}") for number in range(15)]
    with pytest.raises(discord.HTTPException) as full:
        await channel.create_webhook(name="One more")
    assert full.value.code == 30007
    await hooks[0].delete()
    with pytest.raises(discord.NotFound) as gone:
        await hooks[0].send("hello")
    assert gone.value.code == 10015
    assert not tavern.server.violations


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("long content", {"content": "x" * 2001}),
        ("empty message", {"content": " "}),
        ("long embed", {"embed": discord.Embed(description="x" * 4097)}),
        ("embeds over 6000", {"embeds": [discord.Embed(description="x" * 3001)] * 2}),
        ("empty embed field", {"embed": discord.Embed(title="t").add_field(name="", value="x")}),
        ("clyde", {"content": "x", "username": "Clyde the bot"}),
        ("long name", {"content": "x", "username": "x" * 81}),
    ],
)
async def test_breaches_of_limits_are_refused_and_reported(
    tavern: Tavern, bot: SampleBot, name: str, arguments: dict[str, Any]
) -> None:
    channel = text_channel(bot, tavern)
    target: Any = channel
    if "username" in arguments:
        target = await channel.create_webhook(name="Troupe")
    with pytest.raises(discord.HTTPException) as refused:
        await target.send(**arguments)
    assert refused.value.status == 400
    assert any(item.kind == "rule" for item in tavern.server.take_violations())


async def test_application_emojis_can_be_kept(tavern: Tavern, bot: SampleBot) -> None:
    picture = bytes.fromhex("89504e470d0a1a0a")
    emoji = await bot.create_application_emoji(name="luna", image=picture)
    assert [item.name for item in await bot.fetch_application_emojis()] == ["luna"]
    await emoji.delete()
    assert await bot.fetch_application_emojis() == []


async def test_bot_uploads_are_served_again(tavern: Tavern, bot: SampleBot) -> None:
    sent = await text_channel(bot, tavern).send("see", file=discord.File(io.BytesIO(b"data"), "card.json"))
    assert await sent.attachments[0].read() == b"data"
    assert tavern.inn.by_id[sent.id].attachments[0].content == b"data"
    tavern.inn.by_id[sent.id].attachments[0].expired = True
    with pytest.raises(discord.NotFound):
        await sent.attachments[0].read()


@pytest.mark.parametrize(("when", "posted"), [("before", 0), ("after", 1)])
async def test_a_reset_connection_may_hide_that_a_send_took_effect(
    tavern: Tavern, bot: SampleBot, when: str, posted: int
) -> None:
    tavern.server.reset_next("POST", r"/channels/\d+/messages", when=when)
    with pytest.raises((aiohttp.ClientError, OSError)):
        await text_channel(bot, tavern).send("hello")
    assert len(tavern.server.messages(tavern.inn)) == posted


async def test_faults_hit_the_next_matching_request_only(tavern: Tavern, bot: SampleBot) -> None:
    channel = text_channel(bot, tavern)
    tavern.server.fail_next("POST", r"/messages$", status=503)
    with pytest.raises(discord.DiscordServerError):
        await channel.send("lost")
    await channel.send("kept")
    assert [item.content for item in tavern.server.messages(tavern.inn)] == ["kept"]
    tavern.server.fail_next("POST", r"/messages$", status=404, code=10003)
    with pytest.raises(discord.NotFound):
        await channel.send("lost")


@pytest.mark.parametrize("scope", ["user", "shared", "global"])
async def test_a_rate_limit_is_waited_for(tavern: Tavern, bot: SampleBot, scope: str) -> None:
    fault = tavern.server.limit_next("POST", r"/messages$", retry_after=0.05, scope=scope)
    await text_channel(bot, tavern).send("hello")
    assert fault.hits == 1
    assert [item.status for item in tavern.server.requests_to("POST", "/channels/{channel_id}/messages")] == [
        429,
        200,
    ]


async def test_a_ban_page_is_raised(tavern: Tavern, bot: SampleBot) -> None:
    tavern.server.limit_next("POST", r"/messages$", via=False, html=True)
    with pytest.raises(discord.HTTPException) as banned:
        await text_channel(bot, tavern).send("hello")
    assert banned.value.status == 429


async def test_waiting_helpers_find_what_comes_later(tavern: Tavern, bot: SampleBot) -> None:
    async def later() -> Message:
        return await tavern.server.wait_for_message(tavern.inn, lambda item: item.author.bot)

    waiting = asyncio.create_task(later())
    await text_channel(bot, tavern).typing()
    request = await tavern.server.wait_for_request("POST", "/channels/{channel_id}/typing")
    await text_channel(bot, tavern).send("here")
    assert (await waiting).content == "here"
    assert request.status == 204


async def test_an_archived_thread_wakes_up_and_a_locked_one_refuses(tavern: Tavern, bot: SampleBot) -> None:
    thread = tavern.server.add_thread(tavern.inn, "Side room")
    tavern.server.archive(thread)
    await tavern.alice.say(thread, "anyone?")
    assert not thread.archived
    tavern.server.archive(thread, locked=True)
    with pytest.raises(discord.HTTPException) as refused:
        await bot.get_partial_messageable(thread.id).send("hello")
    assert refused.value.code == 50083


async def test_overwrites_take_effect_at_once(tavern: Tavern, bot: SampleBot) -> None:
    channel = text_channel(bot, tavern)
    tavern.server.set_overwrite(tavern.inn, tavern.server.world.bot, deny=Permission.SEND_MESSAGES)
    with pytest.raises(discord.Forbidden) as refused:
        await channel.send("hello")
    assert refused.value.code == 50013
    assert tavern.server.invalid_requests == 1


async def test_guilds_without_the_bot_are_silent(tavern: Tavern, bot: SampleBot) -> None:
    other = tavern.server.add_guild("Elsewhere", with_bot=False)
    room = tavern.server.add_channel(other, "room")
    await tavern.server.add_member(other, "Zoe").say(room, "unheard")
    await heard(bot, await tavern.alice.say(tavern.inn, "heard"))
    assert [item.content for item in bot.heard] == ["heard"]
    with pytest.raises(discord.Forbidden):
        await bot.fetch_guild(other.id)
