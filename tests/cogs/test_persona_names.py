"""Names of personas: how long, which signs, never two alike in a guild, shown where Discord refuses them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.core.names import fold
from tests.card_parts import v3
from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer


@pytest.fixture
async def played(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Played]:
    async with open_played(discord_server, tmp_path) as found:
        yield found


async def created(played: Played, name: str) -> str:
    """The answer to a form with this name."""
    form = await (await played.moderator.slash("persona create", played.channel)).modal()
    sent = await played.moderator.submit_modal(form, {"name": name, "greeting": "Hop in."})
    return (await sent.answer()).content


async def names(played: Played) -> list[str]:
    return [one.name for one in await played.troupe.personas.all(played.guild.id)]


@pytest.mark.parametrize("name", ["M", "x" * 80, "Ünïcode ✨", "서린", "ミラ", "مريم", "👩‍🚀", "🦊" * 80])
async def test_names_of_1_to_80_characters_of_any_script_are_taken_and_shown(
    played: Played, name: str
) -> None:
    assert f"**{name}** is ready" in await created(played, name)
    assert await names(played) == [name]
    await played.ask("scene start", name="Feast", persona=name)
    (greeting,) = await played.said(1)
    assert greeting.author_name == name


@pytest.mark.parametrize("name", ["x" * 81, "\u200b\u200b", "\u2060 \u200d"])
async def test_names_too_long_or_without_anything_to_see_are_refused(played: Played, name: str) -> None:
    assert "80" in await created(played, name)
    assert await names(played) == []


@pytest.mark.parametrize("other", ["MIRA", "ｍｉｒａ", " Mira  "])
async def test_no_two_personas_of_a_guild_share_a_name_by_any_way_in(played: Played, other: str) -> None:
    await created(played, "Mira")
    assert "already a persona" in await created(played, other)
    card = ("m.json", json.dumps(v3(other)).encode())
    assert "already" in (await played.ask("persona import", card=card)).content

    await created(played, "Bea")
    asked = await played.moderator.slash("persona edit", played.channel, persona="Bea")
    renamed = await (await played.moderator.submit_modal(await asked.modal(), {"name": other})).answer()
    assert "already a persona" in renamed.content
    assert await names(played) == ["Bea", "Mira"]

    await played.troupe.personas.add(10, v3(other)["data"])
    assert [fold(one.name) for one in await played.troupe.personas.all(10)] == ["mira"]


async def test_a_former_card_does_not_bring_back_a_name_that_was_given_away(played: Played) -> None:
    await created(played, "Mira")
    (mira,) = await played.troupe.personas.all(played.guild.id)
    await played.troupe.personas.edit(mira.id, name="Mira Vale")
    await created(played, "MIRA")
    shown = await played.ask("persona history", persona="Mira Vale")
    refused = await (await played.moderator.select(shown, "Bring back …", "1")).answer()
    assert "already a persona" in refused.content
    assert await names(played) == ["MIRA", "Mira Vale"]
    taken = next(one for one in await played.troupe.personas.all(played.guild.id) if one.name == "MIRA")
    await played.troupe.personas.delete(taken.id)
    await (await played.moderator.select(shown, "Bring back …", "1")).answer()
    assert await names(played) == ["Mira"]


@pytest.mark.parametrize("name", ["Clyde", "Bonnie and CLYDE", "Discord Dan", "ｄｉｓｃｏｒｄ"])
async def test_a_name_that_discord_refuses_is_shown_in_a_harmless_form(played: Played, name: str) -> None:
    assert f"**{name}** is ready" in await created(played, name)
    await played.ask("scene start", name="Feast", persona=name)
    (greeting,) = await played.said(1)
    assert (greeting.content, greeting.author_name.replace("\u200a", "")) == ("Hop in.", name)
    assert await names(played) == [name]
    await played.member.say(played.channel, f"{name}, hello?")
    assert len(await played.said(2)) == 2
