"""The message menu on the real engine: why, made anew, reworded, taken away, pinned."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer, ScriptError
from tests.discord_server.models import Message
from tests.records import newest_turns

REPLIES = ["The bridge is closed tonight.", "The bridge is open again.", "Nobody knows."]


@pytest.fixture
async def played(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Played]:
    async with open_played(discord_server, tmp_path, {"reply": REPLIES}) as found:
        await found.troupe.personas.create(found.guild.id, name="Mira")
        await found.ask("scene start", name="Feast")
        yield found


async def replied(played: Played, text: str = "Mira, what of the bridge?", number: int = 1) -> Message:
    """Mira's newest reply, once it is committed and known by its message."""
    await played.member.say(played.channel, text)
    await played.said(number)
    return await known(played)


async def known(played: Played) -> Message:
    async with asyncio.timeout(30):
        while True:
            spoken = [one for one in played.server.messages(played.channel) if one.webhook_id]
            turn = await played.store.turns.by_message(spoken[-1].id) if spoken else None
            if turn is not None and await played.store.explanations.of_turn(turn.id) is not None:
                return spoken[-1]
            await asyncio.sleep(0.01)


def shown(played: Played) -> list[str]:
    return [one.content for one in played.server.messages(played.channel) if one.webhook_id]


async def stored(played: Played) -> list[str]:
    return [turn.text for turn in await newest_turns(played.store, 1, 20) if turn.persona_id]


async def test_why_shows_memories_numbers_tokens_and_times(played: Played) -> None:
    reply = await replied(played)
    told = (await (await played.member.context_menu("Why this reply?", reply)).answer()).content
    assert told.startswith("**Why Mira said “The bridge is closed tonight.”**")
    assert "Answering: Alice: Mira, what of the bridge?" in told
    assert "Recall: balanced, weight of feeling 0.2." in told
    assert "**Tokens**" in told
    assert "scene and rules" in told
    assert "**Milliseconds**: recall" in told


async def test_why_is_told_only_of_replies(played: Played) -> None:
    said = await played.member.say(played.channel, "Good evening.")
    told = await (await played.member.context_menu("Why this reply?", said)).answer()
    assert "not a persona's reply" in told.content


async def test_who_was_answered_has_the_newest_reply_made_anew(played: Played) -> None:
    reply = await replied(played)
    stranger = played.server.add_member(played.guild, "Bert")
    told = await (await stranger.context_menu("Regenerate", reply)).answer()
    assert "game master" in told.content
    told = await (await played.member.context_menu("Regenerate", reply)).answer()
    assert told.content == "Mira thinks again."
    async with asyncio.timeout(30):
        while shown(played) != [REPLIES[1]] or await stored(played) != [REPLIES[1]]:
            await asyncio.sleep(0.01)
    first, second = (one for one in played.model.prompts if one.purpose == "reply")
    assert REPLIES[0] not in second.text
    assert second.messages[-1].content.endswith("Alice: Mira, what of the bridge?")
    assert first.messages[-1].content == second.messages[-1].content


async def test_an_older_reply_stays(played: Played) -> None:
    reply = await replied(played)
    await replied(played, "Mira, and the gate?", 2)
    told = await (await played.member.context_menu("Regenerate", reply)).answer()
    assert "gone on since" in told.content
    assert len(shown(played)) == 2


async def test_edited_words_replace_the_old_everywhere(played: Played) -> None:
    reply = await replied(played)
    told = await (await played.member.context_menu("Edit reply", reply)).answer()
    assert "game master" in told.content
    form = await (await played.moderator.context_menu("Edit reply", reply)).modal()
    done = await (await played.moderator.submit_modal(form, {"text": "The bridge burnt down."})).answer()
    assert "also in memory" in done.content
    assert shown(played) == ["The bridge burnt down."]
    assert await stored(played) == ["The bridge burnt down."]
    mira = await played.store.personas.named(played.guild.id, "Mira")
    assert mira is not None
    assert [sample.text for sample in await played.store.personas.samples(mira.id)] == []
    await replied(played, "Mira, say more.", 2)
    prompt = [one for one in played.model.prompts if one.purpose == "reply"][-1]
    assert "The bridge burnt down." in prompt.text
    assert REPLIES[0] not in prompt.text


async def test_a_deleted_reply_is_gone_from_channel_and_memory(played: Played) -> None:
    reply = await replied(played)
    more = await (await played.moderator.context_menu("More…", reply)).answer()
    assert "Said by a persona." in more.content
    done = await played.click(more, "Delete")
    assert "also from memory" in done.content
    assert shown(played) == []
    assert await stored(played) == []
    turn = await played.store.turns.by_message(reply.id)
    assert turn is not None
    assert await played.store.explanations.of_turn(turn.id) is None


async def test_a_moderator_sees_who_triggered_a_reply_and_a_member_does_not(played: Played) -> None:
    reply = await replied(played)
    more = await (await played.moderator.context_menu("More…", reply)).answer()
    told = (await played.click(more, "Who triggered this?")).content
    asked = next(one for one in played.server.messages(played.channel) if one.author.id == played.member.id)
    assert f"<@{played.member.id}> as Alice" in told
    assert f"/{played.channel.id}/{asked.id}" in told
    more = await (await played.member.context_menu("More…", reply)).answer()
    assert str(played.member.id) not in more.content
    with pytest.raises(ScriptError, match="Who triggered this"):
        await played.member.click(more, "Who triggered this?")


async def test_members_see_who_spoke_and_cannot_delete_or_pin(played: Played) -> None:
    reply = await replied(played)
    more = await (await played.member.context_menu("More…", reply)).answer()
    for label in ("Delete", "Pin"):
        with pytest.raises(ScriptError, match=label):
            await played.member.click(more, label)
    role = played.server.add_role(played.guild, "Storyteller")
    master = played.server.add_member(played.guild, "Gus", roles=[role])
    await played.ask("settings set", key="gm_roles", value=str(role.id))
    more = await (await master.context_menu("More…", reply)).answer()
    await played.ask("settings set", key="gm_roles", value="none")
    assert "game master" in (await (await master.click(more, "Delete")).answer()).content
    assert shown(played) == [REPLIES[0]]


async def test_a_message_is_pinned_from_its_menu(played: Played) -> None:
    said = await played.member.say(played.channel, "I am allergic to nuts.")
    async with asyncio.timeout(30):
        while await played.store.turns.by_message(said.id) is None:
            await asyncio.sleep(0.01)
    more = await (await played.moderator.context_menu("More…", said)).answer()
    assert f"Said by <@{played.member.id}>." in more.content
    assert "Pinned: Alice: I am allergic to nuts." in (await played.click(more, "Pin")).content
    await replied(played)
    prompt = next(one for one in played.model.prompts if one.purpose == "reply")
    assert "- Alice: I am allergic to nuts." in prompt.messages[0].content
