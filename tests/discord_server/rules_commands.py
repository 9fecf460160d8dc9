"""Discord's limits on application commands."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from .errors import ApiError, invalid_form

CHAT, USER, MESSAGE = 1, 2, 3
SUBCOMMAND, GROUP = 1, 2
LIMITS = {CHAT: 100, USER: 15, MESSAGE: 15}
_NAME = re.compile(r"^[-_'\w]{1,32}$")


def check_commands(commands: list[dict[str, Any]]) -> None:
    """Check a whole list of commands that replaces the old one. Raises ApiError."""
    counts = Counter(command.get("type", CHAT) for command in commands)
    for kind, limit in LIMITS.items():
        if counts[kind] > limit:
            raise ApiError(400, 30032, f"Maximum number of application commands reached ({limit})", rule=True)
    names = Counter((command.get("type", CHAT), command["name"]) for command in commands)
    doubled = [name for (_, name), count in names.items() if count > 1]
    if doubled:
        raise invalid_form({"name": f"Application command names must be unique: {doubled}"})
    for index, command in enumerate(commands):
        check_command(command, str(index))


def check_command(command: dict[str, Any], where: str) -> None:
    """Check one command. Raises ApiError."""
    problems: dict[str, str] = {}
    if command.get("type", CHAT) == CHAT:
        _check_named(command, where, problems)
        _check_options(command.get("options") or [], where, problems, depth=0)
        if _weight(command) > 8000:
            problems[where] = "Command exceeds maximum size (8000)"
    else:
        if not 1 <= len(command["name"]) <= 32:
            problems[f"{where}.name"] = "Must be between 1 and 32 in length."
        if command.get("description") or command.get("options"):
            problems[f"{where}.description"] = "Context menu commands have neither description nor options."
    if problems:
        raise invalid_form(problems)


def _check_named(item: dict[str, Any], where: str, problems: dict[str, str]) -> None:
    name = item.get("name") or ""
    if not _NAME.match(name) or name != name.lower():
        problems[f"{where}.name"] = "Command name is invalid"
    if not 1 <= len(item.get("description") or "") <= 100:
        problems[f"{where}.description"] = "Must be between 1 and 100 in length."


def _check_options(
    options: list[dict[str, Any]], where: str, problems: dict[str, str], *, depth: int
) -> None:
    if len(options) > 25:
        problems[f"{where}.options"] = "Must be 25 or fewer in length."
    if len({option.get("name") for option in options}) < len(options):
        problems[f"{where}.options"] = "Option names must be unique."
    optional_seen = False
    for index, option in enumerate(options):
        place = f"{where}.options.{index}"
        _check_named(option, place, problems)
        if option["type"] in (SUBCOMMAND, GROUP):
            if depth + (option["type"] == SUBCOMMAND) > 2 or (option["type"] == GROUP and depth > 0):
                problems[place] = "Subcommands nest at most two deep."
            _check_options(option.get("options") or [], place, problems, depth=depth + 1)
            continue
        if option.get("required") and optional_seen:
            problems[place] = "Required options must be placed before non-required options"
        optional_seen = optional_seen or not option.get("required")
        _check_choices(option, place, problems)


def _check_choices(option: dict[str, Any], place: str, problems: dict[str, str]) -> None:
    choices = option.get("choices") or []
    if len(choices) > 25:
        problems[f"{place}.choices"] = "Must be 25 or fewer in length."
    if choices and option.get("autocomplete"):
        problems[place] = "An option has choices or autocomplete, not both."
    for choice in choices:
        long_value = isinstance(choice["value"], str) and not 1 <= len(choice["value"]) <= 100
        if not 1 <= len(choice["name"]) <= 100 or long_value:
            problems[f"{place}.choices"] = "Must be between 1 and 100 in length."


def _weight(item: dict[str, Any]) -> int:
    own = len(item.get("name") or "") + len(item.get("description") or "")
    values = sum(len(choice["name"]) + len(str(choice["value"])) for choice in item.get("choices") or [])
    return own + values + sum(_weight(option) for option in item.get("options") or [])
