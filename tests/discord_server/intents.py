"""Gateway intents: which session gets which event, and what message content it may read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .models import Guild, Message
from .payloads import member_json

GUILDS, GUILD_MEMBERS, GUILD_MODERATION, GUILD_EXPRESSIONS = 1 << 0, 1 << 1, 1 << 2, 1 << 3
GUILD_WEBHOOKS, GUILD_PRESENCES, GUILD_MESSAGES = 1 << 5, 1 << 8, 1 << 9
GUILD_REACTIONS, GUILD_TYPING, DIRECT_MESSAGES = 1 << 10, 1 << 11, 1 << 12
DIRECT_REACTIONS, DIRECT_TYPING, MESSAGE_CONTENT = 1 << 13, 1 << 14, 1 << 15
PRIVILEGED = GUILD_MEMBERS | GUILD_PRESENCES | MESSAGE_CONTENT
CHUNK_SIZE = 1000

_ALWAYS = frozenset({"READY", "RESUMED", "INTERACTION_CREATE", "USER_UPDATE", "GUILD_MEMBERS_CHUNK"})
_IN_GUILD = {
    "GUILD_MEMBER_ADD": GUILD_MEMBERS,
    "GUILD_MEMBER_REMOVE": GUILD_MEMBERS,
    "WEBHOOKS_UPDATE": GUILD_WEBHOOKS,
    "MESSAGE_CREATE": GUILD_MESSAGES,
    "MESSAGE_UPDATE": GUILD_MESSAGES,
    "MESSAGE_DELETE": GUILD_MESSAGES,
    "MESSAGE_DELETE_BULK": GUILD_MESSAGES,
    "MESSAGE_REACTION_ADD": GUILD_REACTIONS,
    "MESSAGE_REACTION_REMOVE": GUILD_REACTIONS,
    "TYPING_START": GUILD_TYPING,
    "GUILD_BAN_ADD": GUILD_MODERATION,
}
_DIRECT = {
    "MESSAGE_REACTION_ADD": DIRECT_REACTIONS,
    "MESSAGE_REACTION_REMOVE": DIRECT_REACTIONS,
    "TYPING_START": DIRECT_TYPING,
}


def wants(bits: int, event: str, guild_id: int | None) -> bool:
    """Say whether a session with these intents gets the event (its own member updates come always)."""
    if event in _ALWAYS:
        return True
    if guild_id is None:
        return bool(bits & _DIRECT.get(event, DIRECT_MESSAGES))
    return bool(bits & _IN_GUILD.get(event, GUILDS))


def may_read(bits: int, message: Message, *, bot_id: int, application_id: int) -> bool:
    """Say whether a session may read the content: intent, own message, DM, or a mention of the bot."""
    return bool(
        bits & MESSAGE_CONTENT
        or message.guild_id is None
        or message.author.id == bot_id
        or message.application_id == application_id
        or any(user.id == bot_id for user in message.mentions)
    )


def censored(payload: dict[str, Any]) -> dict[str, Any]:
    """Return a message payload without what the message content intent gives."""
    blank: dict[str, Any] = {"content": "", "embeds": [], "attachments": [], "components": []}
    return {key: value for key, value in payload.items() if key not in ("poll", "message_snapshots")} | blank


def member_chunks(guild: Guild, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the GUILD_MEMBERS_CHUNK payloads that answer a request for members."""
    wanted = request.get("user_ids")
    wanted = [wanted] if isinstance(wanted, (str, int)) else wanted
    query = str(request.get("query") or "").lower()
    found = [
        member
        for member in guild.members.values()
        if (str(member.user.id) in {str(item) for item in wanted} if wanted else True)
        and (member.nick or member.user.username).lower().startswith(query)
    ]
    limit = int(request.get("limit") or 0)
    found = found[:limit] if limit else found
    count = max(1, -(-len(found) // CHUNK_SIZE))
    for index in range(count):
        part = found[index * CHUNK_SIZE : (index + 1) * CHUNK_SIZE]
        yield {
            "guild_id": str(guild.id),
            "members": [member_json(member) for member in part],
            "chunk_index": index,
            "chunk_count": count,
            "not_found": [],
            "nonce": request.get("nonce"),
        }
