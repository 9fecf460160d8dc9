"""REST routes of the application itself: login, gateway address, commands, emojis, users."""

from __future__ import annotations

import base64
import re
from typing import Any

from .errors import ApiError, invalid_form, unknown
from .payloads import channel_json, own_user_json, user_json
from .routing import Call, Reply, Route, number
from .rules_commands import CHAT, check_commands

DAILY_CREATES = 200
EMOJIS = 2000
EMOJI_BYTES = 256 * 1024
_EMOJI_NAME = re.compile(r"^\w{2,32}$")
_COMMAND_DEFAULTS: dict[str, Any] = {
    "type": CHAT,
    "description": "",
    "default_member_permissions": None,
    "nsfw": False,
    "contexts": None,
    "integration_types": [0],
}


def me(call: Call) -> Any:
    """Return the bot's own account."""
    return own_user_json(call.world.bot)


def application(call: Call) -> Any:
    """Return the application."""
    world = call.world
    bot = user_json(world.bot)
    return {
        "id": str(world.application_id),
        "name": world.bot.username,
        "icon": None,
        "description": "",
        "type": None,
        "bot": bot,
        "bot_public": True,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "flags": 1 << 19,
        "flags_new": str(1 << 19),
        "redirect_uris": [],
        "interactions_endpoint_url": None,
        "role_connections_verification_url": None,
        "owner": user_json(call.server.owner),
        "approximate_guild_count": len(world.bot_guilds()),
        "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0,
        "explicit_content_filter": 0,
        "team": None,
        "eligible_oauth2_scopes": [],
    }


def gateway(call: Call) -> Any:
    """Return the gateway's address."""
    return {"url": call.server.gateway_url}


def gateway_bot(call: Call) -> Any:
    """Return the gateway's address and the number of shards."""
    limit = {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}
    return {"url": call.server.gateway_url, "shards": call.server.shards, "session_start_limit": limit}


def get_user(call: Call) -> Any:
    """Return any account."""
    user = call.world.users.get(call.id("user_id"))
    if user is None:
        raise unknown("User")
    return user_json(user)


def create_dm(call: Call) -> Any:
    """Open a direct-message channel."""
    user = call.world.users.get(number(str(call.body.get("recipient_id", ""))))
    if user is None:
        raise unknown("User")
    return channel_json(call.world.dm_with(user))


def _scope(call: Call) -> int | None:
    if call.id("application_id") != call.world.application_id:
        raise ApiError(403, 20012, "You are not authorized to perform this action on this application")
    return call.id("guild_id") if "guild_id" in call.record.params else None


def list_commands(call: Call) -> Any:
    """Return the commands of a scope."""
    return list(call.server.commands.get(_scope(call), {}).values())


def set_commands(call: Call) -> Any:
    """Replace all commands of a scope; unchanged names keep their ids."""
    scope = _scope(call)
    wanted = call.record.json or []
    check_commands(wanted)
    call.server.command_syncs.append(wanted)
    call.server.commands[scope] = {
        int(command["id"]): command for command in (_stored(call, item, scope) for item in wanted)
    }
    return list_commands(call)


def create_command(call: Call) -> Any:
    """Create a command or replace the one of the same name."""
    scope = _scope(call)
    known = call.server.commands.setdefault(scope, {})
    command = _stored(call, call.body, scope)
    fresh = int(command["id"]) not in known
    check_commands([item for item in known.values() if item["id"] != command["id"]] + [call.body])
    known[int(command["id"])] = command
    return Reply(201 if fresh else 200, command)


def _stored(call: Call, definition: dict[str, Any], scope: int | None) -> dict[str, Any]:
    kind = definition.get("type") or CHAT
    old = call.server.find_command(scope, kind, definition["name"])
    command = _COMMAND_DEFAULTS | {key: value for key, value in definition.items() if value is not None}
    if command["default_member_permissions"] is not None:
        command["default_member_permissions"] = str(command["default_member_permissions"])
    command["application_id"] = str(call.world.application_id)
    command["id"] = old["id"] if old else str(call.world.new_id())
    if scope is not None:
        command["guild_id"] = str(scope)
    same = old is not None and {**old, "version": 0} == {**command, "version": 0}
    command["version"] = old["version"] if same and old else str(call.world.new_id())
    if old is None:
        call.server.command_creates[scope] += 1
        if call.server.command_creates[scope] > DAILY_CREATES:
            raise ApiError(
                429, 30034, "Max number of daily application command creates has been reached (200)"
            )
    return command


