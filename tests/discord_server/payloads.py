"""Turns the records of the loopback Discord into the JSON that the API and the gateway send."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .clock import iso, moment_of
from .models import DM, FORUM, MEDIA, Attachment, Channel, Guild, Member, Message, Role, User, Webhook
from .permissions import Permission, channel_permissions

Json = dict[str, Any]


def user_json(user: User) -> Json:
    """Return a user object with all keys that Discord requires."""
    payload: Json = {
        "id": str(user.id),
        "username": user.username,
        "avatar": user.avatar,
        "discriminator": user.discriminator,
        "public_flags": 0,
        "flags": 0,
        "global_name": user.global_name,
        "primary_guild": None,
        "avatar_decoration_data": None,
    }
    if user.bot:
        payload["bot"] = True
    return payload


def own_user_json(user: User) -> Json:
    """Return the bot's own user object."""
    return user_json(user) | {"mfa_enabled": False, "locale": "en-US", "verified": True, "email": None}


def member_json(member: Member, *, with_user: bool = True) -> Json:
    """Return a member object; without the user as inside message events."""
    payload: Json = {
        "avatar": None,
        "banner": None,
        "communication_disabled_until": None,
        "flags": 0,
        "joined_at": iso(member.joined_at),
        "nick": member.nick,
        "pending": False,
        "premium_since": None,
        "roles": [str(role_id) for role_id in member.roles],
        "mute": False,
        "deaf": False,
    }
    if with_user:
        payload["user"] = user_json(member.user)
    return payload


def role_json(role: Role) -> Json:
    """Return a role object."""
    payload: Json = {
        "id": str(role.id),
        "name": role.name,
        "description": None,
        "permissions": str(role.permissions),
        "position": role.position,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "managed": role.managed,
        "mentionable": role.mentionable,
        "icon": None,
        "unicode_emoji": None,
        "flags": 0,
    }
    if role.bot_id is not None:
        payload["tags"] = {"bot_id": str(role.bot_id)}
    return payload


def channel_json(channel: Channel) -> Json:
    """Return a channel, thread or direct-message object."""
    payload: Json = {
        "id": str(channel.id),
        "type": channel.type,
        "flags": 0,
        "last_message_id": _text(channel.last_message_id),
    }
    if channel.type == DM:
        return payload | {"recipients": [user_json(user) for user in channel.recipients]}
    payload |= {
        "guild_id": str(channel.guild_id),
        "name": channel.name,
        "parent_id": _text(channel.parent_id),
        "rate_limit_per_user": channel.slowmode,
    }
    if channel.is_thread:
        return payload | _thread_part(channel)
    payload |= {
        "position": channel.position,
        "topic": channel.topic,
        "nsfw": channel.nsfw,
        "permission_overwrites": [
            {"id": str(item.id), "type": item.kind, "allow": str(item.allow), "deny": str(item.deny)}
            for item in channel.overwrites.values()
        ],
    }
    if channel.type in (FORUM, MEDIA):
        payload |= {
            "available_tags": channel.available_tags,
            "default_reaction_emoji": None,
            "default_sort_order": None,
            "default_forum_layout": 0,
        }
    elif channel.type == 2:
        payload |= {"bitrate": 64000, "user_limit": 0, "rtc_region": None}
    return payload


def _thread_part(channel: Channel) -> Json:
    return {
        "owner_id": str(channel.owner_id),
        "message_count": min(len(channel.order), 50),
        "total_message_sent": channel.sent_total,
        "member_count": min(len(channel.thread_members), 50),
        "applied_tags": [str(tag) for tag in channel.applied_tags],
        "thread_metadata": {
            "archived": channel.archived,
            "archive_timestamp": iso(moment_of(channel.id)),
            "auto_archive_duration": channel.auto_archive_minutes,
            "locked": channel.locked,
            "create_timestamp": iso(moment_of(channel.id)),
        },
    }


def thread_member_json(thread: Channel, user_id: int) -> Json:
    """Return the membership of a user in a thread."""
    return {
        "id": str(thread.id),
        "user_id": str(user_id),
        "join_timestamp": iso(moment_of(thread.id)),
        "flags": 0,
    }


def guild_json(guild: Guild, application_id: int) -> Json:
    """Return a guild as the REST API gives it."""
    return {
        "id": str(guild.id),
        "name": guild.name,
        "icon": None,
        "description": None,
        "home_header": None,
        "splash": None,
        "discovery_splash": None,
        "features": [],
        "banner": None,
        "owner_id": str(guild.owner_id),
        "application_id": None,
        "region": "us-central",
        "afk_channel_id": None,
        "afk_timeout": 300,
        "system_channel_id": _text(guild.system_channel_id),
        "system_channel_flags": 0,
        "widget_enabled": False,
        "widget_channel_id": None,
        "verification_level": 0,
        "roles": [role_json(role) for role in guild.roles.values()],
        "default_message_notifications": 0,
        "mfa_level": 0,
        "explicit_content_filter": 0,
        "max_presences": None,
        "max_members": 500000,
        "max_stage_video_channel_users": 50,
        "max_video_channel_users": 25,
        "vanity_url_code": None,
        "premium_tier": 0,
        "premium_subscription_count": 0,
        "preferred_locale": guild.locale,
        "rules_channel_id": None,
        "safety_alerts_channel_id": None,
        "public_updates_channel_id": None,
        "premium_progress_bar_enabled": False,
        "nsfw": False,
        "nsfw_level": 0,
        "emojis": [],
        "stickers": [],
        "incidents_data": None,
    }


