"""REST routes of webhooks, and the shared addresses under which interactions send follow-ups."""

from __future__ import annotations

from typing import Any

from . import interactions, posting
from .errors import ApiError, invalid_form, unknown
from .models import FORUM, MEDIA, Channel, Message, User, Webhook
from .payloads import webhook_json
from .permissions import Permission
from .routes_messages import edit_with, shown, store_files
from .routing import Call, Reply, Route, number
from .rules import check_avatar_url, check_message, check_thread_name, check_webhook_name

PER_CHANNEL = 15


def create_webhook(call: Call) -> Any:
    """Create a webhook in a channel; at most 15 each."""
    channel = call.world.channel_for_bot(call.id("channel_id"), Permission.MANAGE_WEBHOOKS)
    if channel.is_thread or channel.type in (1, 4):
        raise ApiError(400, 50024, "Cannot execute action on this channel type", rule=True)
    check_webhook_name(call.body.get("name"))
    if len([item for item in call.world.webhooks.values() if item.channel_id == channel.id]) >= PER_CHANNEL:
        raise ApiError(400, 30007, f"Maximum number of webhooks reached ({PER_CHANNEL})")
    webhook = call.world.add_webhook(channel, call.body["name"], call.world.bot)
    webhook.avatar = "a" * 32 if call.body.get("avatar") else None
    call.server.webhooks_changed(channel)
    return webhook_json(webhook, with_token=True)


def _listed(call: Call, webhook: Webhook) -> dict[str, Any]:
    # The token of another application's webhook is not shown.
    foreign = webhook.application_id not in (None, call.world.application_id)
    return webhook_json(webhook, with_token=not foreign)


def channel_webhooks(call: Call) -> Any:
    """List the webhooks of a channel."""
    channel = call.world.channel_for_bot(call.id("channel_id"), Permission.MANAGE_WEBHOOKS)
    return [_listed(call, item) for item in call.world.webhooks.values() if item.channel_id == channel.id]


def guild_webhooks(call: Call) -> Any:
    """List the webhooks of a guild."""
    guild = call.world.guild_for_bot(call.id("guild_id"))
    if not call.world.guild_bits(guild, call.world.bot.id) & Permission.MANAGE_WEBHOOKS:
        raise ApiError(403, 50013, "Missing Permissions")
    return [_listed(call, item) for item in call.world.webhooks.values() if item.guild_id == guild.id]


def _owned(call: Call) -> Webhook:
    webhook = call.world.webhooks.get(call.id("webhook_id"))
    if webhook is None:
        raise unknown("Webhook")
    call.world.channel_for_bot(webhook.channel_id, Permission.MANAGE_WEBHOOKS)
    return webhook


def _by_token(call: Call) -> Webhook:
    webhook = call.world.webhooks.get(call.id("webhook_id"))
    if webhook is None:
        raise unknown("Webhook")
    if webhook.token != call.text("webhook_token"):
        raise ApiError(401, 50027, "Invalid Webhook Token")
    return webhook


def get_webhook(call: Call) -> Any:
    """Return a webhook to the bot."""
    return _listed(call, _owned(call))


def get_by_token(call: Call) -> Any:
    """Return a webhook to whoever has its token."""
    return webhook_json(_by_token(call), with_token=True)


def update_webhook(call: Call) -> Any:
    """Rename or move a webhook."""
    return webhook_json(_changed(call, _owned(call)), with_token=True)


def update_by_token(call: Call) -> Any:
    """Rename a webhook by its token."""
    return webhook_json(_changed(call, _by_token(call)), with_token=True)


def _changed(call: Call, webhook: Webhook) -> Webhook:
    if "name" in call.body:
        check_webhook_name(call.body["name"])
        webhook.name = str(call.body["name"]).strip()
    if "avatar" in call.body:
        webhook.avatar = "a" * 32 if call.body["avatar"] else None
    if call.body.get("channel_id"):
        webhook.channel_id = number(str(call.body["channel_id"]))
    call.server.webhooks_changed(call.world.channels[webhook.channel_id])
    return webhook


def delete_webhook(call: Call) -> None:
    """Delete a webhook as the bot."""
    call.server.delete_webhook(_owned(call))


def delete_by_token(call: Call) -> None:
    """Delete a webhook by its token."""
    call.server.delete_webhook(_by_token(call))


def _is_interaction(call: Call) -> bool:
    return call.id("webhook_id") == call.world.application_id