def _command(call: Call) -> dict[str, Any]:
    command = call.server.commands.get(_scope(call), {}).get(call.id("command_id"))
    if command is None:
        raise unknown("application command")
    return command


def get_command(call: Call) -> Any:
    """Return one command."""
    return _command(call)


def edit_command(call: Call) -> Any:
    """Change one command."""
    command = _command(call)
    command |= call.body | {"version": str(call.world.new_id())}
    check_commands([command])
    return command


def delete_command(call: Call) -> None:
    """Delete one command."""
    command = _command(call)
    del call.server.commands[_scope(call)][int(command["id"])]


def list_emojis(call: Call) -> Any:
    """Return the application's emojis."""
    _scope(call)
    return {"items": list(call.world.app_emojis.values())}


def create_emoji(call: Call) -> Any:
    """Upload an application emoji from a data URI."""
    _scope(call)
    name = str(call.body.get("name") or "")
    if not _EMOJI_NAME.match(name):
        raise invalid_form({"name": "Must be 2 to 32 letters, digits or underscores."})
    head, _, encoded = str(call.body.get("image") or "").partition(",")
    if not head.startswith("data:image/") or len(base64.b64decode(encoded)) > EMOJI_BYTES:
        raise invalid_form({"image": "File cannot be larger than 256.0 kb and must be an image."})
    if len(call.world.app_emojis) >= EMOJIS:
        raise ApiError(400, 30008, f"Maximum number of emojis reached ({EMOJIS})")
    identifier = call.world.new_id()
    emoji = {
        "id": str(identifier),
        "name": name,
        "roles": [],
        "user": user_json(call.world.bot),
        "require_colons": True,
        "managed": False,
        "animated": head.startswith("data:image/gif"),
        "available": True,
    }
    call.world.app_emojis[identifier] = emoji
    return Reply(201, emoji)


def _emoji(call: Call) -> dict[str, Any]:
    _scope(call)
    emoji = call.world.app_emojis.get(call.id("emoji_id"))
    if emoji is None:
        raise unknown("Emoji")
    return emoji


def get_emoji(call: Call) -> Any:
    """Return one emoji."""
    return _emoji(call)


def rename_emoji(call: Call) -> Any:
    """Rename one emoji."""
    emoji = _emoji(call)
    emoji["name"] = call.body["name"]
    return emoji


def delete_emoji(call: Call) -> None:
    """Delete one emoji."""
    del call.world.app_emojis[int(_emoji(call)["id"])]


_GLOBAL = "/applications/{application_id}/commands"
_GUILD = "/applications/{application_id}/guilds/{guild_id}/commands"
_EMOJI = "/applications/{application_id}/emojis"
ROUTES: tuple[Route, ...] = (
    ("GET", "/users/@me", me),
    ("GET", "/oauth2/applications/@me", application),
    ("GET", "/applications/@me", application),
    ("GET", "/gateway", gateway),
    ("GET", "/gateway/bot", gateway_bot),
    ("POST", "/users/@me/channels", create_dm),
    ("GET", "/users/{user_id}", get_user),
    *(
        route
        for base in (_GLOBAL, _GUILD)
        for route in (
            ("GET", base, list_commands),
            ("PUT", base, set_commands),
            ("POST", base, create_command),
            ("GET", base + "/{command_id}", get_command),
            ("PATCH", base + "/{command_id}", edit_command),
            ("DELETE", base + "/{command_id}", delete_command),
        )
    ),
    ("GET", _EMOJI, list_emojis),
    ("POST", _EMOJI, create_emoji),
    ("GET", _EMOJI + "/{emoji_id}", get_emoji),
    ("PATCH", _EMOJI + "/{emoji_id}", rename_emoji),
    ("DELETE", _EMOJI + "/{emoji_id}", delete_emoji),
)
