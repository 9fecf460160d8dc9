"""REST routes of messages: send, history, edit, delete, reactions, pins, typing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from . import posting
from .clock import moment_of
from .errors import ApiError, invalid_form, missing_permissions, unknown
from .intents import MESSAGE_CONTENT, censored, may_read
from .log import UploadedFile
from .models import FORUM, MEDIA, Attachment, Channel, Message
from .payloads import emoji_reference, message_json, user_json
from .permissions import Permission, may_send
from .routing import Call, Route
from .rules import check_message
from .world import World

HISTORY_LIMIT = 100


def store_files(
    world: World,
    channel_id: int,
    body: dict[str, Any],
    files: Sequence[UploadedFile],
    *,
    ephemeral: bool = False,
) -> list[Attachment]:
    """Keep the uploaded files of a message, with the descriptions its `attachments` give."""
    described = {str(item.get("id")): item for item in body.get("attachments") or []}
    stored = []
    for file in files:
        index = file.field_name.removeprefix("files[").removesuffix("]")
        detail = described.get(index, {})
        name = detail.get("filename") or file.filename
        stored.append(
            world.add_file(
                channel_id,
                name,
                file.content,
                file.content_type,
                description=detail.get("description"),
                ephemeral=ephemeral,
            )
        )
    return stored


def shown(call: Call, message: Message) -> dict[str, Any]:
    """Return a message as the bot may read it."""
    world = call.world
    payload = message_json(message, call.server.cdn_url, bot_id=world.bot.id)
    bits = MESSAGE_CONTENT if call.server.reads_content else 0
    readable = may_read(bits, message, bot_id=world.bot.id, application_id=world.application_id)
    return payload if readable else censored(payload)


def _writable(call: Call) -> Channel:
    channel = call.world.channel_for_bot(call.id("channel_id"))
    if channel.type in (FORUM, MEDIA) or channel.type == 4:
        raise ApiError(400, 50008, "Cannot send messages in a non-text channel")
    bits = call.world.permissions(call.world.bot.id, channel)
    if not may_send(bits, channel):
        raise missing_permissions()
    if channel.archived and channel.locked:
        raise ApiError(400, 50083, "Thread is archived")
    for needed, present in (
        (Permission.ATTACH_FILES, bool(call.record.files)),
        (Permission.EMBED_LINKS, bool(call.body.get("embeds"))),
    ):
        if present and not bits & needed:
            raise missing_permissions()
    return channel


def create_message(call: Call) -> Any:
    """Send a message as the bot; a repeated enforced nonce returns the first one."""
    channel = _writable(call)
    body, world = call.body, call.world
    check_message(body, files=call.record.files)
    nonce = body.get("nonce")
    known = (
        world.nonces.get((channel.id, str(nonce)))
        if nonce is not None and body.get("enforce_nonce")
        else None
    )
    if known is not None:
        return shown(call, known)
    if channel.type == 1 and channel.recipients[0].id in call.server.closed_dms:
        raise ApiError(403, 50007, "Cannot send messages to this user")
    reference = body.get("message_reference") or {}
    if reference and not world.permissions(world.bot.id, channel) & Permission.READ_MESSAGE_HISTORY:
        raise ApiError(400, 160002, "Cannot reply without permission to read message history")
    target = _referenced(call, channel, reference)
    forward = reference.get("type") == 1
    message = posting.post(
        call.server,
        channel,
        world.bot,
        body.get("content") or "",
        reply_to=None if forward else target,
        forward=target if forward else None,
        allowed_mentions=body.get("allowed_mentions"),
        embeds=body.get("embeds") or [],
        components=body.get("components") or [],
        attachments=store_files(world, channel.id, body, call.record.files),
        nonce=nonce,
        tts=bool(body.get("tts")),
        flags=int(body.get("flags") or 0),
        application_id=world.application_id,
    )
    if nonce is not None:
        world.nonces[channel.id, str(nonce)] = message
    return shown(call, message)


def _referenced(call: Call, channel: Channel, reference: dict[str, Any]) -> Message | None:
    if not reference:
        return None
    source = call.world.channels.get(int(reference.get("channel_id") or channel.id))
    target = None if source is None else source.by_id.get(int(reference["message_id"]))
    if target is None and reference.get("fail_if_not_exists", True):
        raise invalid_form({"message_reference": "Unknown message"})
    return target


def list_messages(call: Call) -> Any:
    """Return history, newest first, paged by before, after or around."""
    channel = call.world.channel_for_bot(call.id("channel_id"))
    if not call.world.permissions(call.world.bot.id, channel) & Permission.READ_MESSAGE_HISTORY:
        return []
    limit = int(call.record.query.get("limit", 50))
    if not 1 <= limit <= HISTORY_LIMIT:
        raise invalid_form({"limit": f"int value should be between 1 and {HISTORY_LIMIT}."})
    before, after, around = (call.query_id(name) for name in ("before", "after", "around"))
    chosen = page(channel.order, limit, before=before, after=after, around=around)
    return [shown(call, channel.by_id[identifier]) for identifier in reversed(chosen)]


def page(
    order: list[int], limit: int, *, before: int | None, after: int | None, around: int | None
) -> list[int]:
    """Return the ids of one page of history in rising order."""
    if around is not None:
        older = [item for item in order if item < around][-(limit // 2) :] if limit > 1 else []
        newer = [item for item in order if item >= around][: limit - len(older)]
        return older + newer
    if after is not None:
        return [item for item in order if item > after][:limit]
    return [item for item in order if before is None or item < before][-limit:]


def get_message(call: Call) -> Any:
    """Return one message."""
    channel = call.world.channel_for_bot(call.id("channel_id"), Permission.READ_MESSAGE_HISTORY)
    return shown(call, call.world.message(channel, call.id("message_id")))


def update_message(call: Call) -> Any:
    """Edit a message of the bot."""
    channel = call.world.channel_for_bot(call.id("channel_id"))
    message = call.world.message(channel, call.id("message_id"))
    if message.author.id != call.world.bot.id:
        raise ApiError(403, 50005, "Cannot edit a message authored by another user")
    return edit_with(call, message)


def edit_with(call: Call, message: Message) -> dict[str, Any]:
    """Apply the request's body to a message after checking what would remain of it."""
    body = call.body
    remains = {key: body.get(key, getattr(message, key)) for key in ("content", "embeds", "components")}
    kept = message.attachments if "attachments" not in body else [*(body["attachments"] or [])]
    check_message(
        body | remains,
        files=call.record.files,
        empty_ok=bool(kept) or message.poll is not None,
        known_flags=message.flags,
    )
    files = store_files(call.world, message.channel_id, body, call.record.files, ephemeral=message.ephemeral)
    posting.edit(call.server, message, body, new_files=files)
    return shown(call, message)


