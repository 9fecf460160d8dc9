"""/memory: look into what is remembered here, add to it, put it right, and forget parts of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from discord import app_commands
from discord.ext import commands

from bot.core.knowledge import Always, Entity, KnownFact
from bot.core.names import fold
from bot.core.pictures import DrawTimeline
from bot.core.types import NOBODY, Place, Scratchpad
from bot.errors import UserFacing
from cogs.answers import Asked, say, shorten, think
from cogs.audit import note
from cogs.drawn import as_file, legend
from cogs.memory_views import (
    Choice,
    ChooseOne,
    Handling,
    List,
    earlier_notes,
    feelings,
    kept_choice,
    with_speaker,
)
from cogs.names import Choices, here, in_time, matching
from cogs.permissions import Right, right_of

if TYPE_CHECKING:
    from bot.engine.memory import FoundMemory
    from bot.engine.pages import Entry, Page
    from bot.engine.troupe import Troupe

FOUND: Final = 10
LOOKED_AT: Final = 25


class Memories(commands.GroupCog, name="memory", description="What I remember here"):
    """Moderators and game masters see all of this place; a member what is the member's own."""

    def __init__(self, *, troupe: Troupe, draw: DrawTimeline) -> None:
        super().__init__()
        self._troupe = troupe
        self._draw = draw

    @app_commands.command(description="Search what is remembered of this channel")
    @app_commands.describe(query="Words or a question")
    async def search(self, interaction: Asked, query: app_commands.Range[str, 1, 300]) -> None:
        """The best finds, with dates and numbers; each opens with its buttons."""
        await think(interaction)
        found = (await self._found(interaction, here(interaction), query))[:FOUND]
        if not found:
            await say(interaction, f"I found nothing about “{shorten(query, 80)}” that you may see here.")
            return
        lines = [
            f"`{one.memory.id}` · {_when(one)} · {feelings(one.memory)}{with_speaker(one.memory, 300)}"
            for one in found
        ]
        handling = await self._handling(interaction)
        choices = [handling.choice(one.memory, _when(one)) for one in found]
        await say(interaction, "\n".join(lines), view=ChooseOne(List("Forget, pin or show one …", choices)))

    @app_commands.command(description="Note something that the personas here know from now on")
    @app_commands.describe(text="One sentence; it goes to the page of whom it names first")
    async def add(self, interaction: Asked, text: app_commands.Range[str, 1, 300]) -> None:
        """A fact without a turn that it comes from."""
        await think(interaction)
        added = await self._troupe.pages.add(here(interaction), text, by=interaction.user.id)
        known = added.memory.id if isinstance(added, KnownFact) else added.id
        await note(self._troupe, interaction, "memory add", f"memory {known}")
        if isinstance(added, KnownFact):
            about = f" It stands on the page of {added.entity.name}."
            await say(interaction, f"Noted as `{added.memory.id}`.{about}")
        else:
            await say(interaction, f"Noted as `{added.id}`.")

    @app_commands.command(description="What is known of a person, a place or a thing")
    @app_commands.describe(name="Choose from the list")
    async def who(self, interaction: Asked, name: app_commands.Range[str, 1, 100]) -> None:
        """Dated facts, oldest first; each opens with its buttons."""
        await think(interaction)
        place = here(interaction)
        page = await self._troupe.pages.who(place, name, member=await self._only_own(interaction))
        entries = page.all_entries
        if not entries:
            await say(interaction, f"Nothing is known of {page.entity.name} yet.")
            return
        handling = await self._handling(interaction)
        choices = [handling.choice(entry.memory, _entry_when(entry)) for entry in entries[-LOOKED_AT:]]
        await say(interaction, _page(page), view=ChooseOne(List("Edit, pin or forget one …", choices)))

    @who.autocomplete("name")
    async def _complete_name(self, interaction: Asked, current: str) -> Choices:
        member = await in_time(self._only_own(interaction))
        entities = await in_time(self._troupe.pages.names(here(interaction), member=member)) or []
        return matching(_labelled(interaction, entities), current)

    @app_commands.command(description="The notes of this scene, and what is always in mind")
    async def scratchpad(self, interaction: Asked) -> None:
        """As the persona gets them; pins and standing instructions can be removed."""
        await think(interaction)
        place = here(interaction)
        notes = _notes(await self._troupe.memories.scratchpad(place.id))
        kept = await self._troupe.keeping.always(place)
        handling = await self._handling(interaction)
        choices = [kept_choice(handling, pin) for pin in kept.pins] if handling.moderator else []
        choices += [self._wish(place, wish.id, wish.text) for wish in kept.wishes]
        lists = [List("Remove what is always in mind …", choices)]
        lists.append(List("Earlier notes …", await self._earlier(place, moderator=handling.moderator)))
        view = ChooseOne(*lists) if any(one.choices for one in lists) else None
        await say(interaction, "\n".join([notes, *_kept(kept)]), view=view)

    async def _earlier(self, place: Place, *, moderator: bool) -> list[Choice]:
        return [
            earlier_notes(self._troupe, place, revision, _notes(revision), moderator=moderator)
            for revision in (await self._troupe.keeping.history(place))[1:]
        ]

    def _wish(self, place: Place, wish_id: int, text: str) -> Choice:
        async def remove(interaction: Asked) -> None:
            gone = await self._troupe.keeping.drop_wish(place, wish_id)
            await note(self._troupe, interaction, "memory scratchpad", "a standing instruction was removed")
            await say(interaction, f"No longer kept: {shorten(gone, 200)}")

        return Choice(f"Standing: {text}", remove)

    @app_commands.command(description="A picture of how this scene felt, with its strongest moments")
    async def timeline(self, interaction: Asked) -> None:
        """Feelings over the turns; the strongest memories in words as well."""
        await think(interaction)
        found = await self._troupe.memories.timeline(here(interaction))
        picture = await self._draw(found)
        lines = [f"**{found.title}**: {len(found.feelings)} turns", *legend(picture)]
        if picture is None:
            lines += ["The picture could not be drawn.", *(f"- {text}" for _, text in found.labels)]
        await say(interaction, "\n".join(lines), files=as_file(picture, "timeline.png"))

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
        if interaction.user.id not in gone.owner_ids:
            await note(self._troupe, interaction, "memory forget", f"memory {number}")
        what = f": {shorten(gone.text, 100)}" if gone.text else "."
        await say(interaction, f"Memory `{number}` is forgotten{what}")

    @forget.autocomplete("memory")
    async def _complete_memory(self, interaction: Asked, current: str) -> Choices:
        if not current.strip():
            return []
        found = await in_time(self._found(interaction, here(interaction), current))
        pairs = ((f"{one.when} · {with_speaker(one.memory, 80)}", str(one.memory.id)) for one in found or ())
        return matching(pairs, "")

    async def _found(self, interaction: Asked, place: Place, query: str) -> list[FoundMemory]:
        found = await self._troupe.memories.search(place, query, limit=LOOKED_AT)
        if await self._sees_all(interaction, Right.GAME_MASTER):
            return found
        return [one for one in found if interaction.user.id in one.memory.owner_ids]

    async def _only_own(self, interaction: Asked) -> int | None:
        """The asker, when they may only see what is about themselves."""
        return None if await self._sees_all(interaction, Right.GAME_MASTER) else interaction.user.id

    async def _handling(self, interaction: Asked) -> Handling:
        moderator = await self._sees_all(interaction, Right.MODERATOR)
        return Handling(self._troupe, here(interaction), moderator)

    async def _sees_all(self, interaction: Asked, needed: Right) -> bool:
        return await right_of(interaction, self._troupe.options) >= needed


