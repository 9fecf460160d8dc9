"""/memory: look into what is remembered here, and forget parts of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from discord import app_commands
from discord.ext import commands

from bot.core.types import Memory, MemoryKind, Place, Scratchpad
from bot.errors import UserFacing
from cogs.answers import Asked, say, shorten, think
from cogs.names import Choices, here, in_time, matching
from cogs.permissions import Right, right_of

if TYPE_CHECKING:
    from bot.engine.memory import FoundMemory
    from bot.engine.troupe import Troupe

FOUND: Final = 10
LOOKED_AT: Final = 25


class Memories(commands.GroupCog, name="memory", description="What I remember here"):
    """Moderators and game masters see all of this place; a member what is the member's own."""

    def __init__(self, *, troupe: Troupe) -> None:
        super().__init__()
        self._troupe = troupe

    @app_commands.command(description="Search what is remembered of this channel")
    @app_commands.describe(query="Words or a question")
    async def search(self, interaction: Asked, query: app_commands.Range[str, 1, 300]) -> None:
        """The best finds, with dates and numbers."""
        await think(interaction)
        found = await self._found(interaction, here(interaction), query)
        if not found:
            await say(interaction, f"I found nothing about “{shorten(query, 80)}” that you may see here.")
            return
        lines = [
            f"`{one.memory.id}` · {_when(one)} · {_with_speaker(one.memory, 300)}" for one in found[:FOUND]
        ]
        lines.append("-# `/memory forget` with such a number removes one.")
        await say(interaction, "\n".join(lines))

    @app_commands.command(description="The notes of this scene")
    async def scratchpad(self, interaction: Asked) -> None:
        """As the persona gets them."""
        await think(interaction)
        await say(interaction, _notes(await self._troupe.memories.scratchpad(here(interaction).id)))

    @app_commands.command(description="Forget one memory for good")
    @app_commands.describe(memory="Type what it is about and choose one, or its number")
    async def forget(self, interaction: Asked, memory: str) -> None:
        """The engine checks that it is the member's own, or that a moderator asks."""
        await think(interaction)
        number = memory.strip().strip("`#")
        if not number.isdecimal() or len(number) > 18:
            raise UserFacing("Choose a memory from the list, or give its number from `/memory search`.")
        moderator = await self._sees_all(interaction, Right.MODERATOR)
        gone = await self._troupe.memories.forget(
            here(interaction), int(number), by=interaction.user.id, moderator=moderator
        )
        what = f": {shorten(gone.text, 100)}" if gone.text else "."
        await say(interaction, f"Memory `{number}` is forgotten{what}")

    @forget.autocomplete("memory")
    async def _complete_memory(self, interaction: Asked, current: str) -> Choices:
        if not current.strip():
            return []
        found = await in_time(self._found(interaction, here(interaction), current))
        pairs = ((f"{one.when} · {_with_speaker(one.memory, 80)}", str(one.memory.id)) for one in found or ())
        return matching(pairs, "")

    async def _found(self, interaction: Asked, place: Place, query: str) -> list[FoundMemory]:
        found = await self._troupe.memories.search(place, query, limit=LOOKED_AT)
        if await self._sees_all(interaction, Right.GAME_MASTER):
            return found
        return [one for one in found if interaction.user.id in one.memory.owner_ids]

    async def _sees_all(self, interaction: Asked, needed: Right) -> bool:
        return await right_of(interaction, self._troupe.options) >= needed


def _when(found: FoundMemory) -> str:
    return f"{found.when} · *{found.earlier}*" if found.earlier else found.when


def _with_speaker(memory: Memory, limit: int) -> str:
    if not memory.speaker:
        return shorten(memory.text, limit)
    if memory.kind is MemoryKind.TURN:
        return shorten(f"{memory.speaker}: {memory.text}", limit)
    return shorten(f"{memory.text} (as {memory.speaker} said)", limit)


def _notes(scratchpad: Scratchpad) -> str:
    if not scratchpad.lines:
        return "There are no notes yet. They are written after about ten turns."
    sections: dict[str, list[str]] = {}
    for line in scratchpad.lines:
        sections.setdefault(line.section, []).append(f"- {line.text}")
    return "\n".join(f"**{section}**\n" + "\n".join(lines) for section, lines in sections.items())
