"""Channels whose memories feed others, because a moderator said so, as long as their rights allow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.core.ports import Scope
from bot.core.stores import SceneStore
from bot.core.trust import Channels, Link, LinkStore
from bot.core.types import Place
from bot.errors import UserFacing

MOST: Final = 5
"""Channels that may feed one: each is one more search before a reply."""


@dataclass(frozen=True, slots=True)
class Feed:
    """A link that reaches into a place, or out of it, and whether it works now."""

    place: Place
    source: Place
    allowed: bool


class Sharing:
    """Permissions of the asker are the caller's job; those of the channels are looked at in each recall."""

    def __init__(self, *, links: LinkStore, scenes: SceneStore, channels: Channels) -> None:
        self._links = links
        self._scenes = scenes
        self._channels = channels

    async def share(self, place: Place, source_id: int, *, by: int) -> Place:
        """From now on what is remembered in the source may come up in the place; the source.

        `UserFacing` when there is nothing to share, too much, or the source is private and the place is not.
        """
        if source_id == place.id:
            raise UserFacing("A channel has its own memories anyway. Choose another one.")
        source, target = await self._scenes.place(source_id), await self._scenes.place(place.id)
        if source is None or source.space_id != place.space_id:
            raise UserFacing(f"Nothing was ever played in <#{source_id}>, so it has no memories to share.")
        if target is None:
            raise UserFacing("Nothing was ever played here yet. `/scene start` begins a scene.")
        if not self.allows(source, place):
            raise UserFacing(
                f"<#{source_id}> is not visible to everyone and this channel is: what is remembered there "
                "must not come up here. Share the other way round, or make this channel private as well."
            )
        if len(await self._links.into(place.id)) >= MOST:
            raise UserFacing(f"{MOST} channels feed this one already; `/scene unshare` takes one away.")
        link = Link(place_id=place.id, source_id=source_id, space_id=place.space_id, created_by=by)
        if not await self._links.add(link):
            raise UserFacing(f"<#{source_id}> feeds this channel already.")
        return source

    async def unshare(self, place: Place, source_id: int) -> None:
        """Not any more. `UserFacing` when it does not."""
        if not await self._links.remove(place.id, source_id):
            raise UserFacing(f"<#{source_id}> does not feed this channel. `/settings show` tells which do.")

    async def around(self, place: Place) -> list[Feed]:
        """The links into a place, then those out of it."""
        links = await self._links.of_space(place.space_id)
        found = []
        for link in sorted(links, key=lambda one: one.place_id != place.id):
            if place.id in (link.place_id, link.source_id):
                target, source = await self._ends(link)
                if target is not None and source is not None:
                    found.append(Feed(target, source, self.allows(source, target)))
        return found

    async def scopes(self, place_id: int, audiences: Sequence[int]) -> list[Scope]:
        """Where recall may look beside the place's own story: in each source, the story that is played there.

        A source that is not visible to everyone never feeds a place that is, whatever was so when it was
        linked; and of what is not known the careful thing is assumed.
        """
        found = []
        for link in await self._links.into(place_id) if audiences else ():
            target, source = await self._ends(link)
            if target is None or source is None or not self.allows(source, target):
                continue
            scenes = await self._scenes.of_place(source.id)
            played = next((scene for scene in scenes if scene.active), next(iter(scenes), None))
            if played is not None:
                found.append(Scope(source.space_id, source.id, played.story_id, tuple(audiences)))
        return found

    def allows(self, source: Place, place: Place) -> bool:
        """Whether the rights of both channels let memories pass now."""
        where_from, where_to = self._channels.about(source), self._channels.about(place)
        if source.space_id != place.space_id or not place.guild_id:
            return False
        return where_from.known and where_to.known and (where_from.for_everyone or not where_to.for_everyone)

    async def _ends(self, link: Link) -> tuple[Place | None, Place | None]:
        return await self._scenes.place(link.place_id), await self._scenes.place(link.source_id)
