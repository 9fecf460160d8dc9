"""What exists in the loopback Discord: guilds, channels, people, messages, webhooks, as plain records."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

TEXT, DM, VOICE, CATEGORY, NEWS = 0, 1, 2, 4, 5
NEWS_THREAD, PUBLIC_THREAD, PRIVATE_THREAD, FORUM, MEDIA = 10, 11, 12, 15, 16
THREAD_TYPES = frozenset({NEWS_THREAD, PUBLIC_THREAD, PRIVATE_THREAD})
EPHEMERAL_FLAG, LOADING_FLAG, COMPONENTS_V2_FLAG = 1 << 6, 1 << 7, 1 << 15


@dataclass(eq=False)
class User:
    """An account: a person, a bot, or the face of a webhook message."""

    id: int
    username: str
    global_name: str | None = None
    bot: bool = False
    avatar: str | None = None
    discriminator: str = "0"
    application_id: int | None = None


@dataclass(eq=False)
class Role:
    """A role; the one whose id is the guild's id is @everyone."""

    id: int
    guild_id: int
    name: str
    permissions: int
    position: int = 0
    managed: bool = False
    mentionable: bool = False
    bot_id: int | None = None


@dataclass(eq=False)
class Overwrite:
    """A permission overwrite of a channel; kind 0 is for a role, 1 for a member."""

    id: int
    kind: int
    allow: int = 0
    deny: int = 0


@dataclass(eq=False)
class Member:
    """A user in a guild."""

    user: User
    guild_id: int
    joined_at: datetime
    roles: list[int] = field(default_factory=list)
    nick: str | None = None


@dataclass(eq=False)
class Attachment:
    """A file of a message; its bytes are served by the CDN routes until `expired`."""

    id: int
    channel_id: int
    filename: str
    content: bytes = field(repr=False)
    content_type: str | None = None
    description: str | None = None
    width: int | None = None
    height: int | None = None
    ephemeral: bool = False
    expired: bool = False

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self.content)


@dataclass(eq=False)
class Message:
    """A message as it is now; `channel_id` is the thread's id in a thread."""

    id: int
    channel_id: int
    guild_id: int | None
    author: User
    timestamp: datetime
    content: str = ""
    type: int = 0
    flags: int = 0
    tts: bool = False
    embeds: list[dict[str, Any]] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    components: list[dict[str, Any]] = field(default_factory=list)
    sticker_items: list[dict[str, Any]] = field(default_factory=list)
    mentions: list[User] = field(default_factory=list)
    mention_roles: list[int] = field(default_factory=list)
    mention_everyone: bool = False
    allowed_mentions: dict[str, Any] | None = None
    nonce: str | int | None = None
    webhook_id: int | None = None
    avatar_url: str | None = None
    application_id: int | None = None
    reference: dict[str, Any] | None = None
    referenced: Message | None = None
    snapshots: list[dict[str, Any]] = field(default_factory=list)
    poll: dict[str, Any] | None = None
    interaction_metadata: dict[str, Any] | None = None
    edited_at: datetime | None = None
    pinned: bool = False
    deleted: bool = False
    ephemeral_for: int | None = None
    thread_id: int | None = None
    reactions: dict[str, set[int]] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)

    @property
    def author_name(self) -> str:
        """The name shown above the message."""
        return self.author.global_name or self.author.username

    @property
    def ephemeral(self) -> bool:
        """Whether only one user sees it."""
        return bool(self.flags & EPHEMERAL_FLAG)

    @property
    def loading(self) -> bool:
        """Whether it still shows "is thinking"."""
        return bool(self.flags & LOADING_FLAG)

    @property
    def text(self) -> str:
        """Everything readable: content, embeds and text displays, one part a line."""
        parts = [self.content]
        for embed in self.embeds:
            parts += [embed.get("title") or "", embed.get("description") or ""]
            for item in embed.get("fields") or []:
                parts += [item["name"], item["value"]]
            parts.append((embed.get("footer") or {}).get("text") or "")
        parts += [
            component["content"] for component in walk_components(self.components) if component["type"] == 10
        ]
        return "\n".join(part for part in parts if part)


@dataclass(eq=False)
class Channel:
    """A channel, thread, forum post or direct-message channel."""

    id: int
    type: int
    name: str
    guild_id: int | None = None
    parent_id: int | None = None
    position: int = 0
    topic: str | None = None
    nsfw: bool = False
    slowmode: int = 0
    overwrites: dict[int, Overwrite] = field(default_factory=dict)
    recipients: list[User] = field(default_factory=list)
    owner_id: int = 0
    archived: bool = False
    locked: bool = False
    auto_archive_minutes: int = 1440
    thread_members: set[int] = field(default_factory=set)
    applied_tags: list[int] = field(default_factory=list)
    available_tags: list[dict[str, Any]] = field(default_factory=list)
    order: list[int] = field(default_factory=list, repr=False)
    by_id: dict[int, Message] = field(default_factory=dict, repr=False)
    sent_total: int = 0

    @property
    def is_thread(self) -> bool:
        """Whether it hangs below a parent channel."""
        return self.type in THREAD_TYPES

    @property
    def last_message_id(self) -> int | None:
        """Id of the newest message."""
        return self.order[-1] if self.order else None

    def add(self, message: Message) -> None:
        """File a message at its place in time."""
        if not self.order or message.id > self.order[-1]:
            self.order.append(message.id)
        else:
            insort(self.order, message.id)
        self.by_id[message.id] = message
        self.sent_total += 1

    def remove(self, message: Message) -> None:
        """Take a message out of the history."""
        if self.by_id.pop(message.id, None) is not None:
            del self.order[bisect_left(self.order, message.id)]
            message.deleted = True


@dataclass(eq=False)
class Guild:
    """A server with its roles, channels, threads and members."""

    id: int
    name: str
    owner_id: int
    roles: dict[int, Role] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    threads: dict[int, Channel] = field(default_factory=dict)
    members: dict[int, Member] = field(default_factory=dict)
    system_channel_id: int | None = None
    locale: str = "en-US"


@dataclass(eq=False)
class Webhook:
    """An incoming webhook; `application_id` is set when an application made it."""

    id: int
    token: str
    channel_id: int
    guild_id: int
    name: str
    creator: User
    avatar: str | None = None
    application_id: int | None = None


def walk_components(components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return every component of a message or modal, also the nested ones, in order."""
    found: list[dict[str, Any]] = []
    for component in components:
        found.append(component)
        found += walk_components(component.get("components") or [])
        for key in ("accessory", "component"):
            if component.get(key):
                found += walk_components([component[key]])
    return found
