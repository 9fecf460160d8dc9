"""The checks that need no model: their words, and that they never show a token."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.invite import PERMISSIONS
from bot.self_check import State, application_id, disk_row, settings_row, simple_rows, token_rows
from bot.settings import Settings

APPLICATION = 1136123412341234567


def token(first: str | None = None) -> str:
    number = base64.urlsafe_b64encode(str(APPLICATION).encode()).decode().rstrip("=")
    return f"{number if first is None else first}.GAbCdE.do-not-show-me-27-characters"


def bot(text: str, folder: Path) -> Settings:
    return Settings(discord_token=SecretStr(text), llm_model="bundled", data_dir=folder)


def test_the_application_is_read_from_the_token() -> None:
    assert application_id(token()) == APPLICATION


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "a.b",
        "a.b.c.d",
        "..",
        token("!!!"),
        token("aGVsbG8"),
        token(""),
        str(APPLICATION),
        "\u0661.b.c",
    ],
)
def test_other_texts_are_no_token(text: str) -> None:
    assert application_id(text) is None


def test_a_good_token_gives_the_invite_link_with_exactly_the_permissions(tmp_path: Path) -> None:
    shape, link = token_rows(bot(token(), tmp_path))
    assert (shape.state, link.state) == (State.OK, State.OK)
    assert f"client_id={APPLICATION}" in link.text
    assert f"permissions={PERMISSIONS}" in link.text


@pytest.mark.parametrize("text", [token(), "a-wrong.token"])
def test_no_row_shows_the_token(text: str, tmp_path: Path) -> None:
    shown = "\n".join(str(row) for row in simple_rows(bot(text, tmp_path), {}))
    assert text not in shown
    assert "do-not-show-me" not in shown


def test_without_a_token_the_bot_cannot_start() -> None:
    (row,) = token_rows(Settings())
    assert row.state is State.FAILED
    assert "DISCORD_TOKEN" in row.text
    assert settings_row(Settings()).state is State.OK


def test_a_token_without_a_model_fails_with_what_to_set() -> None:
    row = settings_row(Settings(discord_token=SecretStr(token())))
    assert row.state is State.FAILED
    assert "LLM_BASE_URL" in row.text


def test_the_settings_row_names_what_is_set(tmp_path: Path) -> None:
    row = settings_row(bot(token(), tmp_path))
    assert row.state is State.OK
    assert "DISCORD_TOKEN, LLM_MODEL, DATA_DIR" in row.text


def test_a_disk_that_is_wiped_is_a_warning_and_one_that_cannot_be_written_a_failure(tmp_path: Path) -> None:
    assert disk_row(tmp_path, {"DYNO": "worker.1"}).state is State.WARNING
    file = tmp_path / "file"
    file.touch()
    assert disk_row(file, {}).state is State.FAILED
