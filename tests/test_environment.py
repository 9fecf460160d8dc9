"""What the bot says of a settings file that others may read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot import environment
from bot.__main__ import main
from bot.self_check import State, secrecy_rows

SECRET = "MTIzNDU2.Gabcde.do-not-show-me"
pytestmark = [
    pytest.mark.usefixtures("own_logging"),
    pytest.mark.skipif(os.name != "posix", reason="files have no modes here"),
]


def written(folder: Path, text: str, mode: int) -> Path:
    file = folder / ".env"
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    return file


@pytest.mark.parametrize(
    ("text", "mode", "warned"),
    [
        (f"DISCORD_TOKEN={SECRET}\n", 0o644, True),
        (f"DISCORD_TOKEN={SECRET}\n", 0o640, True),
        (f"DISCORD_TOKEN={SECRET}\n", 0o604, True),
        (f"DISCORD_TOKEN={SECRET}\n", 0o600, False),
        (f"LLM_BASE_URL=https://me:{SECRET}@models.example/v1\n", 0o644, True),
        (f"OTHER_SERVER_KEY={SECRET}\n", 0o644, True),
        ("DISCORD_TOKEN=\nLLM_MODEL=bundled\n", 0o644, False),
    ],
)
def test_a_file_with_secrets_that_others_may_read_is_pointed_out(
    tmp_path: Path, text: str, mode: int, warned: bool
) -> None:
    file = written(tmp_path, text, mode)
    found = environment.exposed(file)
    assert (found is not None) is warned
    (row,) = secrecy_rows(file)
    assert row.state is (State.WARNING if warned else State.OK)
    assert SECRET not in f"{found}{row}"
    if warned:
        assert f"chmod 600 {file}" in row.text


def test_without_a_file_nothing_is_said(tmp_path: Path) -> None:
    assert environment.exposed(tmp_path / ".env") is None
    assert environment.exposed(None) is None
    assert secrecy_rows(tmp_path / ".env") == []


def test_a_start_warns_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    file = written(tmp_path, f"DISCORD_TOKEN={SECRET}\n", 0o644)
    assert main(["--env-file", str(file), "run"], {}) == 78  # no model
    first, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("Warning: ")
    assert "chmod 600" in first
    assert SECRET not in first
