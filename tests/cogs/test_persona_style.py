"""/persona style on the real engine: seen, pinned, dropped, renewed and given where the samples were said."""

from __future__ import annotations

from pathlib import Path

from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer
from tests.discord_server.models import Message

REPLIES = [
    "I have a hammock, a leak and a cat.",
    "The law has a shorter word for it.",
    "You may pay me when the river is dry.",
]


async def spoken_with(played: Played) -> None:
    """Mira, and three replies of hers in the inn."""
    await played.troupe.personas.create(played.guild.id, name="Mira")
    await played.ask("scene start", name="Dusk", persona="Mira")
    for number in range(1, 4):
        await played.member.say(played.channel, f"Mira, what of number {number}?")
        await played.said(number)


async def chosen(played: Played, message: Message, text: str) -> Message:
    """The list after one of its samples was chosen."""
    (mira,) = await played.troupe.personas.all(played.guild.id)
    known = await played.troupe.samples.of(mira.id, played.channel.id)
    one = next(sample for sample in known if sample.text == text)
    return await (await played.moderator.select(message, "Choose one …", [str(one.id)])).answer()


async def test_samples_are_listed_pinned_dropped_given_and_renewed(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    async with open_played(discord_server, tmp_path, {"reply": REPLIES}) as played:
        await spoken_with(played)
        shown = await played.ask("persona style", persona="Mira")
        assert shown.ephemeral
        assert "**How Mira sounds here** (3)" in shown.content
        assert all(text in shown.content for text in REPLIES)
        one = await chosen(played, shown, REPLIES[1])
        pinned = await played.click(one, "Pin")
        assert pinned.content.startswith("Pinned.")
        assert f"2. {REPLIES[1]} *(📌)*" in pinned.content
        other = await chosen(played, pinned, REPLIES[0])
        dropped = await played.click(other, "Drop")
        assert "(2)" in dropped.content
        assert REPLIES[0] not in dropped.content
        form = await (await played.moderator.click(dropped, "Add")).modal()
        added = await (await played.moderator.submit_modal(form, {"text": "By the nine bells."})).answer()
        assert "By the nine bells. *(everywhere)*" in added.content
        renewed = await played.click(added, "Renew")
        assert REPLIES[2] not in renewed.content
        assert REPLIES[1] in renewed.content
        assert "By the nine bells." in renewed.content
        one = await chosen(played, renewed, REPLIES[1])
        assert "📌" not in (await played.click(one, "Unpin")).content


async def test_another_channel_shows_nothing_that_was_said_here(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    async with open_played(discord_server, tmp_path, {"reply": REPLIES}) as played:
        await spoken_with(played)
        cellar = discord_server.add_channel(played.guild, "cellar")
        asked = await played.moderator.slash("persona style", cellar, options={"persona": "Mira"})
        shown = await asked.answer()
        assert "There are none yet" in shown.content
        assert not any(text in shown.content for text in REPLIES)
        form = await (await played.moderator.click(shown, "Add")).modal()
        await (await played.moderator.submit_modal(form, {"text": "By the nine bells."})).answer()
        there = await played.ask("persona style", persona="Mira")
        assert "(4)" in there.content


async def test_a_pinned_sample_stands_in_the_next_prompt_and_a_dropped_one_does_not(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    async with open_played(discord_server, tmp_path, {"reply": [*REPLIES, "Aye."]}) as played:
        await spoken_with(played)
        shown = await played.ask("persona style", persona="Mira")
        await played.click(await chosen(played, shown, REPLIES[0]), "Drop")
        await played.member.say(played.channel, "Mira, and now?")
        await played.said(4)
        system = played.model.of("reply")[-1].messages[0].content
        voice = system.split("How it sounds:\n")[1].split("\n</voice>")[0]
        assert voice.split("\n---\n") == REPLIES[1:]