def delete_message(call: Call) -> None:
    """Delete a message: the bot's own, or another's with Manage Messages."""
    channel = call.world.channel_for_bot(call.id("channel_id"))
    message = call.world.message(channel, call.id("message_id"))
    own = message.author.id == call.world.bot.id
    if not own and not call.world.permissions(call.world.bot.id, channel) & Permission.MANAGE_MESSAGES:
        raise missing_permissions()
    posting.delete(call.server, message)


def bulk_delete(call: Call) -> None:
    """Delete 2 to 100 messages that are younger than 14 days."""
    channel = call.world.channel_for_bot(call.id("channel_id"), Permission.MANAGE_MESSAGES)
    wanted = [int(item) for item in call.body.get("messages") or []]
    if not 2 <= len(wanted) <= 100:
        raise invalid_form({"messages": "Must be between 2 and 100 in length."})
    oldest = call.world.clock.wall() - timedelta(days=14)
    if any(moment_of(item) < oldest for item in wanted):
        raise ApiError(400, 50034, "You can only bulk delete messages that are under 14 days old.")
    found = [channel.by_id[item] for item in wanted if item in channel.by_id]
    posting.delete_bulk(call.server, channel, found)


def typing(call: Call) -> None:
    """Show "is typing"; only the request log keeps it."""
    channel = call.world.channel_for_bot(call.id("channel_id"))
    if not may_send(call.world.permissions(call.world.bot.id, channel), channel):
        raise missing_permissions()


