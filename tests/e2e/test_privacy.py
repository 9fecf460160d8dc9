"""/privacy, links and secrets on the bot in its own process, with the real encoder, database and index."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.discord_server import Channel, Permission, ScriptedUser
from tests.e2e.bot_process import ANSWER_S, Stage, Table, eventually, notes, plain, rewriting, stage
from tests.model_server import Fail

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]

SOME_MORE = "of nets that dry in the sun, of gulls and of a boat that came home late and empty."
KEY = "sk-secret-of-the-language-model"


def bytes_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file that the bot keeps."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def holding(stage: Stage, *words: str) -> list[str]:
    """The files of the data folder that hold one of these words."""
    found = dict(bytes_of(stage.bot.folder))
    return [name for name, content in found.items() if any(word.encode() in content for word in words)]


async def indexed(table: Table) -> None:
    """Every memory of this guild has its vectors."""
    query = "SELECT count(*) FROM memories WHERE indexed_by IS NULL AND space_id = ?"
    await eventually(lambda: table.stage.stored(query, table.guild.id) == [(0,)], "the index", 60)


async def filled(table: Table, channel: Channel, who: ScriptedUser, count: int = 24) -> None:
    """So much talk that the window shows nothing of what was said before."""
    last = None
    for number in range(count):
        last = await who.say(
            channel, f"Song {number} tells of ships and of the wind behind the old harbour wall, {SOME_MORE}"
        )
    assert last is not None
    said = "SELECT 1 FROM turn_messages WHERE message_id = ?"
    await eventually(lambda: table.stage.stored(said, last.id), "the talk is stored")


async def test_forget_me_leaves_no_byte_and_export_tells_everything_before(table: Table) -> None:
    run, inn, anna = table.stage, table.channel(), table.member("Zanthippe")
    ben = table.member("Ben")
    run.model.set_script("reply", plain)
    run.model.set_script("memory", rewriting({"xylograph": "Zanthippe owns a xylograph."}))
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await table.use("alias use", inn, anna, name="Lady Quillfeather")
    await table.talk(anna, inn, "Mira, my xylograph hangs above the hearth.", "Mira")
    for number in range(10):
        await ben.say(inn, f"Cup {number} is empty.")
    lines = "SELECT 1 FROM scratchpad_lines WHERE text LIKE '%xylograph%'"
    await eventually(lambda: run.stored(lines), "the notes", 60)
    await indexed(table)
    asked = await anna.slash("privacy export", inn)
    answer = await asked.answer(ANSWER_S)
    assert answer.ephemeral
    with zipfile.ZipFile(io.BytesIO(answer.attachments[0].content)) as archive:
        export = {name: archive.read(name).decode() for name in archive.namelist()}
    assert "xylograph hangs" in export["what_you_said.json"]
    assert "xylograph" in export["notes_that_come_from_or_name_you.json"]
    assert "Lady Quillfeather" in export["your_aliases.json"]
    assert json.loads(export["opt_out.json"]) == {"opted_out": False}
    assert "Cup 3" not in "".join(export.values())
    shown = await (await anna.slash("privacy forget-me", inn)).answer(ANSWER_S)
    done = await (await anna.click(shown, "Erase everything")).answer(60)
    assert done.ephemeral
    marks = ("xylograph", "Zanthippe", "Quillfeather", str(anna.id))
    assert holding(run, *marks) == []  # at the moment of the answer
    assert run.stored("SELECT count(*) FROM turns WHERE text LIKE 'Cup %'")[0][0] == 10
    await table.talk(ben, inn, "Mira, what hangs above the hearth?", "Mira")
    assert "xylograph" not in table.prompts()[-1].text
    await run.again()
    assert holding(run, *marks) == []


async def test_an_opted_out_member_is_answered_and_never_written_also_after_a_restart(table: Table) -> None:
    run, inn, anna = table.stage, table.channel(), table.member("Anna")
    run.model.set_script("reply", plain)
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await table.use("privacy opt-out", inn, anna)
    await table.talk(anna, inn, "Mira, my quernstone is broken.", "Mira")
    assert "quernstone" in table.prompts()[-1].text
    assert holding(run, "quernstone") == []
    await run.again()
    run.model.set_script("reply", plain)
    await table.talk(anna, inn, "Mira, where do I mend the quernstone?", "Mira")
    assert holding(run, "quernstone") == []
    export = await (await anna.slash("privacy export", inn)).answer(ANSWER_S)
    with zipfile.ZipFile(io.BytesIO(export.attachments[0].content)) as archive:
        assert json.loads(archive.read("opt_out.json")) == {"opted_out": True}
        assert "what_you_said.json" not in archive.namelist() or b"quernstone" not in archive.read(
            "what_you_said.json"
        )
    await table.use("privacy opt-in", inn, anna)
    await table.talk(anna, inn, "Mira, the windlass turns again.", "Mira")
    await eventually(
        lambda: run.stored("SELECT 1 FROM turns WHERE text LIKE '%windlass%'"), "what is said is kept again"
    )


async def test_c33_linked_channels_share_memories_one_way_until_the_source_is_private(table: Table) -> None:
    run, anna = table.stage, table.member("Anna")
    inn, cellar, yard = table.channel("inn"), table.channel("cellar"), table.channel("yard")
    run.model.set_script("reply", plain)
    await table.persona("Mira", inn)
    for channel in (inn, cellar, yard):
        await table.scene("Feast", channel)
    await table.talk(anna, inn, "Mira, the smuggler's lantern is painted green.", "Mira")
    await filled(table, inn, anna)
    await indexed(table)
    question = "Mira, which colour has the smuggler's lantern?"
    assert "may come up here now" in await table.use("scene share", cellar, options={"channel": inn})
    for channel, known in ((cellar, True), (yard, False)):
        await table.talk(anna, channel, question, "Mira")
        assert ("green" in notes(table.prompts()[-1])) is known
    await run.again()
    run.model.set_script("reply", plain)
    await table.talk(anna, cellar, f"{question} Once more!", "Mira")
    assert "green" in notes(table.prompts()[-1])
    run.discord.set_overwrite(inn, table.guild.roles[table.guild.id], deny=Permission.VIEW_CHANNEL)
    await table.talk(anna, cellar, f"{question} Please!", "Mira")
    assert "green" not in table.prompts()[-1].text
    assert f"memories of <#{inn.id}> feed this channel – *rests" in await table.use("settings show", cellar)


async def test_token_and_key_are_in_no_log_no_file_and_no_answer(tmp_path: Path) -> None:
    async with stage(tmp_path, env={"LLM_API_KEY": KEY, "LOG_LEVEL": "debug"}) as run:
        table = await Table.lay(run, "Harbour")
        inn, anna = table.channel(), table.member("Anna")
        await table.persona("Mira", inn)
        await table.scene("Feast", inn)
        await table.talk(anna, inn, "Mira, good evening.", "Mira")
        assert run.model.requests[-1].headers["authorization"] == f"Bearer {KEY}"  # so it was really in use
        run.model.set_script("reply", Fail(401, f"Incorrect API key provided: {KEY}"))
        await anna.say(inn, "Mira, what is the key?")
        await table.note(inn, "misconfigured")
        export = await (await anna.slash("privacy export", inn)).answer(ANSWER_S)
        settings = await table.use("settings show", inn)
        log = await table.use("settings log", inn)
        said = "\n".join(message.content for message in run.discord.messages(inn))
        with zipfile.ZipFile(io.BytesIO(export.attachments[0].content)) as archive:
            exported = b"".join(archive.read(name) for name in archive.namelist()).decode()
        assert await run.bot.terminate() == 0
        for secret in (KEY, run.discord.token):
            for text in (run.bot.output, said, settings, log, exported):
                assert secret not in text
            assert holding(run, secret) == []
