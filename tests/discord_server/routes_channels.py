"""REST routes of channels and threads."""

from __future__ import annotations

from typing import Any

from . import posting
from .clock import moment_of
from .errors import ApiError, invalid_form, missing_permissions
from .models import FORUM, MEDIA, Channel, Overwrite
from .payloads import channel_json, message_json, thread_member_json
from .permissions import Permission
from .routes_messages import store_files
from .routing import Call, Reply, Route
from .rules import check_message, check_thread_name


def get_channel(call: Call) -> Any:
    """Return a channel."""
    return channel_json(call.world.channel_for_bot(call.id("channel_id")))


def update_channel(call: Call) -> Any:
    """Rename a channel, or archive, lock or rename a thread."""
    channel = call.world.channel_for_bot(call.id("channel_id"))
    bits = call.world.permissions(call.world.bot.id, channel)
    needed = Permission.MANAGE_THREADS if channel.is_thread else Permission.MANAGE_CHANNELS
    body = call.body
    own_thread = channel.is_thread and channel.owner_id == call.world.bot.id
    reopening = channel.is_thread and set(body) <= {"archived"} and not channel.locked
    if not (bits & needed or own_thread or reopening):
        raise missing_permissions()
    if "name" in body:
        check_thread_name(body["name"])
        channel.name = body["name"]
    channel.topic = body.get("topic", channel.topic)
    channel.archived = bool(body.get("archived", channel.archived))
    channel.locked = bool(body.get("locked", channel.locked))
    channel.slowmode = int(body.get("rate_limit_per_user") or channel.slowmode)
    channel.auto_archive_minutes = body.get("auto_archive_duration", channel.auto_archive_minutes)
    call.server.channel_changed(channel)
    return channel_json(channel)


def delete_channel(call: Call) -> Any:
    """Delete a channel or thread."""
    channel = call.world.channel_for_bot(call.id("channel_id"))
    needed = Permission.MANAGE_THREADS if channel.is_thread else Permission.MANAGE_CHANNELS
    if not call.world.permissions(call.world.bot.id, channel) & needed:
        raise missing_permissions()
    payload = channel_json(channel)
    call.server.delete_channel(channel)
    return payload


def set_overwrite(call: Call) -> None:
    """Set the permissions of a role or member in a channel."""
    channel = call.world.channel_for_bot(call.id("channel_id"), Permission.MANAGE_ROLES)
    body = call.body
    target = call.id("overwrite_id")
    channel.overwrites[target] = Overwrite(
        target, int(body["type"]), int(body.get("allow") or 0), int(body.get("deny") or 0)
    )
    call.server.channel_changed(channel)


def _thread_parent(call: Call) -> Channel:
    parent = call.world.channel_for_bot(call.id("channel_id"))
    if parent.is_thread or parent.guild_id is None:
        raise ApiError(400, 50024, "Cannot execute action on this channel type")
    bits = call.world.permissions(call.world.bot.id, parent)
    posts = parent.type in (FORUM, MEDIA)
    if not bits & (Permission.SEND_MESSAGES if posts else Permission.CREATE_PUBLIC_THREADS):
        raise missing_permissions()
    check_thread_name(call.body.get("name"))
    return parent


def create_thread(call: Call) -> Any:
    """Create a thread without a message, or a forum post with its first message."""
    parent = _thread_parent(call)
    world, body = call.world, call.body
    if parent.type not in (FORUM, MEDIA):
        thread = world.add_thread(parent, body["name"], world.bot.id, private=body.get("type") == 12)
        call.server.thread_created(thread)
        return Reply(201, _own(call, thread))
    first = body.get("message")
    if not isinstance(first, dict):
        raise invalid_form({"message": "This field is required"})
    check_message(first, files=call.record.files)
    identifier = world.new_id()
    thread = world.add_thread(parent, body["name"], world.bot.id, thread_id=identifier)
    thread.applied_tags = [int(tag) for tag in body.get("applied_tags") or []]
    call.server.thread_created(thread)
    message = posting.post(
        call.server,
        thread,
        world.bot,
        first.get("content") or "",
        message_id=identifier,
        allowed_mentions=first.get("allowed_mentions"),
        embeds=first.get("embeds") or [],
        components=first.get("components") or [],
        attachments=store_files(world, thread.id, first, call.record.files),
        application_id=world.application_id,
    )
    shown = message_json(message, call.server.cdn_url, bot_id=world.bot.id)
    return Reply(201, _own(call, thread) | {"message": shown})


def create_thread_from_message(call: Call) -> Any:
    """Create a thread that hangs on a message."""
    parent = _thread_parent(call)
    message = call.world.message(parent, call.id("message_id"))
    if message.thread_id is not None:
        raise ApiError(400, 160004, "A thread has already been created for this message")
    thread = call.server.start_thread(parent, call.body["name"], call.world.bot, message=message)
    return Reply(201, _own(call, thread))


def _own(call: Call, thread: Channel) -> dict[str, Any]:
    return channel_json(thread) | {"member": thread_member_json(thread, call.world.bot.id)}


def join_thread(call: Call) -> None:
    """Join a thread as the bot."""
    call.world.channel_for_bot(call.id("channel_id")).thread_members.add(call.world.bot.id)


def leave_thread(call: Call) -> None:
    """Leave a thread as the bot."""
    call.world.channel_for_bot(call.id("channel_id")).thread_members.discard(call.world.bot.id)


def archived_threads(call: Call) -> Any:
    """Return the archived threads of a channel, newest first."""
    parent = call.world.channel_for_bot(call.id("channel_id"), Permission.READ_MESSAGE_HISTORY)
    guild = call.world.guilds[parent.guild_id or 0]
    found = [item for item in guild.threads.values() if item.parent_id == parent.id and item.archived]
    found.sort(key=lambda item: moment_of(item.id), reverse=True)
    return {"threads": [channel_json(item) for item in found], "members": [], "has_more": False}


def list_pins(call: Call) -> Any:
    """Return the pinned messages of a channel."""
    channel = call.world.channel_for_bot(call.id("channel_id"), Permission.READ_MESSAGE_HISTORY)
    pinned = [message for message in channel.by_id.values() if message.pinned]
    items = [
        {
            "pinned_at": message_json(message, call.server.cdn_url, bot_id=call.world.bot.id)["timestamp"],
            "message": message_json(message, call.server.cdn_url, bot_id=call.world.bot.id),
        }
        for message in pinned
    ]
    return {"items": items, "has_more": False}


_ONE = "/channels/{channel_id}"
ROUTES: tuple[Route, ...] = (
    ("GET", _ONE, get_channel),
    ("PATCH", _ONE, update_channel),
    ("DELETE", _ONE, delete_channel),
    ("PUT", _ONE + "/permissions/{overwrite_id}", set_overwrite),
    ("POST", _ONE + "/threads", create_thread),
    ("POST", _ONE + "/messages/{message_id}/threads", create_thread_from_message),
    ("PUT", _ONE + "/thread-members/@me", join_thread),
    ("DELETE", _ONE + "/thread-members/@me", leave_thread),
    ("GET", _ONE + "/threads/archived/public", archived_threads),
    ("GET", _ONE + "/messages/pins", list_pins),
)
