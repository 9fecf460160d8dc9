"""Arguments, messages and exit codes of `python -m bot`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.__main__ import CONFIGURATION, announce, main
from bot.settings import Settings

SECRET = "MTIzNDU2.Gabcde.do-not-show-me"
pytestmark = pytest.mark.usefixtures("own_logging")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without `.env`, and the process's environment as it was afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())


def test_help_names_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"], {}) == 0
    text = capsys.readouterr().out
    for word in ("run", "console", "check", "reindex", "train-emotion", "exit codes", "78"):
        assert word in text


def test_unknown_arguments_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dance"], {}) == 2
    assert "dance" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["run"]])
def test_a_token_without_a_model_exits_78_with_one_line(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command, {"DISCORD_TOKEN": SECRET}) == CONFIGURATION == 78
    text = capsys.readouterr().err
    assert len(text.splitlines()) == 1
    assert "LLM_BASE_URL" in text
    assert "LLM_MODEL=bundled" in text
    assert SECRET not in text


@pytest.mark.parametrize("command", ["run", "console", "check", "reindex"])
def test_wrong_settings_exit_78_and_are_all_named(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command], {"LLM_CONCURRENCY": "zero", "REPLY_TOKENS": "few"}) == 78
    text = capsys.readouterr().err
    assert "LLM_CONCURRENCY=zero" in text
    assert "REPLY_TOKENS=few" in text


def test_a_near_miss_is_pointed_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"], {"DISCORD_TOKEN": SECRET, "LLM_MODELL": "storyteller"}) == 78
    assert "LLM_MODELL is not a setting; did you mean LLM_MODEL?" in capsys.readouterr().err


def test_the_file_named_by_env_file_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "other.env"
    file.write_text("LOG_LEVEL=loud\n", encoding="utf-8")
    assert main(["--env-file", str(file), "check"], {}) == 78
    assert "LOG_LEVEL=loud" in capsys.readouterr().err


def test_the_start_is_announced_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(llm_base_url="http://127.0.0.1:1/v1", llm_model="storyteller", data_dir=tmp_path)
    announce("the Discord bot", settings, settings.data_dir)
    (line,) = capsys.readouterr().err.splitlines()
    assert "the Discord bot" in line
    assert "storyteller at http://127.0.0.1:1/v1" in line
    assert str(tmp_path) in line


def test_it_runs_as_a_module(root: Path, tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root), "DISCORD_TOKEN": SECRET}
    ended = subprocess.run(
        [sys.executable, "-m", "bot"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert ended.returncode == 78
    assert "LLM_BASE_URL" in ended.stderr
    assert SECRET not in ended.stderr + ended.stdout
