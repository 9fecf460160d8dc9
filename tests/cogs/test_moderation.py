"""Moderation as a server sets and sees it: a word list, over the loopback Discord."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bot.engine.screening import REFUSED
from tests.cogs.played import open_played
from tests.discord_server import DiscordServer


async def test_a_word_list_set_in_discord_keeps_a_message_out_and_holds_an_answer_back(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    script = {"reply": ["You are a grub.", "Good evening, Alice."]}
    async with open_played(discord_server, tmp_path, script) as played:
        await played.troupe.personas.create(played.guild.id, name="Mira")
        await played.ask("scene start", name="Feast")
        told = await played.ask("settings set", key="blocked_words", value="grub, toad")
        assert "`blocked_words` is now `grub, toad`" in told.content
        said = await played.member.say(played.channel, "Mira, you TOAD!")
        async with asyncio.timeout(30):
            while not (found := [m for m in played.server.messages(played.channel) if m.content == REFUSED]):
                await asyncio.sleep(0.01)
        assert found[0].reference is not None
        assert await played.store.turns.by_message(said.id) is None
        await played.member.say(played.channel, "Mira, what am I?")
        async with asyncio.timeout(30):
            while not [m for m in played.server.messages(played.channel) if "was not posted" in m.content]:
                await asyncio.sleep(0.01)
        assert not [m for m in played.server.messages(played.channel) if m.webhook_id]
        await played.member.say(played.channel, "Mira, good evening.")
        assert [one.content for one in await played.said(1)] == ["Good evening, Alice."]


async def test_moderation_without_a_server_says_that_nothing_is_checked(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    async with open_played(discord_server, tmp_path) as played:
        told = await played.ask("settings set", key="moderation", value="both")
        assert "MODERATION_BASE_URL" in told.content
        told = await played.ask("settings set", key="moderation", value="off")
        assert "MODERATION_BASE_URL" not in told.content


async def test_a_shorter_retention_says_what_it_will_delete_and_how_to_keep_it(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    async with open_played(discord_server, tmp_path) as played:
        for days, deletes in (("90", True), ("90", False), ("365", False), ("30", True), ("0", False)):
            told = await played.ask("settings set", key="retention_days", value=days)
            assert (f"more than {days} days ago is deleted for good" in told.content) is deletes
