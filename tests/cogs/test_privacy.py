"""/privacy on the loopback Discord: counted, confirmed, private, in servers and direct messages."""

from __future__ import annotations

import asyncio
import io
import json
import secrets
import zipfile

import pytest

from bot.core.privacy import Owned
from cogs import privacy_words as words
from cogs.export_file import zipped
from tests.cogs.conftest import Stage
from tests.connected import connected, eventually
from tests.discord_server.models import Message

KEPT = Owned(turns=1234, replies=40, aliases=2, memories=5, notes=6, samples=1, space_ids=(9, 10))


async def use(stage: Stage, command: str, **values: object) -> str:
    answer = await (await stage.member.slash(command, stage.channel, **values)).answer()
    assert answer.ephemeral
    return answer.content


def announced(stage: Stage) -> Message:
    (notice,) = [one for one in stage.server.messages(stage.channel) if "is remembered" in one.content]
    return notice


async def about(stage: Stage) -> str:
    asked = await stage.member.slash("privacy about", stage.channel)
    first = await asked.answer()
    await eventually(lambda: len(first.content) < 1900 or len(asked.messages) > 1)
    assert all(message.ephemeral for message in asked.messages)
    return "\n".join(message.content for message in asked.messages)


async def test_forget_me_shows_what_goes_and_waits_for_the_button(stage: Stage) -> None:
    stage.troupe.privacy.kept = KEPT
    shown = await (await stage.member.slash("privacy forget-me", stage.channel)).answer()
    assert shown.ephemeral
    for part in ("1,234 messages", "40 answers", "2 aliases", "2 servers"):
        assert part in shown.content
    assert stage.troupe.privacy.forgotten == []
    done = await (await stage.member.click(shown, "Erase everything")).answer()
    assert done.ephemeral
    assert done.content == words.FORGOTTEN
    assert stage.troupe.privacy.forgotten == [(stage.member.id, 0)]


async def test_forget_me_erases_once_however_often_it_is_pressed(stage: Stage) -> None:
    stage.troupe.privacy.kept = KEPT
    stage.troupe.privacy.gate = asyncio.Event()
    shown = await (await stage.member.slash("privacy forget-me", stage.channel)).answer()
    first = await stage.member.click(shown, "Erase everything")
    again = await (await stage.member.click(shown, "Erase everything")).answer()
    assert "already" in again.content
    stage.troupe.privacy.gate.set()
    assert (await first.answer()).content == words.FORGOTTEN
    assert len(stage.troupe.privacy.forgotten) == 1


async def test_forget_me_can_be_given_up(stage: Stage) -> None:
    stage.troupe.privacy.kept = KEPT
    shown = await (await stage.member.slash("privacy forget-me", stage.channel)).answer()
    await (await stage.member.click(shown, "Keep it")).answer()
    assert stage.troupe.privacy.forgotten == []


async def test_forget_me_of_an_unknown_member_needs_no_button(stage: Stage) -> None:
    assert await use(stage, "privacy forget-me") == words.NOTHING


async def test_forget_me_in_a_direct_message_takes_the_direct_message(stage: Stage) -> None:
    direct = stage.server.dm(stage.member)
    shown = await (await stage.member.slash("privacy forget-me", direct)).answer()
    done = await (await stage.member.click(shown, "Erase everything")).answer()
    assert done.content == words.FORGOTTEN
    assert stage.troupe.privacy.forgotten == [(stage.member.id, direct.id)]


async def test_a_forgotten_members_name_is_let_go_of(stage: Stage) -> None:
    stage.troupe.live.add(stage.channel.id)
    bob = stage.server.add_member(stage.guild, "Bob")
    await bob.say(stage.channel, "Hail!")
    await eventually(lambda: stage.troupe.heard)
    assert "already called" in await use(stage, "alias use", name="Bob")
    await stage.troupe.privacy.forget(bob.id)
    assert "**Bob**" in await use(stage, "alias use", name="Bob")


