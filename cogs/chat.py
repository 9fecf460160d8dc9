"""Hears what happens in channels and passes it on, in the order of arrival, before anything can wait."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import discord
from discord.ext import commands

from bot.core.events import Event, MessagePosted, MessagesDeleted
from cogs.door import Identity, is_heard, read_edit, read_message
from cogs.presence import PresentNames

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe

log = logging.getLogger(__name__)

NO_CONTENT = (
    "Discord sends messages without their text: switch on “Message Content Intent” in the developer portal "
    "(Bot → Privileged Gateway Intents). Until then personas hear only messages that mention the bot."
)


class Chat(commands.Cog):
    """The listeners. No listener awaits: discord.py starts them in order, so order is kept by not waiting."""

    def __init__(self, *, troupe: Troupe, identity: Callable[[], Identity], present: PresentNames) -> None:
        self._troupe = troupe
        self._identity = identity
        self._present = present
        self.text_is_missing = False
        """Whether a message came without its text (the intent is off), for `/settings show`."""

    @commands.Cog.listener("on_message")
    async def message_posted(self, message: discord.Message) -> None:
        """A new message."""
        identity = self._identity()
        event = read_message(message, identity)
        if event is None:
            self._notice_missing_text(message, identity)
            return
        if event.webhook_id is None and self._troupe.is_live(event.place.id):
            self._present.note(event.place.id, event.author_id, event.author_name)
        self._hear(event)

    @commands.Cog.listener("on_raw_message_edit")
    async def message_edited(self, payload: discord.RawMessageUpdateEvent) -> None:
        """A message's text changed; also of messages from before the start."""
        if not is_heard(payload.message, self._identity()):
            return
        event = read_edit(payload)
        if event is not None:
            self._hear(event)

    @commands.Cog.listener("on_raw_message_delete")
    async def message_deleted(self, payload: discord.RawMessageDeleteEvent) -> None:
        """One message is gone."""
        self._hear(MessagesDeleted(payload.channel_id, (payload.message_id,)))

    @commands.Cog.listener("on_raw_bulk_message_delete")
    async def messages_deleted(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        """Many messages are gone at once."""
        self._hear(MessagesDeleted(payload.channel_id, tuple(sorted(payload.message_ids))))

    def _hear(self, event: Event) -> None:
        log.debug("Place %s: heard %s", event_place(event), event)
        self._troupe.hear(event)

    def _notice_missing_text(self, message: discord.Message, identity: Identity) -> None:
        if self.text_is_missing or message.guild is None or not is_heard(message, identity):
            return
        if message.content or message.attachments or message.embeds or message.stickers or message.poll:
            return
        if message.components or message.message_snapshots:
            return
        self.text_is_missing = True
        log.warning(NO_CONTENT)


def event_place(event: Event) -> int:
    """The id of the place where something happened."""
    return event.place.id if isinstance(event, MessagePosted) else event.place_id
