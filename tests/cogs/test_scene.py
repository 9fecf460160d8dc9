"""/scene, used as a moderator or game master uses it in Discord."""

from __future__ import annotations

import pytest

from bot.errors import StorageError
from tests.cogs.conftest import Stage
from tests.discord_server import Channel, Permission
from tests.discord_server.models import Overwrite


def denied(stage: Stage, permissions: int) -> Channel:
    """A channel where the bot lacks these."""
    overwrite = Overwrite(id=stage.server.bot_user_id, kind=1, deny=int(permissions))
    return stage.server.add_channel(stage.guild, "closed", overwrites=[overwrite])


async def test_start_tells_the_channel_first_and_names_who_joins(stage: Stage) -> None:
    mira = stage.troupe.personas.add(stage.guild.id, "Mira")
    asked = await stage.moderator.slash(
        "scene start", stage.channel, name="Feast", persona="mira", location="The hall"
    )
    answer = await asked.answer()
    assert answer.ephemeral
    assert "Feast" in answer.content
    assert "Mira" in answer.content
    notices = [message for message in stage.server.messages(stage.channel) if not message.ephemeral]
    (notice,) = notices
    assert "remembered" in notice.content
    assert notice.author.id == stage.server.bot_user_id
    (scene,) = stage.troupe.scenes.kept
    assert (scene.location, scene.cast) == ("The hall", (mira.id,))
    assert stage.troupe.scenes.after == [notice.id]


async def test_start_without_a_persona_says_what_to_do_next(stage: Stage) -> None:
    answer = await (await stage.moderator.slash("scene start", stage.channel, name="Feast")).answer()
    assert "Nobody is here yet." in answer.content


async def test_a_refused_start_takes_its_notice_back(stage: Stage) -> None:
    answer = await (await stage.moderator.slash("scene start", stage.channel, name="refused")).answer()
    assert answer.content == "No such scene may begin."
    assert [message for message in stage.server.messages(stage.channel) if not message.ephemeral] == []


