"""Personas that wait for a moderator, and the age that personas are for."""

from __future__ import annotations

import asyncio

from bot.core.stores import PersonaStore
from bot.core.trust import Channels
from bot.core.types import Persona, Place
from bot.engine.notices import AGE_RESTRICTED
from bot.errors import UserFacing

NOT_WAITING = "That persona does not wait any more."


class Approval:
    """Permissions are the caller's job."""

    def __init__(self, *, store: PersonaStore, channels: Channels) -> None:
        self._store = store
        self._channels = channels
        self._deciding = asyncio.Lock()

    async def waiting(self, space_id: int) -> list[Persona]:
        """Those that nobody finds yet, by name."""
        return await self._store.waiting(space_id)

    async def approve(self, space_id: int, persona_id: int) -> Persona:
        """From now on it can be found and played. `UserFacing` when it does not wait in this space."""
        async with self._deciding:
            await self._one_waiting(space_id, persona_id)
            return await self._store.approve(persona_id)

    async def reject(self, space_id: int, persona_id: int) -> Persona:
        """It is gone. `UserFacing` when it does not wait in this space."""
        async with self._deciding:
            persona = await self._one_waiting(space_id, persona_id)
            await self._store.delete(persona_id)
        return persona

    def check_age(self, place: Place, persona: Persona) -> None:
        """`UserFacing` when the persona may not play in this channel."""
        if persona.age_restricted and not self._channels.about(place).age_restricted:
            raise UserFacing(f"**{persona.name}**: {AGE_RESTRICTED}")

    async def _one_waiting(self, space_id: int, persona_id: int) -> Persona:
        persona = await self._store.get(persona_id)
        if persona is None or persona.space_id != space_id or persona.approved:
            raise UserFacing(NOT_WAITING)
        return persona
