"""How long things are kept: a server's days, a while after its removal, no longer than the channel."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Final

from bot.core.privacy import PrivacyStore
from bot.core.spending import UsageStore
from bot.core.stores import SceneStore, SettingsStore
from bot.engine.options import Options
from bot.engine.privacy import Privacy

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 3600.0
SPENDING_DAYS: Final = 62
"""For so long at most it is known on whom tokens were spent: this month and the last."""
_LEFT: Final = "servers left"


class Retention:
    """Deletes what its time is up for. Where nothing is said about time, nothing is deleted."""

    def __init__(
        self,
        *,
        privacy: Privacy,
        store: PrivacyStore,
        scenes: SceneStore,
        settings: SettingsStore,
        usage: UsageStore,
        options: Options,
        now: Callable[[], datetime],
    ) -> None:
        self._privacy = privacy
        self._store = store
        self._scenes = scenes
        self._settings = settings
        self._usage = usage
        self._options = options
        self._now = now
        self._changing = asyncio.Lock()
        """Held from the look at the servers that were left until what follows from it is done."""

    # ------------------------------------------------------------ what Discord tells
    async def left(self, guild_id: int) -> None:
        """The bot was removed from a server: after its `grace_days` all of it is deleted."""
        if guild_id in await self._store.known_spaces():
            async with self._changing:
                await self._set_left({guild_id: self._now(), **await self._left()})
            log.info("Server %s was left; what is kept of it waits to be deleted", guild_id)

    async def joined(self, guild_id: int) -> None:
        """The bot is back: nothing is deleted."""
        async with self._changing:
            back = await self._no_longer_left(guild_id)
        if back:
            log.info("Server %s is back; nothing of it is deleted", guild_id)

    async def present_in(self, guild_ids: Collection[int]) -> None:
        """At a start: in which servers the bot is. What happened meanwhile is caught up on."""
        guilds = {place.guild_id for place in await self._scenes.places() if place.guild_id}
        for guild_id in guilds.difference(guild_ids):
            await self.left(guild_id)
        for guild_id in guild_ids:
            await self.joined(guild_id)

    async def channel_gone(self, channel_id: int) -> None:
        """A channel or thread was deleted: it and its threads are forgotten, as its messages are."""
        for place in await self._scenes.places():
            if channel_id in (place.id, place.parent_id):
                await self._privacy.forget_place(place)

    # ------------------------------------------------------------ time
    async def step(self) -> float:
        """Delete what is due; the seconds until the next look."""
        now = self._now()
        for guild_id in await self._left():
            async with self._changing:
                since = (await self._left()).get(guild_id)
                grace = timedelta(days=await self._days(guild_id, "grace_days"))
                if since is not None and now - since >= grace:
                    await self._privacy.purge(guild_id)
                    await self._no_longer_left(guild_id)
        oldest = await self._usage.oldest()
        for space_id in await self._store.known_spaces():
            days = await self._days(space_id, "retention_days")
            if days:
                await self._privacy.expire(space_id, now - timedelta(days=days))
            kept = (now - timedelta(days=min(days or SPENDING_DAYS, SPENDING_DAYS))).date()
            if space_id in oldest and oldest[space_id] < kept:
                await self._usage.fold(space_id, kept)
        return LOOK_SECONDS

    async def _days(self, space_id: int, key: str) -> int:
        await self._options.load(space_id)
        return int(str(self._options.known(space_id)[key]))

    async def _left(self) -> dict[int, datetime]:
        stored = json.loads(await self._settings.value(_LEFT) or "{}")
        return {int(guild_id): datetime.fromisoformat(since) for guild_id, since in stored.items()}

    async def _no_longer_left(self, guild_id: int) -> bool:
        left = await self._left()
        if left.pop(guild_id, None) is None:
            return False
        await self._set_left(left)
        return True

    async def _set_left(self, left: dict[int, datetime]) -> None:
        stored = {str(guild_id): since.isoformat() for guild_id, since in left.items()}
        await self._settings.set_value(_LEFT, json.dumps(stored))
