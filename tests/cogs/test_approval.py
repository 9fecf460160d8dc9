"""Personas that wait for a moderator, and those that play in age-restricted channels alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.engine.notices import AGE_RESTRICTED
from tests.cogs.played import Played, open_played
from tests.discord_server import Channel, DiscordServer, ScriptedUser
from tests.discord_server.models import Message


@pytest.fixture
async def played(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Played]:
    async with open_played(discord_server, tmp_path, {"reply": ["The bridge is closed."] * 9}) as found:
        yield found


async def writer(played: Played) -> ScriptedUser:
    role = played.server.add_role(played.guild, "Writers")
    await played.ask("settings set", key="creator_roles", value=str(role.id))
    return played.server.add_member(played.guild, "Wendy", roles=[role])


async def made(played: Played, by: ScriptedUser, name: str = "Pip") -> Message:
    """What the maker of a persona is told."""
    asked = await by.slash("persona create", played.channel, ignore_defaults=True)
    values = {"name": name, "description": "A boy from the docks."}
    return await (await by.submit_modal(asked, values)).answer()


def mark(played: Played, channel: Channel, *, age_restricted: bool) -> None:
    channel.nsfw = age_restricted
    played.server.channel_changed(channel)


def request(played: Played) -> Message:
    return next(
        one for one in played.server.messages(played.channel) if "waits for a moderator" in one.content
    )


async def test_a_members_persona_waits_until_a_moderator_approves_it(played: Played) -> None:
    wendy = await writer(played)
    told = await made(played, wendy)
    assert told.ephemeral
    assert "waits for approval. A moderator looks at it." in told.content
    assert f"<@{wendy.id}> made a persona that waits for a moderator: **Pip**" in request(played).content
    assert "no persona here yet" in (await played.ask("scene start", name="Feast", persona="Pip")).content
    assert await played.moderator.autocomplete("scene start", played.channel, option="persona") == []
    refused = await (await wendy.click(request(played), "Approve")).answer()
    assert "is for a moderator" in refused.content
    await (await played.moderator.click(request(played), "Approve")).answer()
    async with asyncio.timeout(30):
        while not await played.troupe.personas.all(played.guild.id):
            await asyncio.sleep(0.01)
    assert "has begun" in (await played.ask("scene start", name="Feast", persona="Pip")).content
    log = (await played.ask("settings log")).content
    assert "Pip: approve" in log
    assert f"`persona create` by <@{wendy.id}>" in log


async def test_a_rejected_persona_is_gone_and_its_name_is_free(played: Played) -> None:
    wendy = await writer(played)
    await made(played, wendy)
    shown = await played.ask("persona waiting")
    assert "**Pip** by" in shown.content
    done = await (await played.moderator.click(shown, "Reject")).answer()
    assert "is rejected and gone" in done.content
    assert "No persona waits" in (await played.ask("persona waiting")).content
    assert "waits for approval" in (await made(played, wendy)).content


async def test_the_buttons_work_after_a_restart(discord_server: DiscordServer, tmp_path: Path) -> None:
    async with open_played(discord_server, tmp_path) as played:
        await made(played, await writer(played))
        asked, guild, moderator = request(played), played.guild, played.moderator
    async with open_played(discord_server, tmp_path) as again:
        await (await moderator.click(asked, "Approve")).answer()
        async with asyncio.timeout(30):
            while not await again.troupe.personas.all(guild.id):
                await asyncio.sleep(0.01)


async def test_a_member_without_the_role_makes_none(played: Played) -> None:
    await writer(played)
    asked = await played.member.slash("persona create", played.channel, ignore_defaults=True)
    assert "Please ask one." in (await asked.answer()).content


async def test_an_age_restricted_persona_plays_only_in_such_channels_and_their_threads(
    played: Played,
) -> None:
    await played.troupe.personas.create(played.guild.id, name="Mira", greeting="Come in.")
    told = await played.ask("persona restrict", persona="Mira")
    assert "only in age-restricted channels" in told.content
    assert AGE_RESTRICTED in (await played.ask("scene start", name="Feast", persona="Mira")).content
    assert AGE_RESTRICTED in (await played.ask("scene start", name="Feast")).content
    adult = played.server.add_channel(played.guild, "den")
    mark(played, adult, age_restricted=True)
    started = await (await played.moderator.slash("scene start", adult, name="Den", persona="Mira")).answer()
    assert "has begun" in started.content
    thread = await played.moderator.create_thread(adult, "corner")
    started = await (
        await played.moderator.slash("scene start", thread, name="Nook", persona="Mira")
    ).answer()
    assert "has begun" in started.content


async def test_a_channel_that_is_no_longer_age_restricted_silences_its_persona(played: Played) -> None:
    mira = await played.troupe.personas.create(played.guild.id, name="Mira")
    await played.troupe.personas.restrict(mira.id, age_restricted=True)
    adult = played.channel
    mark(played, adult, age_restricted=True)
    await played.ask("scene start", name="Den", persona="Mira")
    await played.member.say(adult, "Mira, what of the bridge?")
    await played.said(1)
    mark(played, adult, age_restricted=False)
    await played.member.say(adult, "Mira, and now?")
    async with asyncio.timeout(30):
        while not [one for one in played.server.messages(adult) if one.content == AGE_RESTRICTED]:
            await asyncio.sleep(0.01)
    assert len([one for one in played.server.messages(adult) if one.webhook_id]) == 1