@pytest.mark.logs_exceptions
async def test_a_database_that_takes_nothing_is_told_calmly(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise StorageError("The disk is full. Free some space.")

    monkeypatch.setattr(stage.troupe.scenes, "start", refuse)
    answer = await (await stage.moderator.slash("scene start", stage.channel, name="Feast")).answer()
    assert answer.content.startswith("I cannot read or write my memory just now")
    assert any("Free some space." in record.message for record in caplog.records)


async def test_c08_start_names_the_missing_permissions_and_the_channel(stage: Stage) -> None:
    channel = denied(stage, Permission.SEND_MESSAGES | Permission.MANAGE_WEBHOOKS)
    answer = await (await stage.moderator.slash("scene start", channel, name="Feast")).answer()
    assert "Send Messages, Manage Webhooks" in answer.content
    assert f"<#{channel.id}>" in answer.content
    assert stage.troupe.scenes.kept == []


async def test_c08_start_goes_on_without_webhooks_but_says_so(stage: Stage) -> None:
    channel = denied(stage, Permission.MANAGE_WEBHOOKS | Permission.READ_MESSAGE_HISTORY)
    answer = await (await stage.moderator.slash("scene start", channel, name="Feast")).answer()
    assert "**Manage Webhooks, Read Message History**" in answer.content
    assert f"<#{channel.id}>" in answer.content
    assert stage.troupe.scenes.kept


async def test_in_a_thread_the_thread_permission_counts(stage: Stage) -> None:
    channel = denied(stage, Permission.SEND_MESSAGES_IN_THREADS)
    thread = await stage.moderator.create_thread(channel, "Cellar")
    answer = await (await stage.moderator.slash("scene start", thread, name="Feast")).answer()
    assert "Send Messages in Threads" in answer.content


async def test_c05_start_tells_the_true_reason_when_webhooks_are_full(stage: Stage) -> None:
    for number in range(15):
        stage.server.add_webhook(stage.channel, f"hook {number}")
    answer = await (await stage.moderator.slash("scene start", stage.channel, name="Feast")).answer()
    assert "15 a channel" in answer.content
    assert stage.troupe.scenes.kept
    stage.server.take_violations()


async def test_switch_by_completion_and_by_name(stage: Stage) -> None:
    for name in ("Feast", "Storm"):
        await (await stage.moderator.slash("scene start", stage.channel, name=name)).answer()
    choices = await stage.moderator.autocomplete("scene switch", stage.channel, option="scene", value="fe")
    assert [choice["name"] for choice in choices] == ["Feast"]
    asked = await stage.moderator.slash("scene switch", stage.channel, scene=choices[0]["value"])
    assert "Feast" in (await asked.answer()).content
    asked = await stage.moderator.slash("scene switch", stage.channel, scene="STORM")
    assert "Storm" in (await asked.answer()).content
    asked = await stage.moderator.slash("scene switch", stage.channel, scene="Flood")
    assert "“Storm”, “Feast”" in (await asked.answer()).content


async def test_a_long_location_is_cut_in_the_list(stage: Stage) -> None:
    asked = await stage.moderator.slash("scene start", stage.channel, name="Feast", location="far " * 200)
    await asked.answer()
    told = (await (await stage.moderator.slash("scene list", stage.channel)).answer()).content
    assert len(told) < 130
    assert "…)" in told


async def test_the_life_of_a_scene(stage: Stage) -> None:
    mira = stage.troupe.personas.add(stage.guild.id, "Mira")

    async def use(command: str, **values: str) -> str:
        return (await (await stage.moderator.slash(command, stage.channel, **values)).answer()).content

    assert "/scene start" in await use("scene list")
    assert "/scene start" in await use("scene show")
    await use("scene start", name="Feast")
    assert "**active**" in await use("scene list")
    assert "Where: The hall" in await use("scene set", location="The hall", time="midnight")
    assert "Mira" in await use("scene cast add", persona="Mira")
    shown = await use("scene show")
    assert "Cast: Mira" in shown
    assert "When: midnight" in shown
    choices = await stage.moderator.autocomplete(
        "scene cast remove", stage.channel, option="persona", value=""
    )
    assert [choice["value"] for choice in choices] == ["Mira"]
    assert "has left" in await use("scene cast remove", persona="Mira")
    assert "paused" in await use("scene pause")
    assert "still paused" in await use("scene switch", scene="Feast")
    assert "goes on" in await use("scene resume")
    assert "has ended" in await use("scene end")
    told = await use("scene switch", scene="Feast")
    assert "remembered" in told
    assert "waits" not in told  # there was no other scene
    await use("scene start", name="Storm")
    assert "“Storm” waits" in await use("scene switch", scene="Feast")
    assert "has ended" in await use("scene end")
    assert "no active scene" in await use("scene end")
    assert mira.id in stage.troupe.personas.kept


@pytest.mark.parametrize("command", ["scene pause", "scene resume", "scene end", "scene set"])
async def test_a_plain_member_may_not_change_scenes(stage: Stage, command: str) -> None:
    await (await stage.moderator.slash("scene start", stage.channel, name="Feast")).answer()
    asked = await stage.member.slash(command, stage.channel, ignore_defaults=True)
    assert "game master" in (await asked.answer()).content
    assert stage.troupe.scenes.kept[0].active
    assert not stage.troupe.scenes.kept[0].paused


async def test_a_game_master_may_use_scenes_but_not_personas(stage: Stage) -> None:
    role = stage.server.add_role(stage.guild, "Storyteller")
    master = stage.server.add_member(stage.guild, "Gil", roles=[role])
    stage.troupe.options.texts[(0, "gm_roles")] = str(role.id)
    asked = await master.slash("scene start", stage.channel, ignore_defaults=True, name="Feast")
    assert "Feast" in (await asked.answer()).content
    refused = await master.slash("persona create", stage.channel, ignore_defaults=True)
    assert "moderator" in (await refused.answer()).content


async def test_discord_itself_hides_the_commands_of_moderators(stage: Stage) -> None:
    hidden = {
        command["name"]
        for command in stage.server.commands[None].values()
        if command["default_member_permissions"] is not None
    }
    assert hidden == {"lore", "persona", "scene", "settings"}
