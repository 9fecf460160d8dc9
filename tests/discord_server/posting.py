"""Messages appear, change and vanish: the one path that users, the bot, webhooks and interactions share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from . import intents
from .clock import moment_of
from .errors import unknown
from .mentions import pings
from .models import COMPONENTS_V2_FLAG, EPHEMERAL_FLAG, Attachment, Channel, Message, User
from .payloads import content_json, ids, member_json, message_json
from .permissions import Permission
from .rendering import rendered_components, rendered_embeds

if TYPE_CHECKING:
    from .server import DiscordServer


def post(
    server: DiscordServer,
    channel: Channel,
    author: User,
    content: str = "",
    *,
    reply_to: Message | None = None,
    forward: Message | None = None,
    allowed_mentions: dict[str, Any] | None = None,
    embeds: Iterable[dict[str, Any]] = (),
    components: Iterable[dict[str, Any]] = (),
    attachments: Iterable[Attachment] = (),
    message_id: int | None = None,
    at: datetime | None = None,
    **extra: Any,
) -> Message:
    """Create a message, file it and tell the gateway; `extra` are further fields of Message."""
    if channel.archived and not channel.locked:
        channel.archived = False
        server.channel_changed(channel)
    identifier = message_id or server.world.new_id(at)
    message = Message(
        id=identifier,
        channel_id=channel.id,
        guild_id=channel.guild_id,
        author=author,
        timestamp=moment_of(identifier),
        content=content.strip(),
        embeds=rendered_embeds(embeds),
        components=rendered_components(components),
        attachments=list(attachments),
        allowed_mentions=allowed_mentions,
        **extra,
    )
    if reply_to is not None:
        message.type = 19 if message.type == 0 else message.type
        message.reference, message.referenced = _reference(reply_to, 0), reply_to
    if forward is not None:
        message.reference = _reference(forward, 1)
        message.snapshots = [{"message": content_json(forward, server.cdn_url)}]
    resolve_pings(server, channel, message)
    if message.flags & EPHEMERAL_FLAG:
        server.world.ephemeral[message.id] = message
    else:
        channel.add(message)
    publish(server, "MESSAGE_CREATE", message)
    return message


def _reference(target: Message, kind: int) -> dict[str, Any]:
    reference = {"type": kind, "channel_id": str(target.channel_id), "message_id": str(target.id)}
    return reference if target.guild_id is None else reference | {"guild_id": str(target.guild_id)}


def resolve_pings(server: DiscordServer, channel: Channel, message: Message) -> None:
    """Fill the mention fields of a message from its text and allowed_mentions."""
    world = server.world
    guild = world.guild_of(channel)
    if guild is None:
        users = {user.id: user for user in [world.bot, *channel.recipients]}
    else:
        users = {member.user.id: member.user for member in guild.members.values()}
    crowd = guild is not None and bool(
        message.webhook_id is not None
        or world.permissions(message.author.id, channel) & Permission.MENTION_EVERYONE
    )
    replied = message.referenced if message.type == 19 else None
    found = pings(
        message.content,
        users=users,
        guild=guild,
        may_mention_everyone=crowd,
        allowed=message.allowed_mentions,
        replied_to=replied.author if replied is not None and replied.webhook_id is None else None,
    )
    message.mentions, message.mention_roles = found.users, found.roles
    message.mention_everyone = found.everyone


def edit(
    server: DiscordServer,
    message: Message,
    changes: dict[str, Any],
    *,
    new_files: Iterable[Attachment] = (),
    stamp: bool = True,
) -> None:
    """Apply the fields of an edit request and tell the gateway; without `stamp` it is no edit by a person."""
    channel = server.world.channels.get(message.channel_id)
    if channel is None:
        raise unknown("Channel")
    if "content" in changes:
        message.history.append(message.content)
        message.content = str(changes["content"] or "").strip()
    if "flags" in changes and changes["flags"] is not None:
        message.flags |= int(changes["flags"]) & COMPONENTS_V2_FLAG
    if "embeds" in changes:
        message.embeds = rendered_embeds(changes["embeds"] or [])
    if "components" in changes:
        message.components = rendered_components(changes["components"] or [])
    if "attachments" in changes:
        kept = {str(item.get("id")) for item in changes["attachments"] or []}
        message.attachments = [item for item in message.attachments if str(item.id) in kept]
    message.attachments += list(new_files)
    if "content" in changes or "allowed_mentions" in changes:
        message.allowed_mentions = changes.get("allowed_mentions")
        resolve_pings(server, channel, message)
    if stamp:
        message.edited_at = server.world.clock.wall()
    publish(server, "MESSAGE_UPDATE", message)


def delete(server: DiscordServer, message: Message) -> None:
    """Remove a message and tell the gateway."""
    _forget(server, message)
    payload: dict[str, Any] = {"id": str(message.id), "channel_id": str(message.channel_id)}
    _announce_removal(server, "MESSAGE_DELETE", message, payload)


def delete_bulk(server: DiscordServer, channel: Channel, messages: list[Message]) -> None:
    """Remove many messages with one gateway event."""
    for message in messages:
        _forget(server, message)
    if messages:
        payload = {"ids": ids(message.id for message in messages), "channel_id": str(channel.id)}
        _announce_removal(server, "MESSAGE_DELETE_BULK", messages[0], payload)


def _forget(server: DiscordServer, message: Message) -> None:
    channel = server.world.channels.get(message.channel_id)
    message.deleted = True
    server.world.ephemeral.pop(message.id, None)
    for attachment in message.attachments:
        attachment.expired = True
    if channel is not None:
        channel.remove(message)


def _announce_removal(server: DiscordServer, event: str, message: Message, payload: dict[str, Any]) -> None:
    channel = server.world.channels.get(message.channel_id)
    guild_id = None if message.ephemeral else message.guild_id
    if guild_id is not None:
        payload["guild_id"] = str(guild_id)
    if channel is not None and (message.ephemeral or server.world.bot_sees(channel)):
        server.gateway.dispatch(event, payload, guild_id=guild_id)
    server.changed.notify()


def publish(server: DiscordServer, event: str, message: Message) -> None:
    """Send a message event to each session, censored where the content intent is missing."""
    server.changed.notify()
    world = server.world
    channel = world.channels.get(message.channel_id)
    if channel is None or not (message.ephemeral or world.bot_sees(channel)):
        return
    full = message_json(message, server.cdn_url, bot_id=world.bot.id)
    guild = world.guild_of(channel)
    # An ephemeral message comes like a direct message: without guild and member.
    guild_id = None if message.ephemeral else message.guild_id
    if guild is not None and guild_id is not None:
        full["guild_id"] = str(guild_id)
        member = guild.members.get(message.author.id)
        if member is not None and message.webhook_id is None:
            full["member"] = member_json(member, with_user=False)
        for mention in full["mentions"]:
            mentioned = guild.members.get(int(mention["id"]))
            if mentioned is not None:
                mention["member"] = member_json(mentioned, with_user=False)
    hidden = intents.censored(full)

    def view(session: Any) -> dict[str, Any]:
        readable = intents.may_read(
            session.intents, message, bot_id=world.bot.id, application_id=world.application_id
        )
        return full if readable else hidden

    server.gateway.dispatch(event, view, guild_id=guild_id)
