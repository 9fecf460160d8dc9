"""/usage and the limits of spending, on the real engine over the loopback Discord."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from bot.core.spending import Entry, Payer, Price, Spent, ceilings
from bot.engine.paid_calls import Spending, Tier
from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer
from tests.discord_server.models import Message
from tests.fakes import ScriptedChatModel

LIMIT = 1_000_000


async def begin(played: Played) -> None:
    """A persona in a scene."""
    await played.troupe.personas.create(played.guild.id, name="Mira", by=played.moderator.id)
    await played.ask("scene start", name="The feast", persona="Mira")


async def spend(played: Played, share: float) -> None:
    payer = Payer(played.guild.id, played.channel.id, (4242,), 99)
    day = datetime.now(UTC).date()
    await played.store.usage.add([Entry(payer, day, Spent(1, round(LIMIT * share), 0, 0))])


async def of_member(played: Played) -> Message:
    return await (await played.member.slash("usage", played.channel)).answer()


async def test_moderators_see_the_server_and_a_member_what_is_their_own(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    spending = Spending(ceilings(daily_tokens=LIMIT * 10), price=Price(1000, 2000), currency="€")
    async with open_played(discord_server, tmp_path, spending=spending) as played:
        await begin(played)
        await played.ask("settings set", key="daily_tokens", value=str(LIMIT))
        assert "Nothing was spent here" in (await played.ask("usage")).content
        await played.member.say(played.channel, "Mira, good evening.")
        await played.said(1)
        await spend(played, 0.25)
        told = await played.ask("usage")
        assert told.flags & 64
        for words in (
            "Mira",
            f"<@{played.member.id}>",
            "<@4242>",
            "personas that are gone",
            "€",
            "`daily_tokens`: 25% used",
            "The whole bot's limit for a day: 3% used",
        ):
            assert words in told.content, words
        assert [file.filename for file in told.attachments] == ["usage.png"]
        own = await of_member(played)
        assert own.flags & 64
        assert "Spent on answers to you" in own.content
        assert "Mira" in own.content
        for hidden in ("<@", "4242", "gone", "daily_tokens", "whole bot"):
            assert hidden not in own.content, hidden


async def test_a_member_of_whom_nothing_is_counted_is_told_so(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    async with open_played(discord_server, tmp_path) as played:
        await begin(played)
        await spend(played, 0.5)
        await played.ask("settings set", key="member_monthly_tokens", value="1000")
        own = await of_member(played)
        assert own.content.splitlines() == [
            "Nothing was spent on answers to you this month.",
            "Your limit for a month: 0% used (0 tokens of 1,000 tokens)",
        ]
        assert own.attachments == []
        assert "Money is not counted" in (await played.ask("usage")).content


async def test_the_ladder_as_members_and_moderators_see_it(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    cheap = ScriptedChatModel({"reply": ["Cheaply said.", "And again."]})
    async with open_played(
        discord_server, tmp_path, {"reply": ["Welcome in."]}, spending=Spending(cheap=Tier(cheap))
    ) as played:
        await begin(played)
        log = discord_server.add_channel(played.guild, "staff-log")
        await played.ask("settings set", key="log_channel", value=f"<#{log.id}>")
        await played.ask("settings set", key="daily_tokens", value=str(LIMIT))
        await spend(played, 0.8)
        await played.member.say(played.channel, "Mira, good evening.")
        assert (await played.said(1))[-1].content == "Welcome in."
        await spend(played, 0.1)
        await played.member.say(played.channel, "Mira, a room?")
        assert (await played.said(2))[-1].content == "Cheaply said."
        await spend(played, 0.2)
        await played.member.say(played.channel, "Mira, are you well?")
        tired = (await played.said(3))[-1]
        assert tired.author.username == "Mira"
        assert "used up" in tired.content
        await played.member.say(played.channel, "Mira?")
        await played.ask("usage")
        assert len(await played.said(3)) == 3
        assert len(played.model.of("reply")) + len(cheap.of("reply")) == 2
        told = [one.content for one in discord_server.messages(log) if "For moderators" in one.content]
        assert len(told) == 1
        assert "`/settings set daily_tokens`" in told[0]
        here = [one.content for one in discord_server.messages(played.channel)]
        assert not any("For moderators" in text for text in here)