def guild_create_json(guild: Guild, *, application_id: int, bot_id: int, all_members: bool) -> Json:
    """Return the GUILD_CREATE payload; without the members intent it lists only the bot itself."""
    members = guild.members.values() if all_members else [guild.members[bot_id]]
    visible = [
        thread
        for thread in guild.threads.values()
        if not thread.archived and channel_permissions(guild, bot_id, thread) & Permission.VIEW_CHANNEL
    ]
    return guild_json(guild, application_id) | {
        "joined_at": iso(guild.members[bot_id].joined_at),
        "large": len(guild.members) >= 250,
        "unavailable": False,
        "member_count": len(guild.members),
        "voice_states": [],
        "members": [member_json(member) for member in members],
        "channels": [channel_json(channel) for channel in guild.channels.values()],
        "threads": [channel_json(thread) for thread in visible],
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }


def attachment_json(attachment: Attachment, cdn_url: str) -> Json:
    """Return an attachment with its (signed-looking) address on the loopback CDN."""
    path = f"{cdn_url}/attachments/{attachment.channel_id}/{attachment.id}/{attachment.filename}"
    payload: Json = {
        "id": str(attachment.id),
        "filename": attachment.filename,
        "size": attachment.size,
        "url": f"{path}?ex=7fffffff&is=1&hm={attachment.id:x}",
        "proxy_url": f"{path}?proxy=1",
    }
    optional = {
        "content_type": attachment.content_type,
        "description": attachment.description,
        "width": attachment.width,
        "height": attachment.height,
        "ephemeral": attachment.ephemeral or None,
    }
    return payload | {key: value for key, value in optional.items() if value is not None}


def message_json(message: Message, cdn_url: str, *, bot_id: int, nested: bool = False) -> Json:
    """Return a message object; `nested` leaves out what a referenced message does not repeat."""
    payload = content_json(message, cdn_url) | {
        "id": str(message.id),
        "channel_id": str(message.channel_id),
        "author": user_json(message.author),
        "pinned": message.pinned,
        "mention_everyone": message.mention_everyone,
        "tts": message.tts,
    }
    optional: Json = {
        "application_id": _text(message.application_id),
        "webhook_id": _text(message.webhook_id),
        "nonce": message.nonce,
        "message_reference": message.reference,
        "interaction_metadata": message.interaction_metadata,
        "message_snapshots": message.snapshots or None,
        "poll": message.poll,
        "reactions": _reactions(message, bot_id) or None,
    }
    payload |= {key: value for key, value in optional.items() if value is not None}
    if not nested and message.reference is not None and message.type in (19, 21):
        target = message.referenced
        gone = target is None or target.deleted
        payload["referenced_message"] = (
            None if gone or target is None else message_json(target, cdn_url, bot_id=bot_id, nested=True)
        )
    return payload


def content_json(message: Message, cdn_url: str) -> Json:
    """Return the part of a message that a forward repeats as a snapshot."""
    payload: Json = {
        "type": message.type,
        "content": message.content,
        "mentions": [user_json(user) for user in message.mentions],
        "mention_roles": [str(role_id) for role_id in message.mention_roles],
        "attachments": [attachment_json(item, cdn_url) for item in message.attachments],
        "embeds": message.embeds,
        "timestamp": iso(message.timestamp),
        "edited_timestamp": None if message.edited_at is None else iso(message.edited_at),
        "flags": message.flags,
        "components": message.components,
    }
    if message.sticker_items:
        payload["sticker_items"] = message.sticker_items
    return payload


def _reactions(message: Message, bot_id: int) -> list[Json]:
    return [
        {
            "emoji": emoji_reference(name),
            "count": len(users),
            "count_details": {"burst": 0, "normal": len(users)},
            "burst_colors": [],
            "me_burst": False,
            "me": bot_id in users,
        }
        for name, users in message.reactions.items()
        if users
    ]


def emoji_reference(name: str) -> Json:
    """Return the partial emoji of a reaction from its path form: a character or `name:id`."""
    plain, _, emoji_id = name.partition(":")
    return {"id": emoji_id or None, "name": plain}


def webhook_json(webhook: Webhook, *, with_token: bool) -> Json:
    """Return a webhook; the token is shown only to who may use it."""
    payload: Json = {
        "id": str(webhook.id),
        "type": 1,
        "guild_id": str(webhook.guild_id),
        "channel_id": str(webhook.channel_id),
        "name": webhook.name,
        "avatar": webhook.avatar,
        "application_id": _text(webhook.application_id),
        "user": user_json(webhook.creator),
    }
    return payload | {"token": webhook.token} if with_token else payload


def ids(values: Iterable[int]) -> list[str]:
    """Return ids in their JSON form."""
    return [str(value) for value in values]


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)
