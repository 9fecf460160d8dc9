"""What stands in the environment and in `.env`, as plain text by variable name."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from dotenv import dotenv_values

from bot.errors import SettingsError

ENV_FILE: Final = Path(".env")
_SECRET_ENDS: Final = ("_TOKEN", "_KEY", "_SECRET", "_PASSWORD")
_NEAR: Final = 0.85
"""How alike (difflib's ratio) a name must be to a setting's to be taken for a slip."""


def read(names: Sequence[str], environ: Mapping[str, str], env_file: Path | None) -> dict[str, str]:
    """The values of `names` that are set, in that order.

    An empty value counts as unset; the environment goes before the file, which may be absent.
    Raises SettingsError when the file is there and cannot be read.
    """
    entries = _filled(_from_file(env_file)) | _filled(environ)
    return {name: _unquoted(entries[name]) for name in names if name in entries}


def misspelled(names: Sequence[str], environ: Mapping[str, str], env_file: Path | None) -> tuple[str, ...]:
    """One hint for each variable that is nearly, but not quite, one of `names`."""
    present = _filled(_from_file(env_file)) | _filled(environ)
    hints = []
    for name in sorted(set(present) - set(names)):
        near = difflib.get_close_matches(name.upper(), names, n=1, cutoff=_NEAR)
        if near and near[0] not in present:
            hints.append(f"{name} is not a setting; did you mean {near[0]}?")
    return tuple(hints)


def exposed(env_file: Path | None) -> str | None:
    """What to say when others on this machine may read the file, which holds secrets; None when they may not.

    Only where files have modes (POSIX). A file without a filled token, key or password is no secret.
    """
    if os.name != "posix" or env_file is None or not env_file.is_file():
        return None
    mode = stat.S_IMODE(env_file.stat().st_mode)
    if not mode & (stat.S_IRGRP | stat.S_IROTH):
        return None
    if not any(_is_secret(name, value) for name, value in _filled(_from_file(env_file)).items()):
        return None
    return f"{env_file} holds secrets and others on this machine may read it: chmod 600 {env_file}"


def _is_secret(name: str, value: str) -> bool:
    return name.upper().endswith(_SECRET_ENDS) or "@" in value


def _from_file(env_file: Path | None) -> Mapping[str, str | None]:
    if env_file is None or not env_file.is_file():
        return {}
    try:
        return dotenv_values(env_file, interpolate=False, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{env_file} cannot be read ({type(error).__name__}): expected a text file in UTF-8 "
            "that this user may read"
        ) from None


def _filled(entries: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value.strip() for name, value in entries.items() if value and value.strip()}


def _unquoted(value: str) -> str:
    """Without the quotes that some tools keep of their own files (docker's `--env-file` does)."""
    quoted = len(value) > 2 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value
