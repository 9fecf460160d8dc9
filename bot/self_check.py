"""The rows of `python -m bot check` that need no model: settings, token, disk, invite link."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from bot import disk, environment
from bot.environment import ENV_FILE
from bot.errors import SettingsError
from bot.invite import invite_link
from bot.settings import Settings, variables

GIB: Final = 1 << 30
_LEAST_BYTES: Final = 200 << 20
_NAME_WIDTH: Final = 16


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str
    state: State
    text: str

    def __str__(self) -> str:
        return f"{self.state:<8} {self.name:<{_NAME_WIDTH}} {self.text}"


def ok(name: str, text: str) -> Row:
    """A check that passed."""
    return Row(name, State.OK, text)


def warning(name: str, text: str) -> Row:
    """Something to know; the bot can start."""
    return Row(name, State.WARNING, text)


def failed(name: str, text: str) -> Row:
    """The bot cannot start, or not answer, until this is mended."""
    return Row(name, State.FAILED, text)


def settings_row(settings: Settings) -> Row:
    """Which settings are set, by name, and whether a bot could run on them."""
    try:
        if settings.discord_token is not None:
            settings.for_discord()
    except SettingsError as problem:
        return failed("settings", str(problem))
    changed = [name for name in variables() if name.lower() in settings.model_fields_set]
    source = f"{ENV_FILE} and the environment" if ENV_FILE.is_file() else "the environment"
    return ok("settings", f"{len(changed)} set in {source}{': ' if changed else ''}{', '.join(changed)}")


def application_id(token: str) -> int | None:
    """The application's id, which is the first part of a bot token; None when the text is no such token."""
    parts = token.split(".")
    if len(parts) != 3 or not all(parts):
        return None
    try:
        decoded = base64.b64decode(parts[0] + "=" * (-len(parts[0]) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    text = decoded.decode("ascii", errors="replace")
    return int(text) if text.isascii() and text.isdigit() and 15 <= len(text) <= 20 else None


def token_rows(settings: Settings) -> list[Row]:
    """Whether the token looks like one (it is not sent anywhere), and the link that invites its bot."""
    if settings.discord_token is None:
        return [failed("token", "DISCORD_TOKEN is not set: only the console can start (make console)")]
    application = application_id(settings.discord_token.get_secret_value())
    if application is None:
        return [
            failed(
                "token",
                "DISCORD_TOKEN is no bot token: copy it from the developer portal, your application → Bot → "
                "Reset Token (the application's id, public key and client secret are others)",
            )
        ]
    return [
        ok("token", f"has the shape of a bot token, of application {application}"),
        ok("invite link", invite_link(application)),
    ]


def disk_row(folder: Path, environ: Mapping[str, str]) -> Row:
    """Whether data can be kept in the folder."""
    path = folder.resolve()
    if not disk.can_write(path):
        return failed("disk", f"{path} cannot be written: give DATA_DIR a folder that this user may write to")
    free = disk.free_bytes(path)
    room = f"{free / GIB:.1f} GiB free at {path}"
    if free < _LEAST_BYTES:
        return failed("disk", f"only {room}")
    wiped = disk.wiped_by(path, environ, _mounts())
    if wiped is not None:
        return warning("disk", f"{room}; {wiped}")
    if free < disk.LITTLE:
        return warning("disk", f"only {room}")
    return ok("disk", room)


def _mounts() -> str:
    try:
        return disk.MOUNTS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # not Linux


def secrecy_rows(env_file: Path) -> list[Row]:
    """Whether others on this machine may read the secrets; nothing where there is no such file."""
    warned = environment.exposed(env_file)
    if warned is not None:
        return [warning("secrets", warned)]
    return [ok("secrets", f"{env_file} is for its owner alone")] if env_file.is_file() else []


def simple_rows(
    settings: Settings, environ: Mapping[str, str] | None = None, env_file: Path = ENV_FILE
) -> list[Row]:
    """All of these checks, in the order of the table."""
    environ = os.environ if environ is None else environ
    return [
        settings_row(settings),
        *secrecy_rows(env_file),
        *token_rows(settings),
        disk_row(settings.data_dir, environ),
    ]
