"""Slash-command input as a Discord client sends it: options checked and typed by the synced definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .errors import ScriptError
from .models import Attachment, Channel, Guild, Member, Role, User
from .payloads import attachment_json, channel_json, member_json, role_json, user_json
from .permissions import Permission
from .rules_commands import CHAT, GROUP, SUBCOMMAND

if TYPE_CHECKING:
    from .server import DiscordServer

STRING, INTEGER, BOOLEAN, USER, CHANNEL, ROLE, MENTIONABLE, NUMBER, ATTACHMENT = range(3, 12)


class Resolved:
    """Collects the objects that an interaction's options and selects refer to."""

    def __init__(self, server: DiscordServer, channel: Channel, user: User) -> None:
        """Collect for an interaction of `user` in `channel`."""
        self._server = server
        self._channel = channel
        self._user = user
        self.parts: dict[str, dict[str, Any]] = {}

    def add(self, item: Any) -> str:
        """Add an object and return its id as text."""
        if isinstance(item, Member):
            item = item.user
        item = getattr(item, "user", item)
        world = self._server.world
        guild = world.guild_of(self._channel)
        if isinstance(item, User):
            self._part("users")[str(item.id)] = user_json(item)
            if guild is not None and item.id in guild.members:
                bits = world.permissions(item.id, self._channel)
                member = member_json(guild.members[item.id], with_user=False) | {"permissions": str(bits)}
                self._part("members")[str(item.id)] = member
        elif isinstance(item, Channel):
            bits = world.permissions(self._user.id, item)
            self._part("channels")[str(item.id)] = channel_json(item) | {"permissions": str(bits)}
        elif isinstance(item, Role):
            self._part("roles")[str(item.id)] = role_json(item)
        elif isinstance(item, Attachment):
            self._part("attachments")[str(item.id)] = attachment_json(item, self._server.cdn_url)
        else:
            raise ScriptError(f"{item!r} is not a user, channel, role or attachment")
        return str(item.id)

    def file(self, given: Any) -> str:
        """Add a file given as (name, bytes) and return its id as text."""
        return self.add(as_attachment(self._server, self._channel, given))

    def _part(self, name: str) -> dict[str, Any]:
        return self.parts.setdefault(name, {})


def as_attachment(server: DiscordServer, channel: Channel, given: Any) -> Attachment:
    """Return an attachment from one, or from (name, bytes) or (name, bytes, content type)."""
    if isinstance(given, Attachment):
        return given
    if not isinstance(given, tuple) or not 2 <= len(given) <= 3:
        raise ScriptError(f"a file is (name, bytes) or (name, bytes, content type), not {given!r}")
    kind = given[2] if len(given) == 3 else _content_type(given[0])
    return server.world.add_file(channel.id, given[0], given[1], kind)


def _content_type(name: str) -> str:
    suffixes = {"json": "application/json", "png": "image/png", "txt": "text/plain; charset=utf-8"}
    return suffixes.get(name.rpartition(".")[2].lower(), "application/octet-stream")


