"""REST routes of guilds, their members and roles."""

from __future__ import annotations

from typing import Any

from .errors import unknown
from .models import Guild
from .payloads import channel_json, guild_json, member_json, role_json
from .permissions import Permission
from .routing import Call, Route


def _guild(call: Call) -> Guild:
    return call.world.guild_for_bot(call.id("guild_id"))


def get_guild(call: Call) -> Any:
    """Return a guild."""
    return guild_json(_guild(call), call.world.application_id)


def my_guilds(call: Call) -> Any:
    """Return the guilds of the bot."""
    return [
        {
            "id": str(guild.id),
            "name": guild.name,
            "icon": None,
            "banner": None,
            "owner": False,
            "permissions": str(call.world.guild_bits(guild, call.world.bot.id)),
            "features": [],
        }
        for guild in call.world.bot_guilds()
    ]


def leave_guild(call: Call) -> None:
    """Let the bot leave."""
    call.server.kick_bot(_guild(call))


def list_channels(call: Call) -> Any:
    """Return the channels of a guild, without threads."""
    return [channel_json(channel) for channel in _guild(call).channels.values()]


def active_threads(call: Call) -> Any:
    """Return the threads that the bot sees and that are not archived."""
    threads = [
        item for item in _guild(call).threads.values() if not item.archived and call.world.bot_sees(item)
    ]
    return {"threads": [channel_json(item) for item in threads], "members": [], "has_more": False}


def list_roles(call: Call) -> Any:
    """Return the roles of a guild."""
    return [role_json(role) for role in _guild(call).roles.values()]


def get_member(call: Call) -> Any:
    """Return one member."""
    member = _guild(call).members.get(call.id("user_id"))
    if member is None:
        raise unknown("Member")
    return member_json(member)


def list_members(call: Call) -> Any:
    """Return members by rising id."""
    after = call.query_id("after") or 0
    limit = int(call.record.query.get("limit", 1))
    members = sorted(_guild(call).members.values(), key=lambda item: item.user.id)
    return [member_json(item) for item in members if item.user.id > after][:limit]


def search_members(call: Call) -> Any:
    """Return members whose name starts with the query."""
    query = call.record.query.get("query", "").lower()
    limit = int(call.record.query.get("limit", 1))
    found = [
        item
        for item in _guild(call).members.values()
        if (item.nick or item.user.username).lower().startswith(query)
    ]
    return [member_json(item) for item in found[:limit]]


def update_own_member(call: Call) -> Any:
    """Change the bot's nickname."""
    member = _guild(call).members[call.world.bot.id]
    member.nick = call.body.get("nick", member.nick)
    bits = call.world.guild_bits(_guild(call), call.world.bot.id)
    return member_json(member) | {"permissions": str(bits & ~Permission.ADMINISTRATOR)}


ROUTES: tuple[Route, ...] = (
    ("GET", "/users/@me/guilds", my_guilds),
    ("DELETE", "/users/@me/guilds/{guild_id}", leave_guild),
    ("GET", "/guilds/{guild_id}", get_guild),
    ("GET", "/guilds/{guild_id}/channels", list_channels),
    ("GET", "/guilds/{guild_id}/threads/active", active_threads),
    ("GET", "/guilds/{guild_id}/roles", list_roles),
    ("GET", "/guilds/{guild_id}/members/search", search_members),
    ("PATCH", "/guilds/{guild_id}/members/@me", update_own_member),
    ("GET", "/guilds/{guild_id}/members/{user_id}", get_member),
    ("GET", "/guilds/{guild_id}/members", list_members),
)
