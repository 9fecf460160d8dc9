"""Keeps the one webhook of each channel: found, made once, forgotten when deleted."""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import discord

from bot.core.types import Place

log = logging.getLogger(__name__)

WEBHOOK_NAME: Final = "Troupe"
REFUSED_FOR_S: Final = 300.0
"""How long a channel that allows no webhook is not asked again."""
TOO_MANY: Final = frozenset({30007, 30058})
_Home = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.ForumChannel


class CannotUseWebhooks(Exception):
    """No webhook here; the text names the true reason and what a moderator can do."""


@dataclass(frozen=True, slots=True)
class WebhookKey:
    """What sending needs. `channel_id` is the parent's in threads and forum posts."""

    id: int
    token: str
    channel_id: int


class WebhookShelf:
    """One webhook per channel, also when many ask at once. Ours is one whose token Discord shows us."""

    def __init__(
        self, *, client: discord.Client, ids: set[int], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """`ids` collects the ids of our webhooks, for whoever must leave their messages alone."""
        self._client = client
        self.ids = ids
        self._monotonic = monotonic
        self._keys: dict[int, WebhookKey] = {}
        self._refused: dict[int, tuple[float, str]] = {}
        self._locks: weakref.WeakValueDictionary[int, asyncio.Lock] = weakref.WeakValueDictionary()

    async def get(self, place: Place) -> WebhookKey:
        """The webhook to speak through. `CannotUseWebhooks` where there is none and none may be made."""
        home_id = place.parent_id or place.id
        lock = self._locks.setdefault(home_id, asyncio.Lock())
        async with lock:
            key = self._keys.get(home_id)
            if key is None:
                self._still_refused(home_id)
                key = await self._find_or_make(home_id)
                self._keys[home_id] = key
                self.ids.add(key.id)
            return key

    def forget(self, place: Place) -> None:
        """The webhook is gone: the next `get` looks anew."""
        self._keys.pop(place.parent_id or place.id, None)

    def _still_refused(self, home_id: int) -> None:
        until, reason = self._refused.get(home_id, (0.0, ""))
        if self._monotonic() < until:
            raise CannotUseWebhooks(reason)

    async def _find_or_make(self, home_id: int) -> WebhookKey:
        home = await self._home(home_id)
        try:
            for webhook in await home.webhooks():
                if webhook.type is discord.WebhookType.incoming and webhook.token and self._is_ours(webhook):
                    return WebhookKey(webhook.id, webhook.token, home.id)
            made = await home.create_webhook(name=WEBHOOK_NAME, reason="Personas speak through it")
        except discord.Forbidden as problem:
            raise self._refusal(home_id, f"I lack Manage Webhooks in #{home.name}.") from problem
        except discord.HTTPException as problem:
            if problem.code not in TOO_MANY:
                raise
            reason = (
                f"#{home.name} has as many webhooks as Discord allows (15 a channel). "
                "Delete one under Edit Channel → Integrations."
            )
            raise self._refusal(home_id, reason) from problem
        if not made.token:
            raise self._refusal(home_id, f"Discord gave no token for the webhook in #{home.name}.")
        return WebhookKey(made.id, made.token, home.id)

    def _is_ours(self, webhook: discord.Webhook) -> bool:
        user = self._client.user
        return user is not None and webhook.user is not None and webhook.user.id == user.id

    def _refusal(self, home_id: int, reason: str) -> CannotUseWebhooks:
        log.warning("Channel %s: personas speak in plain messages: %s", home_id, reason)
        self._refused[home_id] = (self._monotonic() + REFUSED_FOR_S, reason)
        return CannotUseWebhooks(reason)

    async def _home(self, home_id: int) -> _Home:
        channel = self._client.get_channel(home_id) or await self._client.fetch_channel(home_id)
        if isinstance(channel, discord.Thread):  # the place did not know its parent
            parent = channel.parent or await self._client.fetch_channel(channel.parent_id)
            channel = parent
        if isinstance(channel, _Home):
            return channel
        raise CannotUseWebhooks("This kind of channel has no webhooks.")