def find_leaf(
    server: DiscordServer, guild: Guild | None, path: str
) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the command, its chain of subcommand options and the options of the last one.

    Raises ScriptError when the command was not synced.
    """
    names = path.removeprefix("/").split()
    command = server.visible_command(None if guild is None else guild.id, CHAT, names[0])
    chain: list[dict[str, Any]] = []
    options = command.get("options") or []
    for name in names[1:]:
        step = next(
            (item for item in options if item["name"] == name and item["type"] in (SUBCOMMAND, GROUP)), None
        )
        if step is None:
            raise ScriptError(
                f"/{path}: {name!r} is no subcommand; there are {[item['name'] for item in options]}"
            )
        chain.append(step)
        options = step.get("options") or []
    if any(item["type"] in (SUBCOMMAND, GROUP) for item in options):
        raise ScriptError(f"/{path} needs a subcommand: {[item['name'] for item in options]}")
    return command, chain, options


def check_usable(
    server: DiscordServer, command: dict[str, Any], user: User, channel: Channel, *, ignore_defaults: bool
) -> None:
    """Raise ScriptError when Discord would not show the command to the user in this channel."""
    name = command["name"]
    contexts = command.get("contexts")
    place = 1 if channel.guild_id is None else 0
    if contexts is not None and place not in contexts:
        raise ScriptError(f"/{name} is not offered here (contexts {contexts})")
    if channel.guild_id is None:
        if command.get("dm_permission") is False:
            raise ScriptError(f"/{name} is not offered in direct messages")
        return
    bits = server.world.permissions(user.id, channel)
    if not bits & Permission.VIEW_CHANNEL or not bits & Permission.USE_APPLICATION_COMMANDS:
        raise ScriptError(f"{user.username} cannot use commands in #{channel.name}")
    default = command.get("default_member_permissions")
    if default is None or ignore_defaults or bits & Permission.ADMINISTRATOR:
        return
    if int(default) == 0 or bits & int(default) != int(default):
        raise ScriptError(
            f"/{name} is hidden from {user.username}: it needs {default} (ignore_defaults=True overrides)"
        )


def typed_options(
    definitions: list[dict[str, Any]],
    values: Mapping[str, Any],
    resolved: Resolved,
    *,
    focused: str | None = None,
    path: str,
) -> list[dict[str, Any]]:
    """Return the options of an interaction. Raises ScriptError for unknown, missing or unfitting values.

    While an option is `focused` (autocomplete) the others may be missing and its own value is free text.
    """
    known = {item["name"]: item for item in definitions}
    strangers = [name for name in values if name not in known]
    if strangers:
        raise ScriptError(f"/{path} has no options {strangers}; it has {sorted(known)}")
    missing = [name for name, item in known.items() if item.get("required") and name not in values]
    if missing and focused is None:
        raise ScriptError(f"/{path} needs the options {missing}")
    typed = []
    for name, value in values.items():
        definition = known[name]
        if name == focused:
            typed.append({"name": name, "type": definition["type"], "value": value, "focused": True})
        else:
            converted = _convert(definition, value, resolved, path)
            typed.append({"name": name, "type": definition["type"], "value": converted})
    return typed


def _convert(definition: dict[str, Any], value: Any, resolved: Resolved, path: str) -> Any:
    kind, where = definition["type"], f"/{path} {definition['name']}"
    if kind in (STRING, INTEGER, NUMBER):
        return _scalar(definition, value, where)
    if kind == BOOLEAN:
        if not isinstance(value, bool):
            raise ScriptError(f"{where} is a boolean, not {value!r}")
        return value
    if kind == ATTACHMENT:
        return resolved.file(value)
    inner: Any = getattr(value, "user", value)
    fits = {USER: (User,), CHANNEL: (Channel,), ROLE: (Role,), MENTIONABLE: (User, Role)}[kind]
    if not isinstance(inner, fits):
        raise ScriptError(f"{where} takes {[item.__name__ for item in fits]}, not {value!r}")
    kinds = definition.get("channel_types")
    if kind == CHANNEL and kinds and inner.type not in kinds:
        raise ScriptError(f"{where} takes channel types {kinds}, not {inner.type}")
    return resolved.add(inner)


def _scalar(definition: dict[str, Any], value: Any, where: str) -> Any:
    choices = definition.get("choices") or []
    if choices:
        for choice in choices:
            if value in (choice["name"], choice["value"]):
                return choice["value"]
        raise ScriptError(f"{where} is one of {[choice['name'] for choice in choices]}, not {value!r}")
    kind = definition["type"]
    if kind == STRING:
        low, high = definition.get("min_length") or 0, definition.get("max_length") or 6000
        if not isinstance(value, str) or not max(low, 1) <= len(value) <= high:
            raise ScriptError(f"{where} is text of {low} to {high} characters, not {value!r}")
        return value
    expected: Any = int if kind == INTEGER else (int, float)
    low, high = definition.get("min_value"), definition.get("max_value")
    fits = isinstance(value, expected) and not isinstance(value, bool)
    if not fits or (low is not None and value < low) or (high is not None and value > high):
        raise ScriptError(f"{where} is a number from {low} to {high}, not {value!r}")
    return value


def nested(chain: list[dict[str, Any]], options: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Wrap options into their subcommands."""
    for step in reversed(chain):
        options = [{"name": step["name"], "type": step["type"], "options": options}]
    return options
