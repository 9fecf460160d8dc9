"""The console as its users run it: a process, lines in, replies out, remembered at the next start."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from bot.bundled_personas import FIRST, bundled_personas
from bot.console import Choice
from bot.console_commands import parsed
from tests.model_server import Fail, ModelServer, Say
from tests.model_server.server import RecordedRequest

PATIENCE_S = 100
pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def server_answers() -> dict[str, str]:
    """What the persona says to a line that holds these words."""
    return {"weather": "Rain, and more behind it.", "key": "Under the third stone, where you left it."}


async def talk(
    root: Path, folder: Path, lines: str, model: ModelServer | None, *arguments: str
) -> tuple[int, str, str]:
    """Run the console on these lines; exit code, replies and everything else it said."""
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(root),
        "HF_HUB_OFFLINE": "1",
        "DATA_DIR": str(folder),
    }
    if model is not None:
        environ |= {"LLM_BASE_URL": model.url, "LLM_MODEL": model.model}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        *arguments,
        cwd=folder,
        env=environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(lines.encode()), PATIENCE_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out.decode(), err.decode()


def answering(answers: dict[str, str]) -> ModelServer:
    def reply(request: RecordedRequest) -> Say:
        last = request.messages[-1][1]
        return Say(next((text for word, text in answers.items() if word in last), "Hm."))

    return ModelServer(script={"reply": reply, "*": Say("Certainly!")})


async def test_input_that_ends_before_its_first_line_exits_78(root: Path, tmp_path: Path) -> None:
    code, out, err = await talk(root, tmp_path, "", None)
    assert code == 78
    assert "DISCORD_TOKEN" in err
    assert out == ""


async def test_a_script_gets_a_reply_to_each_line_and_is_remembered(
    root: Path, tmp_path: Path, server_answers: dict[str, str]
) -> None:
    async with answering(server_answers) as model:
        code, out, err = await talk(
            root, tmp_path, "How is the weather?\n((brb))\n\nWhere is the key?\n/quit\nnever said\n", model
        )
        assert (code, "Traceback" in err) == (0, False), err
        said = [line for line in out.splitlines() if line.startswith(f"{FIRST}: ")]
        assert said[1:] == [f"{FIRST}: {text}" for text in server_answers.values()]
        (announced,) = [line for line in err.splitlines() if line.startswith("Troupe: ")]
        assert "terminal" in announced
        assert f"{model.model} at {model.url}" in announced
        assert str(tmp_path / "console") in announced

        code, out, err = await talk(
            root, tmp_path, "/memory search third stone\nAnd the weather now?\n", model
        )
        assert code == 0, err
        assert out.count("Under the third stone") >= 2  # shown as the last lines, and found
        assert "How is the weather?" in model.of("reply")[-1].text
        assert "never said" not in out


async def test_commands_work_without_a_model_and_talking_gives_one_notice(root: Path, tmp_path: Path) -> None:
    lines = """\
/help
/persona
/scene
/scene start The feast location: a hall
/scene set time: midnight
/scene show
/scene cast add Sari
/scene cast remove Sari
/scene list
/alias Ana
/alias list
/alias use name:Captain Rook
/alias clear
/mood
/mood show persona:Mira
/memory search query:harbour
/memory scratchpad
/memory forget 999999
/scene pause
/scene resume
/scene switch The beginning
/scenes
/mood Nobody
Hello there?
"""
    async with ModelServer(script={"*": Fail(status=401)}) as model:
        code, out, err = await talk(
            root, tmp_path, lines, model, "console", "--persona", "mira", "--name", "Bo"
        )
    assert (code, "Traceback" in err) == (0, False), err
    for expected in (
        "/memory search WORDS",
        "“With Mira” (now)",
        "“The feast” begins.",
        "where: a hall",
        "when: midnight",
        "Sari joins.",
        "Sari leaves.",
        "You speak as Ana now.",
        "You speak as Captain Rook now.",
        "You speak under your own name again.",
        "Mira: ",
        "joy ",
        "No notes yet",
        "There is no such memory here",
        "“The feast” is paused",
        "“The feast” goes on.",
        "There is no scene “The beginning”",
        "Did you mean `/scene`?",
        "There is no persona called “Nobody”",
    ):
        assert expected in out, f"{expected!r} is missing in:\n{out}\n{err}"
    assert "called “show”" not in out
    assert out.splitlines()[-1].startswith("· ")
    assert out.splitlines()[-2].startswith("· There is no persona called")


def test_at_least_three_personas_come_along_and_the_first_speaks_english() -> None:
    personas = bundled_personas()
    assert len(personas) >= 3
    assert personas[0].name == FIRST
    assert all(persona.tagline and persona.card["first_mes"] for persona in personas)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The feast", {"name": "The feast"}),
        (
            "The feast location: the inn situation: rain",
            {"name": "The feast", "location": "the inn", "situation": "rain"},
        ),
        ("name:A b LOCATION=c", {"name": "A b", "location": "c"}),
        ("time: at dawn, location unknown", {"time": "at dawn, location unknown"}),
        ("", {}),
    ],
)
def test_arguments_are_read_as_in_discord(text: str, expected: dict[str, str]) -> None:
    assert parsed(text) == expected


def test_the_last_choice_is_kept_and_a_broken_file_is_no_choice(tmp_path: Path) -> None:
    file = tmp_path / "console.json"
    assert Choice.load(file) == Choice()
    Choice(persona="Mira", name="Änne").save(file)
    assert Choice.load(file) == Choice(persona="Mira", name="Änne")
    file.write_text("[1]", encoding="utf-8")
    assert Choice.load(file) == Choice()
