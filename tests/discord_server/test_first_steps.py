"""The unmodified client logs in, hears, answers and posts."""

from __future__ import annotations

import discord
import pytest

from .sample_bot import SampleBot
from .server import DiscordServer


async def heard(server: DiscordServer, bot: SampleBot, text: str) -> discord.Message:
    """Return the message with this content once the bot has it."""
    import asyncio

    async with asyncio.timeout(5):
        while True:
            for message in bot.heard:
                if message.content == text:
                    return message
            await asyncio.sleep(0.005)


async def test_login_gives_guild_channels_and_application(discord_server: DiscordServer) -> None:
    guild = discord_server.add_guild("Tavern")
    discord_server.add_channel(guild, "inn")
    import asyncio

    bot = SampleBot()
    task = asyncio.create_task(bot.start(discord_server.token))
    await discord_server.ready()
    await bot.wait_until_ready()
    found = bot.get_guild(guild.id)
    assert found is not None
    assert [channel.name for channel in found.text_channels] == ["inn"]
    assert found.me.guild_permissions.manage_webhooks
    assert bot.application_id == discord_server.application_id
    await bot.close()
    await asyncio.gather(task, return_exceptions=True)


async def test_messages_slash_modal_webhook_history(discord_server: DiscordServer, bot: SampleBot) -> None:
    guild = discord_server.add_guild("Tavern")
    inn = discord_server.add_channel(guild, "inn")
    alice = discord_server.add_member(guild, "Alice")
    first = await alice.say(inn, "Hello")
    message = await heard(discord_server, bot, "Hello")
    assert message.author.display_name == "Alice"
    await message.reply("Hi")
    reply = await discord_server.wait_for_message(inn, lambda m: m.content == "Hi")
    assert reply.referenced is first
    webhook = await message.channel.create_webhook(name="Troupe")
    sent = await webhook.send("I am Luna", username="Luna", wait=True)
    assert sent.author.name == "Luna"
    await sent.edit(content="I was Luna")
    page = [item async for item in message.channel.history(limit=10, oldest_first=True)]
    assert [item.content for item in page] == ["Hello", "Hi", "I was Luna"]
    interaction = await alice.slash("scene start", inn, name="Feast", persona="Ada", place=inn)
    answer = await interaction.answer()
    assert answer.ephemeral
    assert answer.content == "started Feast with Ada in inn"
    assert (await interaction.followup()).content == "second"
    choices = await alice.autocomplete("scene start", inn, option="persona", value="Ad")
    assert [choice["value"] for choice in choices] == ["Ada", "Adam"]
    form = await alice.slash("form", inn)
    modal = await form.modal()
    assert set(modal.fields) == {"name", "story", "mood", "card"}
    done = await alice.submit_modal(modal, {"name": "Luna", "mood": "Sad"}, files={"card": ("c.json", b"{}")})
    assert (await done.answer()).content == "Luna | Once | 2 | c.json:{}"
    added = await alice.slash("scene cast add", inn, persona="Bob", card=("x.txt", b"abc"))
    assert (await added.answer()).content == "added Bob 3"


@pytest.mark.parametrize("discord_server", [{"clock_factor": 5}], indirect=True)
async def test_click(discord_server: DiscordServer, bot: SampleBot) -> None:
    guild = discord_server.add_guild("Tavern")
    inn = discord_server.add_channel(guild, "inn")
    alice = discord_server.add_member(guild, "Alice")
    posted = await (await alice.slash("buttons", inn)).answer()
    assert (await (await alice.click(posted, "Answer")).answer()).content == "for Alice"
    assert (await (await alice.select(posted, "pick", "Red")).answer()).content == "picked r"
    assert (await (await alice.click(posted, "Rewrite")).answer()).content == "rewritten"