def _when(found: FoundMemory) -> str:
    return f"{found.when} · *{found.earlier}*" if found.earlier else found.when


def _entry_when(entry: Entry) -> str:
    return f"{entry.when} · *{entry.earlier}*" if entry.earlier else entry.when


def _page(page: Page) -> str:
    lines = [f"**{page.entity.name}** ({page.entity.kind})", *map(_entry_line, page.entries)]
    for other in page.others:
        lines += [f"**also as {other.entity.name}**", *map(_entry_line, other.entries)]
    return "\n".join(lines)


def _entry_line(entry: Entry) -> str:
    return f"`{entry.memory.id}` · {_entry_when(entry)} · {with_speaker(entry.memory, 300)}"


def _labelled(interaction: Asked, entities: Sequence[Entity]) -> list[tuple[str, str]]:
    """Names with what they are; members of one name are told apart by their Discord names."""
    often = Counter(fold(entity.name) for entity in entities)
    pairs = []
    for entity in entities:
        told: str = entity.kind.value
        if entity.owner_id != NOBODY and often[fold(entity.name)] > 1:
            member = interaction.guild.get_member(entity.owner_id) if interaction.guild else None
            told = f"@{member.name}" if member else f"member …{entity.owner_id % 10_000:04}"
        pairs.append((f"{entity.name} · {told}", str(entity.id)))
    return pairs


def _kept(kept: Always) -> list[str]:
    if not kept.pins:
        return []
    return ["**pinned**", *(f"- {shorten(pin.text, 300)}" for pin in kept.pins)]


def _notes(scratchpad: Scratchpad) -> str:
    if not scratchpad.lines:
        return "There are no notes yet. They are written after about ten turns."
    sections: dict[str, list[str]] = {}
    for line in scratchpad.lines:
        sections.setdefault(line.section, []).append(f"- {line.text}")
    return "\n".join(f"**{section}**\n" + "\n".join(lines) for section, lines in sections.items())