async def test_opt_out_and_in(stage: Stage) -> None:
    assert await use(stage, "privacy opt-out") == words.OPTED_OUT
    assert await use(stage, "privacy opt-out") == words.OPTED_OUT_ALREADY
    assert await use(stage, "alias use", name="Fox") == words.ALIAS_NEEDS_MEMORY
    assert await use(stage, "privacy opt-in") == words.OPTED_IN
    assert await use(stage, "privacy opt-in") == words.OPTED_IN_ALREADY


async def test_about_tells_what_holds_in_this_server(stage: Stage) -> None:
    assert await use(stage, "privacy about") == words.ABOUT
    for key, value in (("retention_days", "90"), ("privacy_notice", "Ask Mona about @everyone.")):
        await (await stage.moderator.slash("settings set", stage.channel, key=key, value=value)).answer()
    text = await about(stage)
    assert "after 90 days" in text
    assert "Ask Mona about @everyone." in text


async def test_the_export_is_a_readable_zip_for_the_asker_alone(stage: Stage) -> None:
    stage.troupe.privacy.exported = {"what_you_said": [{"text": "Olá, 世界"}], "your_aliases": []}
    stage.troupe.privacy.out.add(stage.member.id)
    answer = await (await stage.member.slash("privacy export", stage.channel)).answer()
    assert answer.ephemeral
    (attachment,) = answer.attachments
    with zipfile.ZipFile(io.BytesIO(attachment.content)) as archive:
        assert set(archive.namelist()) == {"README.txt", "opt_out.json", "what_you_said.json"}
        assert json.loads(archive.read("what_you_said.json")) == [{"text": "Olá, 世界"}]
        assert json.loads(archive.read("opt_out.json")) == {"opted_out": True}
        assert "世界" in archive.read("what_you_said.json").decode()


def test_a_large_export_comes_in_several_files_that_lose_nothing() -> None:
    records = [{"id": number, "text": secrets.token_hex(400)} for number in range(5000)]
    archives = zipped({"what_you_said": records}, opted_out=False, largest=1_000_000)
    assert len(archives) > 1
    found: list[dict[str, object]] = []
    for data in archives:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in sorted(archive.namelist()):
                if name.startswith("what_you_said"):
                    found += json.loads(archive.read(name))
    assert found == records


@pytest.mark.parametrize("own", ["", "Our rules are pinned."])
async def test_a_scene_says_once_that_it_is_remembered_with_buttons(stage: Stage, own: str) -> None:
    if own:
        values = {"key": "privacy_notice", "value": own}
        await (await stage.moderator.slash("settings set", stage.channel, **values)).answer()
    await (await stage.moderator.slash("scene start", stage.channel, name="Feast")).answer()
    notice = announced(stage)
    assert own in notice.content
    out = await (await stage.member.click(notice, "Opt out")).answer()
    assert out.ephemeral
    assert out.content == words.OPTED_OUT
    assert stage.troupe.privacy.out == {stage.member.id}
    more = await (await stage.member.click(notice, "More")).answer()
    assert more.ephemeral
    assert more.content.startswith("**What I keep**")


async def test_the_buttons_work_after_a_restart(stage: Stage) -> None:
    await (await stage.moderator.slash("scene start", stage.channel, name="Feast")).answer()
    notice = announced(stage)
    await stage.client.stop()
    stage.troupe.starts = 0
    async with connected(stage.server, stage.troupe):
        answer = await (await stage.member.click(notice, "Opt out")).answer()
        assert answer.content == words.OPTED_OUT


async def test_servers_and_channels_that_go_are_told_to_the_engine(stage: Stage) -> None:
    await eventually(lambda: stage.troupe.retention.present == [stage.guild.id])
    thread = stage.server.add_thread(stage.channel, "corner")
    spare = stage.server.add_channel(stage.guild, "spare")
    stage.server.delete_channel(thread)
    stage.server.delete_channel(spare)
    await eventually(lambda: len(stage.troupe.retention.told) == 2)
    assert stage.troupe.retention.told == [("channel", thread.id), ("channel", spare.id)]
    stage.server.kick_bot(stage.guild)
    await eventually(lambda: len(stage.troupe.retention.told) > 2)
    assert stage.troupe.retention.told[2] == ("left", stage.guild.id)
