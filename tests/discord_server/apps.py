"""Other applications and plain webhooks in the same guild, for example one that proxies messages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import posting
from .models import Channel, Message, User, Webhook
from .options import as_attachment

if TYPE_CHECKING:
    from .server import DiscordServer


class ScriptedWebhook:
    """A webhook that somebody else posts through."""

    def __init__(self, server: DiscordServer, webhook: Webhook) -> None:
        """Post through `webhook`."""
        self._server = server
        self.webhook = webhook

    async def say(
        self,
        text: str,
        *,
        username: str | None = None,
        avatar_url: str | None = None,
        thread: Channel | None = None,
        attachments: Iterable[Any] = (),
        embeds: Iterable[dict[str, Any]] = (),
    ) -> Message:
        """Post a message under a name, in the webhook's channel or one of its threads."""
        channel = thread or self._server.world.channels[self.webhook.channel_id]
        face = User(self.webhook.id, username or self.webhook.name, bot=True, discriminator="0000")
        message = posting.post(
            self._server,
            channel,
            face,
            text,
            attachments=[as_attachment(self._server, channel, item) for item in attachments],
            embeds=embeds,
            webhook_id=self.webhook.id,
            avatar_url=avatar_url,
            application_id=self.webhook.application_id,
        )
        await asyncio.sleep(0)
        return message


class ScriptedApp:
    """Another application with its own bot account and webhooks."""

    def __init__(self, server: DiscordServer, user: User) -> None:
        """Act as the bot `user`, whose application_id is set."""
        self._server = server
        self.user = user
        self._hooks: dict[int, ScriptedWebhook] = {}

    @property
    def application_id(self) -> int:
        """The application's id."""
        return self.user.application_id or self.user.id

    def webhook(self, channel: Channel) -> ScriptedWebhook:
        """Return the application's webhook in a channel (a thread uses its parent's)."""
        home = self._server.world.channels[channel.parent_id or 0] if channel.is_thread else channel
        if home.id not in self._hooks:
            webhook = self._server.world.add_webhook(home, f"{self.user.username} Proxy", self.user)
            self._hooks[home.id] = ScriptedWebhook(self._server, webhook)
            self._server.webhooks_changed(home)
        return self._hooks[home.id]

    async def proxy(
        self,
        original: Message,
        username: str,
        text: str | None = None,
        *,
        delay: float = 0.0,
        delete_first: bool = False,
    ) -> Message:
        """Repeat a message under another name by webhook and delete the original, as PluralKit does."""
        channel = self._server.world.channels[original.channel_id]
        thread = channel if channel.is_thread else None
        await asyncio.sleep(delay)
        if delete_first:
            posting.delete(self._server, original)
        copy = await self.webhook(channel).say(
            original.content if text is None else text,
            username=username,
            thread=thread,
            attachments=[(item.filename, item.content, item.content_type) for item in original.attachments],
        )
        if not delete_first:
            posting.delete(self._server, original)
        await asyncio.sleep(0)
        return copy