def add_reaction(call: Call) -> None:
    """React as the bot."""
    channel = call.world.channel_for_bot(call.id("channel_id"), Permission.READ_MESSAGE_HISTORY)
    message = call.world.message(channel, call.id("message_id"))
    name = call.text("emoji_name")
    if name not in message.reactions:
        call.world.channel_for_bot(channel.id, Permission.ADD_REACTIONS)
    emoji_id = emoji_reference(name)["id"]
    if emoji_id is not None and int(emoji_id) not in call.world.app_emojis:
        raise unknown("Emoji")
    react(call, message, name, call.world.bot.id, added=True)


def remove_own_reaction(call: Call) -> None:
    """Take back a reaction of the bot."""
    channel = call.world.channel_for_bot(call.id("channel_id"))
    message = call.world.message(channel, call.id("message_id"))
    react(call, message, call.text("emoji_name"), call.world.bot.id, added=False)


def react(call: Call, message: Message, name: str, user_id: int, *, added: bool) -> None:
    """Set or clear one reaction and tell the gateway."""
    call.server.set_reaction(message, name, user_id, added=added)


def list_reactions(call: Call) -> Any:
    """Return who reacted with an emoji."""
    channel = call.world.channel_for_bot(call.id("channel_id"), Permission.READ_MESSAGE_HISTORY)
    message = call.world.message(channel, call.id("message_id"))
    users = message.reactions.get(call.text("emoji_name"), set())
    return [user_json(call.world.users[user_id]) for user_id in sorted(users)]


def clear_reactions(call: Call) -> None:
    """Remove every reaction of a message."""
    channel = call.world.channel_for_bot(call.id("channel_id"), Permission.MANAGE_MESSAGES)
    call.world.message(channel, call.id("message_id")).reactions.clear()


def pin(call: Call) -> None:
    """Pin a message."""
    _set_pin(call, True)


def unpin(call: Call) -> None:
    """Unpin a message."""
    _set_pin(call, False)


def _set_pin(call: Call, pinned: bool) -> None:
    channel = call.world.channel_for_bot(call.id("channel_id"), Permission.PIN_MESSAGES)
    call.world.message(channel, call.id("message_id")).pinned = pinned


_ONE = "/channels/{channel_id}/messages/{message_id}"
ROUTES: tuple[Route, ...] = (
    ("GET", "/channels/{channel_id}/messages", list_messages),
    ("POST", "/channels/{channel_id}/messages", create_message),
    ("POST", "/channels/{channel_id}/messages/bulk-delete", bulk_delete),
    ("PUT", "/channels/{channel_id}/messages/pins/{message_id}", pin),
    ("DELETE", "/channels/{channel_id}/messages/pins/{message_id}", unpin),
    ("PUT", "/channels/{channel_id}/pins/{message_id}", pin),
    ("DELETE", "/channels/{channel_id}/pins/{message_id}", unpin),
    ("GET", _ONE, get_message),
    ("PATCH", _ONE, update_message),
    ("DELETE", _ONE, delete_message),
    ("PUT", _ONE + "/reactions/{emoji_name}/@me", add_reaction),
    ("DELETE", _ONE + "/reactions/{emoji_name}/@me", remove_own_reaction),
    ("GET", _ONE + "/reactions/{emoji_name}", list_reactions),
    ("DELETE", _ONE + "/reactions", clear_reactions),
    ("POST", "/channels/{channel_id}/typing", typing),
)