def execute(call: Call) -> Any:
    """Post through a webhook, or send the follow-up of an interaction."""
    if _is_interaction(call):
        return shown(call, interactions.follow_up(call))
    webhook = _by_token(call)
    body = call.body
    if body.get("username") is not None:
        check_webhook_name(body["username"], "username")
    check_avatar_url(body.get("avatar_url"))
    check_message(body, files=call.record.files)
    if body.get("components") and webhook.application_id is None:
        raise invalid_form({"components": "Only webhooks of applications may send components."})
    channel, message_id = _target(call, webhook)
    face = User(webhook.id, str(body.get("username") or webhook.name).strip(), bot=True, discriminator="0000")
    message = posting.post(
        call.server,
        channel,
        face,
        body.get("content") or "",
        allowed_mentions=body.get("allowed_mentions") or {"parse": ["users"]},
        embeds=body.get("embeds") or [],
        components=body.get("components") or [],
        attachments=store_files(call.world, channel.id, body, call.record.files),
        message_id=message_id,
        tts=bool(body.get("tts")),
        flags=int(body.get("flags") or 0),
        webhook_id=webhook.id,
        avatar_url=body.get("avatar_url"),
        application_id=webhook.application_id,
    )
    return shown(call, message) if call.flag("wait") else Reply(204)


def _target(call: Call, webhook: Webhook) -> tuple[Channel, int | None]:
    home = call.world.channels.get(webhook.channel_id)
    if home is None:
        raise unknown("Channel")
    thread_id, thread_name = call.query_id("thread_id"), call.body.get("thread_name")
    if home.type in (FORUM, MEDIA) and thread_id is None and thread_name is None:
        raise ApiError(
            400, 220001, "Webhooks posted to forum channels must have a thread_name or thread_id", rule=True
        )
    if thread_id is not None and thread_name is not None:
        raise ApiError(400, 220002, "Webhooks can only have one of thread_name or thread_id", rule=True)
    if thread_name is not None:
        if home.type not in (FORUM, MEDIA):
            raise ApiError(400, 220003, "Webhooks can only create threads in forum channels", rule=True)
        check_thread_name(thread_name)
        identifier = call.world.new_id()
        thread = call.world.add_thread(home, str(thread_name), webhook.id, thread_id=identifier)
        call.server.thread_created(thread)
        return thread, identifier
    if thread_id is None:
        return home, None
    found = call.world.channels.get(thread_id)
    if found is None or found.parent_id != home.id:
        raise unknown("Channel")
    if found.archived and found.locked:
        raise ApiError(400, 50083, "Thread is archived")
    return found, None


def _webhook_message(call: Call) -> Message:
    webhook = _by_token(call)
    home = call.world.channels.get(webhook.channel_id)
    thread_id = call.query_id("thread_id")
    channel = call.world.channels.get(thread_id) if thread_id is not None else home
    if channel is None or home is None or (thread_id is not None and channel.parent_id != home.id):
        raise unknown("Channel")
    message = channel.by_id.get(call.id("message_id"))
    if message is None or message.webhook_id != webhook.id:
        raise unknown("Message")
    return message


def _message(call: Call) -> Message:
    return interactions.message_of(call) if _is_interaction(call) else _webhook_message(call)


def get_message(call: Call) -> Any:
    """Return a message of a webhook or interaction."""
    return shown(call, _message(call))


def update_message(call: Call) -> Any:
    """Edit a message of a webhook or interaction."""
    message = _message(call)
    if _is_interaction(call):
        return shown(call, interactions.edit_message(call, message))
    return edit_with(call, message)


def delete_message(call: Call) -> None:
    """Delete a message of a webhook or interaction."""
    posting.delete(call.server, _message(call))


_ONE = "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"
_ORIGINAL = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"
ROUTES: tuple[Route, ...] = (
    ("POST", "/channels/{channel_id}/webhooks", create_webhook),
    ("GET", "/channels/{channel_id}/webhooks", channel_webhooks),
    ("GET", "/guilds/{guild_id}/webhooks", guild_webhooks),
    ("GET", "/webhooks/{webhook_id}", get_webhook),
    ("PATCH", "/webhooks/{webhook_id}", update_webhook),
    ("DELETE", "/webhooks/{webhook_id}", delete_webhook),
    ("GET", "/webhooks/{webhook_id}/{webhook_token}", get_by_token),
    ("PATCH", "/webhooks/{webhook_id}/{webhook_token}", update_by_token),
    ("DELETE", "/webhooks/{webhook_id}/{webhook_token}", delete_by_token),
    ("POST", "/webhooks/{webhook_id}/{webhook_token}", execute),
    ("GET", _ORIGINAL, get_message),
    ("PATCH", _ORIGINAL, update_message),
    ("DELETE", _ORIGINAL, delete_message),
    ("GET", _ONE, get_message),
    ("PATCH", _ONE, update_message),
    ("DELETE", _ONE, delete_message),
)
