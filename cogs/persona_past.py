"""/persona remember and memories: the past that a persona brings into every scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import discord
from discord import app_commands
from discord.ext import commands

from bot.core.types import Memory, Persona
from bot.errors import UserFacing
from cogs.answers import Asked, say, shorten, think
from cogs.audit import note
from cogs.confirm import Confirm
from cogs.names import Choices, here, persona_choices
from cogs.uploads import decoded, read_file

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe

LARGEST_BANK: Final = 5 * 1024 * 1024


class PersonaPastCommands(commands.Cog):
    """A part of the group `/persona`; `cogs.persona` puts it together."""

    _troupe: Troupe

    @app_commands.command(description="Give a persona a past of its own, from a file")
    @app_commands.describe(
        persona="Whose past", file="Markdown, JSON lines or dialogues; at most 5,000 memories"
    )
    async def remember(self, interaction: Asked, persona: str, file: discord.Attachment) -> None:
        """Repeats are merged; the persona recalls these wherever it plays."""
        await think(interaction)
        found = await self._troupe.personas.find(here(interaction).space_id, persona)
        text = decoded(await read_file(file, LARGEST_BANK), file.filename)
        done = await self._troupe.pasts.remember(found, text)
        await note(self._troupe, interaction, "persona remember", f"{found.name}: {done.added} memories")
        told = f"**{found.name}** has {done.added:,} new memories of its past, {done.total:,} in all."
        if done.merged:
            told += f" {done.merged:,} repeats were merged."
        if done.cut:
            told += f" {done.cut:,} were longer than 2,000 characters and are cut."
        if done.broken:
            shown = ", ".join(map(str, done.broken[:10])) + (" …" if len(done.broken) > 10 else "")
            told += f" These lines are no JSON and were left out: {shown}."
        await say(interaction, f"{told}\n`/persona memories` lists them; they go along on `/persona export`.")

    @app_commands.command(description="The memories of a persona's past: list, search, remove")
    @app_commands.describe(
        persona="Whose past",
        query="Words that must be in them",
        forget="The number of one to remove, or `all`",
    )
    async def memories(
        self, interaction: Asked, persona: str, query: str | None = None, forget: str | None = None
    ) -> None:
        """With `forget`, one or (asking before) all are removed; with a query: all that it finds."""
        await think(interaction)
        found = await self._troupe.personas.find(here(interaction).space_id, persona)
        pasts = self._troupe.pasts
        listed = await (pasts.search(found, query) if query else pasts.all(found))
        if forget is not None:
            wanted = [one.id for one in listed] if forget.strip().lower() == "all" else [_number(forget)]
            await self._forget_past(interaction, found, wanted)
            return
        if not listed:
            none = f"**{found.name}** has no past yet. `/persona remember` gives one, from a file."
            if query:
                none = f"Nothing in the past of **{found.name}** holds “{shorten(query, 60)}”."
            await say(interaction, none)
            return
        head = f"**{found.name}**: {len(listed):,} memories of the past"
        await say(interaction, "\n".join([head, *map(_line, listed)]))

    async def _forget_past(self, interaction: Asked, persona: Persona, wanted: Sequence[int]) -> None:
        """One at once; for more a button asks first."""

        async def forget(answer: Asked) -> str:
            gone = await self._troupe.pasts.forget(persona, wanted)
            await note(self._troupe, answer, "persona memories", f"{persona.name} lost {len(gone)}")
            what = f"“{shorten(gone[0].text, 100)}”" if len(gone) == 1 else f"{len(gone):,} memories"
            return f"**{persona.name}** has forgotten {what}."

        if len(wanted) <= 1:
            await say(interaction, await forget(interaction))
            return
        await say(
            interaction,
            f"Remove {len(wanted):,} memories of the past of **{persona.name}**? "
            "Only `/persona export` before keeps a copy.",
            view=Confirm(label="Remove", action=forget),
        )

    @remember.autocomplete("persona")
    @memories.autocomplete("persona")
    async def _complete_past(self, interaction: Asked, current: str) -> Choices:
        return await persona_choices(self._troupe, interaction, current)


def _number(text: str) -> int:
    plain = text.strip().strip("`#")
    if not plain.isdecimal() or len(plain) > 18:
        raise UserFacing("Give the number of a memory, or `all`.")
    return int(plain)


def _line(memory: Memory) -> str:
    when = f" ({shorten(memory.story_time, 60)})" if memory.story_time else ""
    who = f"{memory.speaker}: " if memory.speaker else ""
    return f"`{memory.id}`{when} {shorten(who + memory.text, 200)}"
