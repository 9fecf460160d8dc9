"""Who is pinged by a text: mention syntax, permissions and allowed_mentions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from .models import Guild, User

_USER = re.compile(r"<@!?(\d+)>")
_ROLE = re.compile(r"<@&(\d+)>")


@dataclass(frozen=True)
class Pings:
    """The people and roles a message really pings."""

    users: list[User] = field(default_factory=list)
    roles: list[int] = field(default_factory=list)
    everyone: bool = False


def pings(
    content: str,
    *,
    users: dict[int, User],
    guild: Guild | None,
    may_mention_everyone: bool,
    allowed: dict[str, Any] | None = None,
    replied_to: User | None = None,
) -> Pings:
    """Return who is pinged. `allowed` None means the defaults: everything the text and permissions give."""
    kinds = {"users", "roles", "everyone"} if allowed is None else set(allowed.get("parse") or [])
    listed_users = {int(item) for item in (allowed or {}).get("users") or []}
    listed_roles = {int(item) for item in (allowed or {}).get("roles") or []}
    found: dict[int, User] = {}
    for text in _USER.findall(content):
        user = users.get(int(text))
        if user is not None and ("users" in kinds or user.id in listed_users):
            found[user.id] = user
    reply_pings = allowed is None or bool(allowed.get("replied_user"))
    if replied_to is not None and reply_pings and replied_to.id in users:
        found[replied_to.id] = replied_to
    roles = []
    for text in _ROLE.findall(content):
        role = guild.roles.get(int(text)) if guild else None
        may = role is not None and (role.mentionable or may_mention_everyone)
        if role is not None and may and ("roles" in kinds or role.id in listed_roles):
            roles.append(role.id)
    crowd = "everyone" in kinds and may_mention_everyone and ("@everyone" in content or "@here" in content)
    return Pings(list(found.values()), roles, crowd)
