"""/memory as members and moderators use it, on the real engine: pages, pins, context, additions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer
from tests.discord_server.models import Message
from tests.fakes import Prompt


def remember(prompt: Prompt) -> str:
    """A background answer with a fact about the first turn that tells of a horse, and a wish."""
    text = prompt.messages[-1].content
    told = [line for line in text.split("\n") if "horse" in line and line.startswith("[")]
    turn = int(told[0].split("]")[0].strip("[")) if told else 1
    facts = [{"about": "Alice", "kind": "person", "text": "Alice has a horse.", "turns": [turn], "when": ""}]
    wish = {"section": "standing", "text": "Call Alice Captain.", "turns": [turn]}
    return json.dumps({"keep": [], "lines": [wish], "facts": facts if told else []})


@pytest.fixture
async def played(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Played]:
    async with open_played(discord_server, tmp_path, {"memory": remember}) as found:
        await found.troupe.personas.create(found.guild.id, name="Mira")
        await found.ask("scene start", name="Feast")
        await found.member.say(found.channel, "I have a horse. Call me Captain.")
        for number in range(9):
            await found.moderator.say(found.channel, f"Cup {number} is poured.")
        await noted(found)
        yield found


async def noted(played: Played) -> None:
    async with asyncio.timeout(30):
        while not await played.troupe.pages.names(await place(played)):
            await asyncio.sleep(0.02)


async def place(played: Played) -> Any:
    async with asyncio.timeout(30):
        while (found := await played.store.scenes.place(played.channel.id)) is None:
            await asyncio.sleep(0.02)
    return found


async def asked_by_member(played: Played, command: str, **options: Any) -> Message:
    return await (await played.member.slash(command, played.channel, options=options)).answer()


async def test_a_page_is_completed_shown_edited_and_its_fact_forgotten(played: Played) -> None:
    choices = await played.member.autocomplete("memory who", played.channel, option="name", value="ali")
    assert [choice["name"] for choice in choices] == ["Alice · member"]
    page = await asked_by_member(played, "memory who", name=choices[0]["value"])
    assert page.content.startswith("**Alice** (member)\n")
    assert "Alice has a horse." in page.content
    one = await (await played.member.select(page, "Edit, pin or forget one …", "0")).answer()
    form = await (await played.member.click(one, "Edit")).modal()
    told = await (await played.member.submit_modal(form, {"text": "Alice has two horses."})).answer()
    assert "now says: Alice has two horses." in told.content
    page = await asked_by_member(played, "memory who", name="alice")
    assert "two horses" in page.content
    one = await (await played.member.select(page, "Edit, pin or forget one …", "0")).answer()
    assert "forgotten" in (await (await played.member.click(one, "Forget")).answer()).content
    assert "Nothing is known" in (await asked_by_member(played, "memory who", name="alice")).content


async def test_a_member_sees_no_page_of_others(played: Played) -> None:
    other = played.server.add_member(played.guild, "Bert")
    asked = await other.slash("memory who", played.channel, options={"name": "Alice"})
    assert "Nothing is known of “Alice”" in (await asked.answer()).content


async def test_what_is_pinned_stands_in_every_prompt_until_it_is_removed(played: Played) -> None:
    found = await played.ask("memory search", query="horse")
    one = await (await played.moderator.select(found, "Forget, pin or show one …", "0")).answer()
    await played.click(one, "Pin")
    await played.member.say(played.channel, "Mira, good evening!")
    await played.said(1)
    system = next(one for one in played.model.prompts if one.purpose == "reply").messages[0].content
    assert "- Call Alice Captain." in system
    assert "- Alice: I have a horse. Call me Captain." in system or "- Alice has a horse." in system
    notes = await played.ask("memory scratchpad")
    assert "**pinned**" in notes.content
    pin = await (await played.moderator.select(notes, "Remove what is always in mind …", "0")).answer()
    await played.click(pin, "Forget")
    notes = await played.ask("memory scratchpad")
    assert "**pinned**" not in notes.content
    gone = await (await played.moderator.select(notes, "Remove what is always in mind …", "0")).answer()
    assert "No longer kept: Call Alice Captain." in gone.content
    assert "Captain" not in (await played.ask("memory scratchpad")).content


async def test_the_context_of_a_memory_links_to_its_messages(played: Played) -> None:
    found = await played.ask("memory search", query="horse")
    one = await (await played.moderator.select(found, "Forget, pin or show one …", "0")).answer()
    shown = (await played.click(one, "Show context")).content
    assert "**Alice: I have a horse. Call me Captain.**" in shown
    assert f"https://discord.com/channels/{played.guild.id}/{played.channel.id}/" in shown
    assert "Cup 2 is poured." in shown


async def test_a_moderator_adds_what_is_known(played: Played) -> None:
    added = await played.ask("memory add", text="Mira hates rain, and Alice knows it.")
    assert "page of Mira" in added.content
    assert "hates rain" in (await played.ask("memory who", name="Mira")).content
    assert "Noted as" in (await played.ask("memory add", text="The bridge is closed.")).content
    told = await asked_by_member(played, "memory add", text="Alice rules the town.")
    assert "game master" in told.content


async def test_earlier_notes_are_shown_to_those_who_lead_and_restored_by_moderators(played: Played) -> None:
    for number in range(10):
        await played.moderator.say(played.channel, f"The horse neighs {number} times.")
    async with asyncio.timeout(30):
        while len(await played.troupe.keeping.history(await place(played))) < 2:
            await asyncio.sleep(0.02)
    notes = await played.ask("memory scratchpad")
    first = await (await played.moderator.select(notes, "Earlier notes …", "0")).answer()
    assert first.content.startswith("Notes 1, ")
    assert "Call Alice Captain." in first.content
    assert "the newest again, as number 3" in (await played.click(first, "Restore")).content
