"""Greetings are swiped in the channel until somebody answers, on the real engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.core.card_file import read_card
from bot.core.cards import greetings
from tests.card_parts import v3
from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer
from tests.records import newest_turns

CARD, _ = read_card(
    v3(
        first_mes="Hop in, {{user}}.",
        alternate_greetings=["Again you?", "x" * 2500],
        group_only_greetings=["So many of you!"],
    )
)


@pytest.fixture
async def played(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Played]:
    async with open_played(discord_server, tmp_path) as found:
        yield found


async def texts(played: Played, *expected: str) -> None:
    """The channel shows these messages of personas, and no others, soon."""
    await played.spoken(lambda found: tuple(one.content for one in found) == expected)


def test_the_order_of_greetings() -> None:
    assert greetings(CARD)[:2] == ("Hop in, {{user}}.", "Again you?")
    assert greetings(CARD, group=True)[:2] == ("So many of you!", "Hop in, {{user}}.")
    assert greetings({"first_mes": None, "alternate_greetings": "x"}) == ()
    assert greetings({"first_mes": "", "alternate_greetings": ["a", 3, "a", " "]}) == ("a",)


async def test_a_greeting_is_swiped_until_somebody_answers(played: Played) -> None:
    await played.troupe.personas.add(played.guild.id, CARD)
    started = await played.ask("scene start", name="Feast")
    await texts(played, "Hop in, the others.")
    shown = await played.click(started, "Next greeting ▶")
    assert "greeting 2 of 3" in shown.content
    await texts(played, "Again you?")
    shown = await played.click(shown, "Next greeting ▶")
    await played.spoken(lambda found: sum(len(one.content) for one in found) == 2500)
    shown = await played.click(shown, "Next greeting ▶")
    await texts(played, "Hop in, the others.")
    shown = await played.click(shown, "◀ Greeting")
    shown = await played.click(shown, "◀ Greeting")
    await texts(played, "Again you?")
    turns = await newest_turns(played.store, 1, 9)
    assert [turn.text for turn in turns] == ["Again you?"]
    await played.member.say(played.channel, "Mira, good evening!")
    await played.spoken(lambda found: len(found) == 2)
    refused = await (await played.moderator.click(shown, "Next greeting ▶")).followup()
    assert "the greeting stays" in refused.content
    assert (await played.said(2))[0].content == "Again you?"


async def test_in_a_larger_cast_the_group_greeting_comes_first(played: Played) -> None:
    await played.troupe.personas.create(played.guild.id, name="Bea", greeting="Hello.")
    started = await played.ask("scene start", name="Feast", persona="Bea")
    assert started.components == []
    await played.troupe.personas.add(played.guild.id, CARD)
    joined = await played.ask("scene cast add", persona="Mira")
    await texts(played, "Hello.", "So many of you!")
    shown = await played.click(joined, "Next greeting ▶")
    assert "greeting 2 of 4" in shown.content
    await texts(played, "Hello.", "Hop in, the others.")


async def test_a_greeting_said_plainly_is_swiped_as_well(played: Played) -> None:
    channel = played.server.dm(played.moderator)
    await played.troupe.personas.add(channel.id, CARD)
    started = await (await played.moderator.slash("scene start", channel, name="Feast")).answer()
    await (await played.moderator.click(started, "Next greeting ▶")).answer()

    def plain() -> list[str]:
        return [one.content for one in played.server.messages(channel) if one.content.startswith("**Mira**")]

    await played.server.wait_for_message(channel, lambda one: "Again you?" in one.content)
    assert plain() == ["**Mira**\nAgain you?"]
