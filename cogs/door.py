"""The door: a Discord message becomes our event, with names for ids and notes for what is not text."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import discord

from bot.core.events import MessageEdited, MessagePosted
from bot.core.names import label_text
from bot.core.reading import attachment_note, readable, with_notes
from bot.core.types import Place

SPOKEN = (discord.MessageType.default, discord.MessageType.reply)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we are on Discord: needed to leave our own messages alone."""

    bot_id: int
    application_id: int
    webhook_ids: Collection[int] = ()


def is_ours(message: discord.Message, identity: Identity) -> bool:
    """Whether the bot itself or one of its webhooks wrote this."""
    if message.author.id == identity.bot_id:
        return True
    if message.webhook_id is None:
        return False
    return message.application_id == identity.application_id or message.webhook_id in identity.webhook_ids


def is_heard(message: discord.Message, identity: Identity) -> bool:
    """Whether a message may concern a scene at all. Cheap; nothing is read from the text.

    System messages, our own and those of bot accounts do not; webhooks pass (a proxy app may be behind one).
    """
    if message.type not in SPOKEN or is_ours(message, identity):
        return False
    return not (message.author.bot and message.webhook_id is None)


def place_of(channel: object, *, channel_id: int, guild_id: int | None) -> Place:
    """Return our word for a channel, thread, forum post or direct message."""
    parent_id = channel.parent_id if isinstance(channel, discord.Thread) else None
    name = getattr(channel, "name", None) or ("channel" if guild_id else "direct messages")
    return Place(id=channel_id, guild_id=guild_id or 0, name=str(name), parent_id=parent_id)


def read_message(
    message: discord.Message,
    identity: Identity,
    *,
    place: Place | None = None,
    author_name: str | None = None,
    backfilled: bool = False,
) -> MessagePosted | None:
    """Return what was said, or None when there is nothing to hear (`is_heard`, or an empty message).

    `place` and `author_name` replace what the message itself knows: messages from a channel's history come
    without the author's name in the guild.
    """
    if not is_heard(message, identity):
        return None
    text = spoken_text(message, author_name)
    if not text:
        return None
    return MessagePosted(
        place=place or message_place(message),
        message_id=message.id,
        author_id=message.author.id,
        author_name=author_name or message.author.display_name,
        text=text,
        created_at=message.created_at,
        mentions_bot=_addresses(message, identity),
        reply_to=_reply_to(message),
        webhook_id=message.webhook_id,
        application_id=message.application_id,
        is_bot=message.author.bot,
        backfilled=backfilled,
    )


def read_edit(payload: discord.RawMessageUpdateEvent) -> MessageEdited | None:
    """Return the new text of an edited message; None for updates that only add embeds, pins or the like."""
    edited_at = payload.message.edited_at
    if "content" not in payload.data or edited_at is None:
        return None
    return MessageEdited(
        place_id=payload.channel_id,
        message_id=payload.message_id,
        text=spoken_text(payload.message),
        edited_at=edited_at,
        author_id=payload.message.author.id,
    )


def message_place(message: discord.Message) -> Place:
    """Return where a message stands."""
    guild_id = message.guild.id if message.guild else getattr(message.channel, "guild_id", None)
    return place_of(message.channel, channel_id=message.channel.id, guild_id=guild_id)


def spoken_text(message: discord.Message, speaker: str | None = None) -> str:
    """Return the text as a reader sees it, then one note in brackets for each thing that is not text."""
    text = readable(
        message.content,
        users={user.id: user.display_name for user in message.mentions},
        channels={channel.id: channel.name for channel in message.channel_mentions},
        roles={role.id: role.name for role in message.role_mentions},
    )
    return with_notes(text, [*_notes(message, speaker or message.author.display_name)])


def is_spoken_to(message: discord.Message, identity: Identity) -> bool:
    """Whether somebody speaks to the bot itself: in a direct message, or by mentioning it."""
    return is_heard(message, identity) and _addresses(message, identity)


def _addresses(message: discord.Message, identity: Identity) -> bool:
    if message.guild is None and not getattr(message.channel, "guild_id", None):
        return True  # a direct message speaks to nobody else
    if any(user.id == identity.bot_id for user in message.mentions):
        return True
    own_role = message.guild.self_role if message.guild else None
    return own_role is not None and own_role in message.role_mentions


def _reply_to(message: discord.Message) -> int | None:
    reference = message.reference
    if reference is None or message.message_snapshots:
        return None
    return reference.message_id


def _notes(message: discord.Message, speaker: str) -> Iterator[str]:
    yield from (_attachment(speaker, attachment) for attachment in message.attachments)
    yield from (f"[{label_text(speaker)} shows a sticker: {one.name}]" for one in message.stickers)
    if message.poll is not None:
        answers = ", ".join(answer.text or "…" for answer in message.poll.answers)
        yield f"[{label_text(speaker)} asks in a poll: {message.poll.question} – {answers}]"
    for snapshot in message.message_snapshots:
        notes = [_attachment("it", attachment) for attachment in snapshot.attachments]
        inner = with_notes(readable(snapshot.content), notes)
        yield f"[{label_text(speaker)} forwards a message: {inner or 'without text'}]"


def _attachment(speaker: str, attachment: discord.Attachment) -> str:
    return attachment_note(speaker, attachment.filename, attachment.content_type)
