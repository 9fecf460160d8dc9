"""Every other command of a bot in its own process: who may, what it says, what it changes."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import pytest

from tests.discord_server import Channel, Permission
from tests.discord_server.models import Overwrite
from tests.e2e.bot_process import Table, eventually, plain, window

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_joining_a_guild_says_the_first_steps(table: Table) -> None:
    (hello,) = table.stage.discord.messages(table.channel("lobby"))
    assert "/scene start" in hello.content
    assert "remembered" in hello.content


async def test_without_a_scene_nothing_is_stored_and_one_notice_tells_how_to_begin(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await anna.say(inn, "A secret between us: rhubarb.")
    asked = await anna.say(inn, f"<@{table.stage.discord.bot_user_id}> are you there?")
    await anna.say(inn, f"<@{table.stage.discord.bot_user_id}> hello?")
    hint = await table.note(inn, "/scene start")
    assert hint.reference is not None
    assert hint.reference["message_id"] == str(asked.id)
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await table.talk(anna, inn, "Mira, good evening!", "Mira")
    assert "rhubarb" not in table.prompts()[-1].text
    assert table.stage.stored("SELECT text FROM turns WHERE place_id = ? AND persona_id IS NULL", inn.id) == [
        ("Mira, good evening!",)
    ]
    hints = [
        one for one in table.stage.discord.messages(inn) if "There is no active scene here" in one.content
    ]
    assert len(hints) == 1


async def test_pause_resume_and_end(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    table.stage.model.set_script("reply", plain)
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    assert "paused" in await table.use("scene pause", inn)
    await anna.say(inn, "Mira, nobody shall know about the turnip.")
    await anna.say(inn, f"<@{table.stage.discord.bot_user_id}> the turnip!")
    await table.note(inn, "paused")
    assert "goes on" in await table.use("scene resume", inn)
    await table.talk(anna, inn, "Mira, where were we?", "Mira")
    assert len(table.prompts()) == 1
    assert "turnip" not in table.prompts()[-1].text
    assert "ended" in await table.use("scene end", inn)
    await anna.say(inn, "Mira, one more parsnip?")
    await anna.say(inn, f"<@{table.stage.discord.bot_user_id}> hello?")
    await table.note(inn, "There is no active scene here")
    assert "Feast" in await table.use("scene list", inn)
    assert "no active scene" in await table.use("scene show", inn)
    assert len(table.prompts()) == 1
    words = "text LIKE '%turnip%' OR text LIKE '%parsnip%'"
    assert not table.stage.stored(f"SELECT text FROM turns WHERE {words}")


async def test_a_second_persona_joins_answers_and_leaves(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn)
    await table.persona("Old Bram", inn, greeting="*grunts*")
    await table.scene("Feast", inn, persona="Mira")
    assert "Bram" in await table.use("scene cast add", inn, persona="old bram")
    hello = await table.stage.discord.wait_for_message(inn, lambda one: one.author_name == "Old Bram")
    assert hello.content == "*grunts*"
    answer = await table.talk(anna, inn, "Bram, and what do you say, Mira?", "Old Bram")
    answer = await table.reply_to(await anna.say(inn, "And why?", reply_to=answer), "Old Bram")
    shown = await table.use("scene show", inn)
    assert "Mira, Old Bram" in shown
    assert "left" in await table.use("scene cast remove", inn, persona="Old Bram")
    await anna.say(inn, "Come back!", reply_to=answer)
    await table.note(inn, "no longer in this scene")
    await table.talk(anna, inn, "Mira, he is gone.", "Mira")
    assert [one.author_name for one in table.spoken(inn)] == ["Old Bram", "Old Bram", "Old Bram", "Mira"]


async def test_aliases_hold_until_cleared_and_cannot_be_somebody_else(table: Table) -> None:
    inn, anna, ben = table.channel(), table.member("Anna"), table.member("Ben")
    table.stage.model.set_script("reply", plain)
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await ben.say(inn, "I am here too.")
    await table.talk(ben, inn, "Mira, this is me.", "Mira")
    assert "persona" in await table.use("alias use", inn, anna, name="mira")
    assert "already called" in await table.use("alias use", inn, anna, name="ＢＥＮ")
    assert "Captain Rook" in await table.use("alias use", inn, anna, name="Captain Rook")
    assert "Captain Rook" in await table.use("alias list", inn, ben)
    await table.talk(anna, inn, "Mira, land ahoy!", "Mira")
    assert "Captain Rook: Mira, land ahoy!" in window(table.prompts()[-1])
    await table.use("alias clear", inn, anna)
    await table.talk(anna, inn, "Mira, it is only me.", "Mira")
    assert "Anna: Mira, it is only me." in window(table.prompts()[-1])
    assert "Captain Rook: Mira, land ahoy!" in window(table.prompts()[-1])


async def test_personas_are_listed_shown_renamed_and_deleted(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn, description="A baker with flour on her nose.")
    await table.scene("Feast", inn)
    assert "Mira" in await table.use("persona list", inn, table.moderator)
    assert "flour on her nose" in await table.use("persona show", inn, persona="Mira")
    form = await table.moderator.slash("persona edit", inn, persona="Mira")
    modal = await form.modal()
    assert modal.fields["description"]["value"] == "A baker with flour on her nose."
    values = {name: field.get("value") or "" for name, field in modal.fields.items()}
    await (await table.moderator.submit_modal(modal, {**values, "name": "Selma"})).answer()
    await table.talk(anna, inn, "Selma, a new name?", "Selma")
    assert "Formerly: Mira" in table.prompts()[-1].messages[0][1]
    question = await table.moderator.slash("persona delete", inn, persona="Selma")
    message = await question.answer()
    button = next(
        item for row in message.components for item in row.get("components", [row]) if item["type"] == 2
    )
    await (await table.moderator.click(message, button["custom_id"])).acked()
    query = "SELECT name FROM personas WHERE space_id = ?"
    await eventually(lambda: not table.stage.stored(query, table.guild.id), "Selma is deleted")


async def test_members_search_and_forget_only_what_is_their_own(table: Table) -> None:
    inn, anna, ben = table.channel(), table.member("Anna"), table.member("Ben")
    table.stage.model.set_script("reply", plain)
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await anna.say(inn, "The cheese is hidden in the clock.")
    await ben.say(inn, "The cheese belongs to my aunt.")
    await table.talk(anna, inn, "Mira, do you like it?", "Mira")
    found = await table.use("memory search", inn, query="cheese")
    assert "hidden in the clock" in found
    assert "my aunt" in found
    own = await table.use("memory search", inn, anna, query="cheese")
    assert "hidden in the clock" in own
    assert "my aunt" not in own
    number, others = (
        next(line for line in found.splitlines() if word in line).split("`")[1] for word in ("clock", "aunt")
    )
    assert "what you said yourself" in await table.use("memory forget", inn, anna, memory=others)
    choices = await anna.autocomplete("memory forget", inn, option="memory", value="the clock")
    assert choices[0]["value"] == number
    assert "aunt" not in str(choices)
    assert "forgotten" in await table.use("memory forget", inn, anna, memory=number)
    assert "clock" not in await table.use("memory search", inn, query="cheese")
    await table.talk(anna, inn, "Mira, do you remember?", "Mira")
    assert "clock" not in table.prompts()[-1].text
    assert "my aunt" in window(table.prompts()[-1])


async def test_moods_settings_and_help_are_shown(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    assert "/persona create" in await table.use("help", inn, anna)
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await table.talk(anna, inn, "Mira, I am so happy to see you!", "Mira")
    mood = await table.use("mood show", inn, anna, persona="Mira")
    assert "Mira" in mood
    assert "joy" in mood
    shown = await table.use("settings show", inn)
    assert "`reply_mode` = `named`" in shown
    assert "scripted" in shown
    assert "✅ language model" in shown


async def test_reply_modes_hold_for_the_guild_or_one_channel(table: Table) -> None:
    inn, yard, anna = table.channel("inn"), table.channel("yard"), table.member("Anna")
    await table.persona("Mira", inn)
    for place in (inn, yard):
        await table.scene("Feast", place)
    assert "always" in await table.use("settings set", inn, key="reply_mode", value="always")
    await table.use("settings set", yard, key="reply_mode", value="off", here=True)
    await table.talk(anna, inn, "Nobody is named here.", "Mira")
    await anna.say(yard, f"<@{table.stage.discord.bot_user_id}> hello?")
    await table.note(yard, "switched off")
    assert "is one of" in await table.use("settings set", inn, key="reply_mode", value="sometimes")
    await table.use("settings set", yard, key="reply_mode", value="mention", here=True)
    await anna.say(yard, "Mira, I only name you.")
    await table.talk(anna, yard, f"<@{table.stage.discord.bot_user_id}> I mention you.", "Mira")
    assert len(table.spoken(yard)) == 1
    await table.use("settings set", yard, key="reply_mode", value="default", here=True)
    await table.talk(anna, yard, "As everywhere.", "Mira")


async def test_plain_members_are_refused_and_game_masters_let_in(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    masters = table.stage.discord.add_role(table.guild, "Masters")
    gwen = table.member("Gwen", roles=[masters])
    await table.persona("Mira", inn)
    await table.use("settings set", inn, key="gm_roles", value=f"<@&{masters.id}>")
    for command, values in (
        ("scene start", {"name": "Mine"}),
        ("scene pause", {}),
        ("persona create", {}),
        ("settings show", {}),
        ("settings set", {"key": "reply_mode", "value": "off"}),
    ):
        told = await table.use(command, inn, anna, ignore_defaults=True, **values)
        assert "Please ask one." in told, command
    assert "Please ask one." in await table.use("memory scratchpad", inn, anna)
    assert "has begun" in await table.use("scene start", inn, gwen, ignore_defaults=True, name="Hers")
    told = await table.use("settings set", inn, gwen, ignore_defaults=True, key="reply_mode", value="off")
    assert "a moderator" in told


async def test_names_complete(table: Table) -> None:
    inn = table.channel()
    for name in ("Mira", "Miroslav", "Bram"):
        await table.persona(name, inn)
    await table.scene("Feast", inn, persona="Mira")
    asked = table.moderator.autocomplete
    assert await _names(asked("scene start", inn, option="persona", value="mir")) == {"Mira", "Miroslav"}
    assert await _names(asked("scene cast remove", inn, option="persona")) == {"Mira"}
    assert await _names(asked("scene switch", inn, option="scene")) == {"Feast"}
    assert await _names(asked("settings set", inn, option="key", value="reply")) == {"reply_mode"}
    assert "always" in await _names(asked("settings set", inn, option="value", key="reply_mode"))


async def _names(offered: Awaitable[list[dict[str, Any]]]) -> set[str]:
    return {choice["name"] for choice in await offered}


async def test_missing_permissions_are_named_with_the_channel(table: Table) -> None:
    await table.persona("Mira", table.channel())
    mute = _denied(table, "mute", Permission.SEND_MESSAGES)
    told = await table.scene("Feast", mute)
    assert "Send Messages" in told
    assert f"<#{mute.id}>" in told
    assert "no active scene" in await table.use("scene show", mute)
    hookless = _denied(table, "hookless", Permission.MANAGE_WEBHOOKS)
    told = await table.scene("Feast", hookless)
    assert "has begun" in told
    assert "**Manage Webhooks**" in told
    assert f"<#{hookless.id}>" in told


def _denied(table: Table, name: str, permission: Permission) -> Channel:
    denied = Overwrite(table.stage.discord.bot_user_id, 1, deny=int(permission))
    return table.channel(name, overwrites=[denied])


async def test_where_and_when_it_plays_can_be_set(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    told = await table.use("scene set", inn, location="The attic", situation="Mice everywhere", time="dawn")
    assert "The attic" in told
    await table.talk(anna, inn, "Mira, do you see them?", "Mira")
    system = table.prompts()[-1].messages[0][1]
    assert "Place: The attic" in system
    assert "Situation: Mice everywhere" in system
    assert "Time: dawn" in system
