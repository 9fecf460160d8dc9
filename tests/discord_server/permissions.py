"""Permissions of a member in a channel, computed as Discord does."""

from __future__ import annotations

from enum import IntFlag

from .models import Channel, Guild


class Permission(IntFlag):
    """The permission bits that the loopback Discord knows by name."""

    KICK_MEMBERS = 1 << 1
    BAN_MEMBERS = 1 << 2
    ADMINISTRATOR = 1 << 3
    MANAGE_CHANNELS = 1 << 4
    MANAGE_GUILD = 1 << 5
    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    SEND_TTS_MESSAGES = 1 << 12
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MENTION_EVERYONE = 1 << 17
    USE_EXTERNAL_EMOJIS = 1 << 18
    CHANGE_NICKNAME = 1 << 26
    MANAGE_ROLES = 1 << 28
    MANAGE_WEBHOOKS = 1 << 29
    USE_APPLICATION_COMMANDS = 1 << 31
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    CREATE_PRIVATE_THREADS = 1 << 36
    SEND_MESSAGES_IN_THREADS = 1 << 38
    PIN_MESSAGES = 1 << 51


ALL = (1 << 53) - 1
EVERYONE_DEFAULT = int(
    Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.ADD_REACTIONS
    | Permission.USE_EXTERNAL_EMOJIS
    | Permission.USE_APPLICATION_COMMANDS
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
    | Permission.CHANGE_NICKNAME
)
BOT_DEFAULT = int(EVERYONE_DEFAULT | Permission.MANAGE_WEBHOOKS | Permission.MANAGE_MESSAGES)
DM_PERMISSIONS = int(EVERYONE_DEFAULT & ~(Permission.CREATE_PUBLIC_THREADS | Permission.CHANGE_NICKNAME))
_NEEDS_SEND = (
    Permission.SEND_TTS_MESSAGES
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
    | Permission.MENTION_EVERYONE
)


def guild_permissions(guild: Guild, user_id: int) -> int:
    """Return the bits from the member's roles, before any channel overwrite; 0 for a stranger."""
    member = guild.members.get(user_id)
    if member is None:
        return 0
    if guild.owner_id == user_id:
        return ALL
    bits = guild.roles[guild.id].permissions
    for role_id in member.roles:
        bits |= guild.roles[role_id].permissions
    return ALL if bits & Permission.ADMINISTRATOR else bits


def channel_permissions(guild: Guild, user_id: int, channel: Channel) -> int:
    """Return the bits in a channel; a thread takes its parent's overwrites."""
    bits = guild_permissions(guild, user_id)
    if bits in (0, ALL):
        return bits
    home = guild.channels.get(channel.parent_id or 0, channel) if channel.is_thread else channel
    bits = _overwritten(guild, user_id, home, bits)
    if not bits & Permission.VIEW_CHANNEL:
        return 0
    if not channel.is_thread and not bits & Permission.SEND_MESSAGES:
        bits &= ~_NEEDS_SEND
    return int(bits)


def _overwritten(guild: Guild, user_id: int, channel: Channel, bits: int) -> int:
    everyone = channel.overwrites.get(guild.id)
    if everyone is not None:
        bits = bits & ~everyone.deny | everyone.allow
    allow = deny = 0
    for role_id in guild.members[user_id].roles:
        overwrite = channel.overwrites.get(role_id)
        if overwrite is not None:
            allow |= overwrite.allow
            deny |= overwrite.deny
    bits = bits & ~deny | allow
    own = channel.overwrites.get(user_id)
    return bits if own is None else bits & ~own.deny | own.allow


def may_send(bits: int, channel: Channel) -> bool:
    """Say whether the bits allow a message in this channel."""
    wanted = Permission.SEND_MESSAGES_IN_THREADS if channel.is_thread else Permission.SEND_MESSAGES
    return bool(bits & Permission.VIEW_CHANNEL and bits & wanted)
