"""What members use: /alias, /memory, /mood, /settings, /help."""

from __future__ import annotations

import asyncio

from bot.core.types import Line
from cogs.permissions import RIGHTS
from tests.cogs.conftest import Stage
from tests.connected import eventually


async def use(stage: Stage, command: str, *, moderator: bool = False, **values: object) -> str:
    user = stage.moderator if moderator else stage.member
    answer = await (await user.slash(command, stage.channel, **values)).answer()
    assert answer.ephemeral
    return answer.content


async def test_alias_use_list_clear(stage: Stage) -> None:
    assert "Nobody" in await use(stage, "alias list")
    assert "**Fox**" in await use(stage, "alias use", name="Fox")
    assert f"**Fox** – <@{stage.member.id}>" in await use(stage, "alias list")
    assert "own name again" in await use(stage, "alias clear")
    assert "no alias" in await use(stage, "alias clear")
    assert "https://" in await use(stage, "alias use", name="Fox", avatar="http://x.org/a.png")


async def test_an_alias_may_not_be_a_present_members_name(stage: Stage) -> None:
    stage.troupe.live.add(stage.channel.id)
    bob = stage.server.add_member(stage.guild, "Bob", nick="Sir Bob")
    await bob.say(stage.channel, "Hail!")
    await stage.member.say(stage.channel, "Hello.")
    await eventually(lambda: len(stage.troupe.heard) == 2)
    assert "already called" in await use(stage, "alias use", name="ＳＩＲ bob")
    assert "**Alice**" in await use(stage, "alias use", name="Alice")


async def test_memory_search_shows_members_their_own_and_moderators_all(stage: Stage) -> None:
    stage.troupe.memories.add("the silver key lies in the well", owner_id=stage.member.id)
    stage.troupe.memories.add("the golden key is lost", speaker="Bob", owner_id=42)
    own = await use(stage, "memory search", query="key")
    assert "silver" in own
    assert "golden" not in own
    assert "golden" in await use(stage, "memory search", moderator=True, query="key")
    assert "nothing" in await use(stage, "memory search", query="dragon")


async def test_c09_a_slow_search_is_acknowledged_at_once(stage: Stage) -> None:
    stage.troupe.memories.gate = asyncio.Event()
    asked = await stage.member.slash("memory search", stage.channel, query="key")
    assert await asked.acked(2.0) == 5
    stage.troupe.memories.gate.set()
    assert "nothing" in (await asked.answer()).content


async def test_memory_forget_by_completion(stage: Stage) -> None:
    memory = stage.troupe.memories.add("the silver key", owner_id=stage.member.id)
    other = stage.troupe.memories.add("the golden key", owner_id=42)
    choices = await stage.member.autocomplete("memory forget", stage.channel, option="memory", value="key")
    assert [choice["value"] for choice in choices] == [str(memory.id)]
    assert await stage.member.autocomplete("memory forget", stage.channel, option="memory", value="") == []
    assert "forgotten" in await use(stage, "memory forget", memory=str(memory.id))
    assert "moderator" in await use(stage, "memory forget", memory=str(other.id))
    assert "number" in await use(stage, "memory forget", memory="the key")
    assert "forgotten" in await use(stage, "memory forget", moderator=True, memory=f"#{other.id}")
    assert stage.troupe.memories.forgotten[-1] == (other.id, stage.moderator.id, True)


async def test_memory_scratchpad_is_for_those_who_lead(stage: Stage) -> None:
    assert "no notes" in await use(stage, "memory scratchpad", moderator=True)
    stage.troupe.memories.lines = (Line("Promises", "Bob will return the key.", (1,)),)
    assert "**Promises**\n- Bob will return the key." in await use(stage, "memory scratchpad", moderator=True)
    assert "game master" in await use(stage, "memory scratchpad")


async def test_mood_shows_words_and_eight_numbers(stage: Stage) -> None:
    stage.troupe.personas.add(stage.guild.id, "Mira")
    shown = await use(stage, "mood show")
    assert "**Mira**: calm" in shown
    assert shown.count("1.0") == 8


async def test_settings_show_and_set_here_and_everywhere(stage: Stage) -> None:
    told = await use(stage, "settings set", moderator=True, key="reply_mode", value="always", here=True)
    assert "`reply_mode` is now `always` in this channel." in told
    told = await use(stage, "settings set", moderator=True, key="emotion_weight", value="0.3")
    assert "`0.3` everywhere here" in told
    assert stage.troupe.options.texts == {
        (stage.channel.id, "reply_mode"): "always",
        (0, "emotion_weight"): "0.3",
    }
    shown = await use(stage, "settings show", moderator=True)
    assert "`reply_mode` = `always` *(this channel)*" in shown
    assert "`emotion_weight` = `0.3` *(this server)*" in shown
    assert "✅ Language model: answers" in shown
    assert "There is no setting" in await use(
        stage, "settings set", moderator=True, key="nonsense", value="1"
    )


async def test_roles_are_shown_as_roles_with_advice(stage: Stage) -> None:
    role = stage.server.add_role(stage.guild, "Storyteller")
    told = await use(stage, "settings set", moderator=True, key="gm_roles", value=f"<@&{role.id}>")
    assert f"<@&{role.id}>" in told
    assert "Integrations" in told


async def test_settings_complete_keys_and_values(stage: Stage) -> None:
    keys = await stage.moderator.autocomplete("settings set", stage.channel, option="key", value="reply")
    assert [choice["value"] for choice in keys] == ["reply_mode"]
    values = await stage.moderator.autocomplete(
        "settings set", stage.channel, option="value", value="", key="reply_mode"
    )
    assert {"always", "off", "default"} <= {choice["value"] for choice in values}


async def test_help_names_every_command(stage: Stage) -> None:
    text = await use(stage, "help")
    assert all(f"`/{name}`" in text for name in RIGHTS)
    assert "Integrations" in text  # where an admin shows what Discord hides from plain members at first
    assert len(text) <= 2000  # one message


async def test_every_command_that_exists_has_a_right(stage: Stage) -> None:
    named = {
        command.qualified_name
        for command in stage.client.tree.walk_commands()
        if not getattr(command, "commands", None)
    }
    assert named == set(RIGHTS)
