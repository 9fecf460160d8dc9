"""/scene share over the loopback Discord: rights are looked at when it is set and in every recall."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cogs.played import Played, open_played
from tests.discord_server import Channel, DiscordServer, Permission
from tests.discord_server.models import Overwrite

WORD = "amberwick"


@pytest.fixture
async def played(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Played]:
    """Scenes in the public inn, where the word is said, and in the public cellar."""
    async with open_played(discord_server, tmp_path, {"reply": ["Hush."] * 9}) as found:
        await found.troupe.personas.create(found.guild.id, name="Mira")
        await found.ask("scene start", name="Feast")
        await tell(found, found.channel)
        yield found


async def tell(played: Played, channel: Channel) -> None:
    said = await played.member.say(channel, f"The secret word of the vault is {WORD}.")
    async with asyncio.timeout(30):
        while await played.store.turns.by_message(said.id) is None:
            await asyncio.sleep(0.01)


async def begun(played: Played, channel: Channel) -> Channel:
    answer = await (
        await played.moderator.slash("scene start", channel, name="Depths", persona="Mira")
    ).answer()
    assert "has begun" in answer.content
    return channel


async def share(played: Played, source: Channel, target: Channel, command: str = "scene share") -> str:
    return (await (await played.moderator.slash(command, target, channel=source)).answer()).content


async def knows(played: Played, channel: Channel) -> bool:
    asked = len(played.model.of("reply"))
    await played.moderator.say(channel, "Mira, what is the secret word of the vault?")
    async with asyncio.timeout(30):
        while len(played.model.of("reply")) <= asked:
            await asyncio.sleep(0.01)
    return WORD in played.model.of("reply")[-1].text


async def shown(played: Played, channel: Channel) -> str:
    return (await (await played.moderator.slash("settings show", channel)).answer()).content


async def test_a_public_channel_feeds_another_until_it_becomes_private(played: Played) -> None:
    cellar = await begun(played, played.server.add_channel(played.guild, "cellar"))
    assert not await knows(played, cellar)
    assert "may come up here now" in await share(played, played.channel, cellar)
    assert await knows(played, cellar)
    assert f"memories of <#{played.channel.id}> feed this channel" in await shown(played, cellar)
    assert f"memories of this channel feed <#{cellar.id}>" in await shown(played, played.channel)
    about = await (await played.member.slash("privacy about", played.channel)).answer()
    assert "may come up in 1 other channel as well" in about.text
    everyone = played.guild.roles[played.guild.id]
    played.server.set_overwrite(played.channel, everyone, deny=Permission.VIEW_CHANNEL)
    assert not await knows(played, cellar)
    assert "rests" in await shown(played, cellar)
    assert "no longer" in await share(played, played.channel, cellar, "scene unshare")
    assert "🔗" not in await shown(played, cellar)
    log = (await (await played.moderator.slash("settings log", cellar)).answer()).content
    assert "scene share" in log
    assert "scene unshare" in log


async def test_a_private_channel_and_a_private_thread_never_feed_a_public_one(played: Played) -> None:
    staff = played.server.add_channel(
        played.guild, "staff", private_to=[played.moderator, played.server.world.bot]
    )
    await begun(played, staff)
    assert "is not visible to everyone and this channel is" in await share(played, staff, played.channel)
    assert "may come up here now" in await share(played, played.channel, staff)
    assert await knows(played, staff)


async def test_only_who_moderates_both_channels_links_them(played: Played) -> None:
    cellar = await begun(played, played.server.add_channel(played.guild, "cellar"))
    helper = played.server.add_member(played.guild, "Hal")
    cellar.overwrites[helper.id] = Overwrite(helper.id, 1, allow=int(Permission.MANAGE_CHANNELS))
    played.server.channel_changed(cellar)
    refused = await (await helper.slash("scene share", cellar, channel=played.channel)).answer()
    assert "You are no moderator in" in refused.content
    assert await played.store.links.of_space(played.guild.id) == []


async def test_a_thread_is_as_visible_as_its_channel(played: Played) -> None:
    thread = await played.moderator.create_thread(played.channel, "corner")
    await begun(played, thread)
    assert "may come up here now" in await share(played, thread, played.channel)
    assert "may come up here now" in await share(played, played.channel, thread)
    assert await knows(played, thread)
