"""The state of the loopback Discord: everything that exists, and how tests build it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from . import models
from .clock import Clock, Snowflakes
from .errors import ApiError, missing_access, unknown
from .models import Attachment, Channel, Guild, Member, Message, Overwrite, Role, User, Webhook
from .permissions import (
    ALL,
    BOT_DEFAULT,
    DM_PERMISSIONS,
    EVERYONE_DEFAULT,
    Permission,
    channel_permissions,
    guild_permissions,
)

KINDS = {
    "text": models.TEXT,
    "voice": models.VOICE,
    "category": models.CATEGORY,
    "news": models.NEWS,
    "forum": models.FORUM,
    "media": models.MEDIA,
}


class World:
    """Guilds, channels, people, webhooks and files, with indexes by id."""

    def __init__(self, *, clock: Clock, bot_name: str) -> None:
        """Start with nothing but the bot's own account."""
        self.clock = clock
        self.ids = Snowflakes(clock)
        self.application_id = self.ids.next()
        self.bot = User(self.application_id, bot_name, bot=True, application_id=self.application_id)
        self.users: dict[int, User] = {self.bot.id: self.bot}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.webhooks: dict[int, Webhook] = {}
        self.files: dict[int, Attachment] = {}
        self.ephemeral: dict[int, Message] = {}
        self.app_emojis: dict[int, dict[str, Any]] = {}
        self.nonces: dict[tuple[int, str], Message] = {}

    # --- building -------------------------------------------------------------------------

    def add_user(self, name: str, *, user_id: int | None = None, bot: bool = False) -> User:
        """Create an account; the display name is `name`, the username its lower-case form."""
        user = User(user_id or self.ids.next(), _username(name), name, bot=bot)
        self.users[user.id] = user
        return user

    def add_guild(self, name: str, *, bot_permissions: int, with_bot: bool, locale: str) -> Guild:
        """Create a guild with @everyone, an owner who is a stranger, and the bot with its managed role."""
        guild_id = self.ids.next()
        owner = self.add_user(f"{name} owner")
        guild = Guild(guild_id, name, owner.id, locale=locale)
        guild.roles[guild_id] = Role(guild_id, guild_id, "@everyone", EVERYONE_DEFAULT)
        self.guilds[guild_id] = guild
        self.join(guild, owner)
        if with_bot:
            self.join_bot(guild, bot_permissions)
        return guild

    def join_bot(self, guild: Guild, permissions: int = BOT_DEFAULT) -> Member:
        """Let the bot join a guild with a managed role that carries `permissions`."""
        role = self.add_role(guild, self.bot.username, permissions)
        role.managed, role.bot_id = True, self.bot.id
        member = self.join(guild, self.bot)
        member.roles.append(role.id)
        return member

    def add_role(self, guild: Guild, name: str, permissions: int = 0) -> Role:
        """Create a role above the existing ones."""
        role = Role(self.ids.next(), guild.id, name, int(permissions), position=len(guild.roles))
        guild.roles[role.id] = role
        return role

    def join(self, guild: Guild, user: User) -> Member:
        """Make a user a member."""
        member = Member(user, guild.id, self.clock.wall())
        guild.members[user.id] = member
        return member

    def add_channel(
        self,
        guild: Guild,
        name: str,
        *,
        kind: str,
        parent: Channel | None,
        overwrites: Iterable[Overwrite],
        topic: str | None = None,
    ) -> Channel:
        """Create a channel of a kind named in KINDS."""
        channel = Channel(
            self.ids.next(),
            KINDS[kind],
            name,
            guild.id,
            parent_id=parent.id if parent else None,
            position=len(guild.channels),
            topic=topic,
            overwrites={item.id: item for item in overwrites},
        )
        guild.channels[channel.id] = self.channels[channel.id] = channel
        return channel

    def add_thread(
        self,
        parent: Channel,
        name: str,
        owner_id: int,
        *,
        thread_id: int | None = None,
        private: bool = False,
    ) -> Channel:
        """Create a thread or forum post; one that starts from a message has the message's id."""
        kind = models.PRIVATE_THREAD if private else models.PUBLIC_THREAD
        if parent.type == models.NEWS:
            kind = models.NEWS_THREAD
        thread = Channel(
            thread_id or self.ids.next(), kind, name, parent.guild_id, parent_id=parent.id, owner_id=owner_id
        )
        thread.thread_members.add(owner_id)
        self.guilds[parent.guild_id or 0].threads[thread.id] = self.channels[thread.id] = thread
        return thread

    def dm_with(self, user: User) -> Channel:
        """Return the direct-message channel of the bot and a user, made when needed."""
        for channel in self.channels.values():
            if channel.type == models.DM and channel.recipients[0].id == user.id:
                return channel
        channel = Channel(self.ids.next(), models.DM, "", recipients=[user])
        self.channels[channel.id] = channel
        return channel

    def add_webhook(self, channel: Channel, name: str, creator: User) -> Webhook:
        """Create a webhook; it belongs to the application when its creator is a bot."""
        webhook = Webhook(
            self.ids.next(),
            secrets.token_urlsafe(51),
            channel.id,
            channel.guild_id or 0,
            name.strip(),
            creator,
            application_id=creator.application_id if creator.bot else None,
        )
        self.webhooks[webhook.id] = webhook
        return webhook

    def add_file(
        self, channel_id: int, filename: str, content: bytes, content_type: str | None = None, **extra: Any
    ) -> Attachment:
        """Keep the bytes of a file and give it an id."""
        attachment = Attachment(self.ids.next(), channel_id, filename, content, content_type, **extra)
        self.files[attachment.id] = attachment
        return attachment

    def drop_channel(self, channel: Channel) -> None:
        """Delete a channel with its threads and webhooks."""
        guild = self.guilds[channel.guild_id or 0]
        for thread in [item for item in guild.threads.values() if item.parent_id == channel.id]:
            self.drop_channel(thread)
        guild.channels.pop(channel.id, None)
        guild.threads.pop(channel.id, None)
        self.channels.pop(channel.id, None)
        for webhook in [item for item in self.webhooks.values() if item.channel_id == channel.id]:
            del self.webhooks[webhook.id]

    # --- looking things up ----------------------------------------------------------------

    def bot_guilds(self) -> list[Guild]:
        """Return the guilds the bot is a member of."""
        return [guild for guild in self.guilds.values() if self.bot.id in guild.members]

    def guild_of(self, channel: Channel) -> Guild | None:
        """Return the guild of a channel, None for direct messages."""
        return None if channel.guild_id is None else self.guilds[channel.guild_id]

    def permissions(self, user_id: int, channel: Channel) -> int:
        """Return a user's permission bits in a channel; 0 when the user has no business there."""
        guild = self.guild_of(channel)
        if guild is not None:
            return channel_permissions(guild, user_id, channel)
        members = {self.bot.id, *(user.id for user in channel.recipients)}
        return DM_PERMISSIONS if user_id in members else 0

    def bot_sees(self, channel: Channel) -> bool:
        """Say whether the bot can view a channel."""
        return bool(self.permissions(self.bot.id, channel) & Permission.VIEW_CHANNEL)

    def guild_for_bot(self, guild_id: int) -> Guild:
        """Return a guild the bot is in. Raises 404 or 403 as Discord does."""
        guild = self.guilds.get(guild_id)
        if guild is None:
            raise unknown("Guild")
        if self.bot.id not in guild.members:
            raise missing_access()
        return guild

    def channel_for_bot(self, channel_id: int, *needed: Permission) -> Channel:
        """Return a channel in which the bot has the permissions. Raises 404, 50001 or 50013."""
        channel = self.channels.get(channel_id)
        if channel is None:
            raise unknown("Channel")
        bits = self.permissions(self.bot.id, channel)
        if not bits & Permission.VIEW_CHANNEL:
            raise missing_access()
        for permission in needed:
            if not bits & permission:
                raise ApiError(403, 50013, "Missing Permissions")
        return channel

    def guild_bits(self, guild: Guild, user_id: int) -> int:
        """Return guild-wide permission bits of a member."""
        return guild_permissions(guild, user_id)

    def message(self, channel: Channel, message_id: int) -> Message:
        """Return a message of a channel's history. Raises 404/10008."""
        message = channel.by_id.get(message_id)
        if message is None:
            raise unknown("Message")
        return message

    def new_id(self, at: datetime | None = None) -> int:
        """Return a new snowflake, of now or of a past moment."""
        return self.ids.next(at)


def private_to(guild: Guild, *allowed: Role | Member | User) -> list[Overwrite]:
    """Return the overwrites of a channel that only the given roles and people can see."""
    closed = [Overwrite(guild.id, 0, deny=int(Permission.VIEW_CHANNEL))]
    for item in allowed:
        target = item.user.id if isinstance(item, Member) else item.id
        kind = 0 if isinstance(item, Role) else 1
        closed.append(Overwrite(target, kind, allow=int(Permission.VIEW_CHANNEL)))
    return closed


def _username(name: str) -> str:
    return name.lower().replace(" ", "_")[:32]


__all__ = ["ALL", "BOT_DEFAULT", "KINDS", "World", "private_to"]
