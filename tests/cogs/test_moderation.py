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
