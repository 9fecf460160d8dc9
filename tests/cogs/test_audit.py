"""The log of moderators' actions: each leaves a line, none holds a secret or a member's words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.core.types import Place
from cogs.permissions import NOTED
from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer
from tests.discord_server.models import Message
from tests.records import newest_turns

CARD = ("pip.json", b'{"name": "Pip", "description": "A boy."}')
BOOK = ("book.json", b'{"entries": {"0": {"key": ["ferry"], "content": "It never moors."}}}')
SECRET = "The well is behind my house in Elm Street."


@pytest.fixture
async def played(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Played]:
    async with open_played(discord_server, tmp_path, {"reply": ["The bridge is closed."] * 9}) as found:
        yield found


async def form(played: Played, command: str, values: dict[str, str], **options: str) -> None:
    asked = await played.moderator.slash(command, played.channel, options=options)
    await (await played.moderator.submit_modal(asked, values)).answer()


async def personas(played: Played) -> None:
    await form(played, "persona create", {"name": "Mira", "description": "An innkeeper."})
    await form(played, "persona edit", {"name": "Mira", "description": "A spy."}, persona="Mira")
    await played.ask("persona import", card=CARD)
    library = await played.ask("persona library")
    await (await played.moderator.select(library, "Add …", "1")).answer()
    history = await played.ask("persona history", persona="Mira")
    await (await played.moderator.select(history, "Bring back …", "1")).answer()
    past = ("past.md", b"I was born at sea.")
    await played.ask("persona remember", persona="Pip", file=past)
    await played.ask("persona memories", persona="Pip", forget="all")
    style = await played.ask("persona style", persona="Mira")
    sample = await played.moderator.click(style, "Add")
    await (await played.moderator.submit_modal(sample, {"text": "Sit down, dear."})).answer()
    await played.click(await played.ask("persona delete", persona="Pip"), "Delete")
    await played.ask("persona sleep")
    await played.ask("persona wake")


async def lore(played: Played) -> None:
    await played.ask("lore add", keys="ferry", text="It never moors.")
    await played.ask("lore edit", entry="1", enabled=False)
    await played.ask("lore remove", entry="1")
    await played.ask("lore import", file=BOOK)


async def scenes(played: Played) -> None:
    await played.ask("scene start", name="Feast", persona="Mira")
    await played.ask("scene set", location="The hall")
    await played.ask("scene pause")
    await played.ask("scene resume")
    other = next(one for one in await played.troupe.personas.all(played.guild.id) if one.name != "Mira")
    await played.ask("scene cast add", persona=other.name)
    await played.ask("scene cast remove", persona=other.name)
    await played.ask("scene end")
    await played.ask("scene switch", scene="Feast")


async def reply(played: Played, text: str) -> Message:
    before = len([one for one in played.server.messages(played.channel) if one.webhook_id])
    await played.member.say(played.channel, text)
    await played.said(before + 1)
    async with asyncio.timeout(30):
        while True:
            newest = [one for one in played.server.messages(played.channel) if one.webhook_id][-1]
            if await played.store.turns.by_message(newest.id):
                return newest
            await asyncio.sleep(0.01)


async def memories(played: Played) -> None:
    said = await reply(played, f"Mira, {SECRET}")
    asked = await played.moderator.context_menu("Edit reply", said)
    await (await played.moderator.submit_modal(asked, {"text": "The bridge burnt down."})).answer()
    await (await played.moderator.context_menu("Regenerate", said)).answer()
    again = await reply(played, "Mira, and then?")
    await played.click(await (await played.moderator.context_menu("More…", again)).answer(), "Pin")
    await played.click(await (await played.moderator.context_menu("More…", again)).answer(), "Delete")
    await played.ask("memory add", text="Mira owes Alice a horse.")
    other = played.server.add_moderator(played.guild, "Max")  # what a moderator notes is the moderator's own
    page = await (await other.slash("memory who", played.channel, name="Mira")).answer()
    one = await (await other.select(page, "Edit, pin or forget one …", "0")).answer()
    changed = await other.click(one, "Edit")
    await (await other.submit_modal(changed, {"text": "Mira owes Alice a mule."})).answer()
    view = await played.troupe.scenes.current(played.channel.id)
    assert view is not None
    turns = await newest_turns(played.store, view.scene.id, 20)
    turn = next(one for one in turns if SECRET in one.text)
    memory = (await played.store.memories.of_turns([turn.id]))[turn.id]
    await played.ask("memory forget", memory=str(memory))


async def log(played: Played) -> list[str]:
    done = await played.store.audit.newest(played.guild.id, 500)
    return [f"{one.action}|{one.detail}" for one in done]


async def test_every_acting_command_is_in_the_log_with_who_when_and_what(played: Played) -> None:
    await personas(played)
    await lore(played)
    await scenes(played)
    await memories(played)
    await played.ask("settings set", key="reply_mode", value="always")
    lines = await log(played)
    assert "persona create|Mira" in lines
    assert "persona edit|Mira: description An innkeeper. → A spy." in lines
    assert "scene set|Feast: location nothing → The hall" in lines
    assert {"Edit reply|Mira", "Delete|Mira"} <= set(lines)
    assert "settings set|reply_mode everywhere here: `named` → `always`" in lines
    elsewhere = {"scene share", "scene unshare", "memory scratchpad", "persona restrict", "persona waiting"}
    assert NOTED - elsewhere - {line.split("|")[0] for line in lines} == set()
    assert not [line for line in lines if "Elm Street" in line or "burnt" in line or "mule" in line]
    done = await played.store.audit.newest(played.guild.id, 500)
    assert {one.actor_id for one in done if one.action != "memory who"} == {played.moderator.id}
    assert {one.place_id for one in done} == {played.channel.id}
    assert all(one.created_at for one in done)


async def test_the_log_is_shown_newest_first_with_the_pages_before(played: Played) -> None:
    for number in range(25):
        place = Place(played.channel.id, played.guild.id, "inn")
        await played.troupe.trust.audit.note(place, played.moderator.id, "scene start", f"Scene {number}")
    shown = await played.ask("settings log")
    assert shown.ephemeral
    assert "Scene 24" in shown.content.splitlines()[0]
    assert f"by <@{played.moderator.id}> in <#{played.channel.id}>" in shown.content
    older = await played.click(shown, "Older")
    assert "Scene 0" in older.content.splitlines()[-1]
    assert not set(shown.content.splitlines()) & set(older.content.splitlines())


async def test_a_log_channel_gets_a_line_for_each_action(played: Played) -> None:
    staff = played.server.add_channel(played.guild, "staff")
    await played.ask("settings set", key="log_channel", value=f"<#{staff.id}>")
    await played.ask("settings set", key="gm_roles", value="none")
    async with asyncio.timeout(30):
        while len(played.server.messages(staff)) < 2:
            await asyncio.sleep(0.01)
    first, second = (one.content for one in played.server.messages(staff))
    who, where = f"<@{played.moderator.id}>", f"<#{played.channel.id}>"
    assert first.startswith(f"`settings set` by {who} in {where}: log_channel")
    assert "gm_roles" in second


async def test_a_log_channel_of_another_server_gets_nothing(played: Played) -> None:
    other = played.server.add_guild("Elsewhere")
    theirs = played.server.add_channel(other, "public")
    await played.ask("settings set", key="log_channel", value=str(theirs.id))
    await played.ask("persona sleep")
    await asyncio.sleep(0.2)
    assert not [one for one in played.server.messages(theirs) if " by <@" in one.content]


async def test_what_a_forgotten_moderator_did_stays_without_their_id(played: Played) -> None:
    await played.ask("settings set", key="reply_mode", value="off")
    await played.troupe.privacy.forget(played.moderator.id)
    (line,) = await played.store.audit.newest(played.guild.id, 9)
    assert (line.actor_id, line.action) == (0, "settings set")
    await played.troupe.privacy.purge(played.guild.id)
    assert await played.store.audit.newest(played.guild.id, 9) == []
