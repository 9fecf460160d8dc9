"""/persona import and export: character cards come in as files and leave as files, whole."""

from __future__ import annotations

import io
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import discord
from discord import app_commands, ui
from discord.ext import commands

from bot.core.card_file import CardFile
from bot.core.types import Persona
from bot.engine.pasts import carried
from bot.errors import NameTaken, UserFacing
from cogs.answers import Asked, Buttons, counted, say, shorten, think
from cogs.audit import note
from cogs.names import Choices, here, persona_choices
from cogs.uploads import UploadForm, read_file

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe

CardFormat = Literal["png", "json", "charx"]
MOST_NOTES: Final = 12


@dataclass(frozen=True, slots=True)
class CardFiles:
    """How card files are read and written; every failure is `UserFacing`."""

    read: Callable[[bytes, str], Awaitable[CardFile]]
    read_lorebook: Callable[[bytes, str], Awaitable[Mapping[str, Any]]]
    write_png: Callable[[Mapping[str, Any], bytes | None], Awaitable[bytes]]
    write_json: Callable[[Mapping[str, Any]], Awaitable[bytes]]
    write_charx: Callable[[Mapping[str, Any], bytes | None, bytes | None], Awaitable[bytes]]


class PersonaFileCommands(commands.Cog):
    """A part of the group `/persona`; `cogs.persona` puts it together."""

    _troupe: Troupe
    _files: CardFiles

    @app_commands.command(name="import", description="Add a persona from a character card (PNG, JSON, CHARX)")
    @app_commands.describe(card="The card; without it a form opens that takes several at once")
    async def import_card(self, interaction: Asked, card: discord.Attachment | None = None) -> None:
        """One card with a full report, or several with a line each."""
        if card is None:
            about = "PNG, JSON or CHARX, at most 10 MiB each"
            form = UploadForm(
                title="Import personas", label="Character cards", about=about, received=self._import_all
            )
            await interaction.response.send_modal(form)
            return
        await think(interaction)
        await self._import_one(interaction, card)

    async def _import_one(self, interaction: Asked, attachment: discord.Attachment) -> None:
        card = await self._files.read(await read_file(attachment), attachment.filename)
        space_id = here(interaction).space_id
        try:
            persona = await add_persona(
                self._troupe,
                space_id,
                card.data,
                by=interaction.user.id,
                avatar=card.avatar,
                archive=card.archive,
            )
            await note(self._troupe, interaction, "persona import", persona.name)
        except NameTaken:
            known = await self._troupe.personas.find(space_id, card.data["name"][:80])
            free = await self._troupe.personas.free_name(space_id, known.name)
            await say(
                interaction,
                f"There is a persona called **{known.name}** already. Replace its card (its memories stay, "
                f"the old card goes into `/persona history`), or keep both and call this one **{free}**?",
                view=NameChoice(files=self, card=card, known=known, free=free),
            )
            return
        await say(interaction, imported(persona, card, self._troupe.personas.too_large(persona)))

    async def _import_all(self, interaction: Asked, attachments: Sequence[discord.Attachment]) -> None:
        if len(attachments) == 1:
            await self._import_one(interaction, attachments[0])
            return
        lines = []
        for attachment in attachments:
            try:
                card = await self._files.read(await read_file(attachment), attachment.filename)
                persona = await add_persona(
                    self._troupe,
                    here(interaction).space_id,
                    card.data,
                    by=interaction.user.id,
                    avatar=card.avatar,
                    archive=card.archive,
                )
                await note(self._troupe, interaction, "persona import", persona.name)
                trouble = self._troupe.personas.too_large(persona)
                lines.append(imported(persona, card, trouble, short=True))
            except NameTaken:
                lines.append(
                    f"**{attachment.filename}**: a persona of this name is here already. "
                    "Import the file alone to replace it or to keep both."
                )
            except UserFacing as problem:
                lines.append(f"**{attachment.filename}**: {problem}")
        await say(interaction, "\n".join(lines))

    async def finish_import(
        self, interaction: Asked, card: CardFile, *, known: Persona, name: str | None
    ) -> str:
        """Add the card under another name, or replace the known persona's; the report."""
        if name is None:
            data, past = carried(card.data)
            persona = await self._troupe.personas.replace_card(
                known.id, data, avatar=card.avatar, archive=card.archive
            )
            await self._troupe.pasts.taken_over(persona, past)
        else:
            persona = await add_persona(
                self._troupe,
                here(interaction).space_id,
                card.data,
                by=interaction.user.id,
                avatar=card.avatar,
                archive=card.archive,
                name=name,
            )
        how = "" if name else ": its card was replaced"
        await note(self._troupe, interaction, "persona import", f"{persona.name}{how}")
        return imported(persona, card, self._troupe.personas.too_large(persona))

    @app_commands.command(description="A persona as a character card, to take away")
    @app_commands.describe(
        persona="Which one", format="A picture with the card, the bare card, or an archive"
    )
    async def export(self, interaction: Asked, persona: str, format: CardFormat = "png") -> None:
        """Nothing of the card is left out; an archive also holds the other files it came with."""
        await think(interaction)
        found = await self._troupe.personas.find(here(interaction).space_id, persona)
        card = await self._troupe.pasts.exported(found, await self._troupe.personas.exported(found))
        if format == "png":
            raw = await self._files.write_png(card, found.avatar)
        elif format == "json":
            raw = await self._files.write_json(card)
        else:
            archive = await self._troupe.personas.archive(found)
            raw = await self._files.write_charx(card, found.avatar, archive)
        if len(raw) > interaction.filesize_limit:
            raise UserFacing(too_large_to_send(len(raw), interaction.filesize_limit, format))
        file = discord.File(io.BytesIO(raw), filename=f"{file_name(found.name)}.{format}")
        await say(interaction, f"The card of **{found.name}**, whole.", files=[file])

    @export.autocomplete("persona")
    async def _complete_exported(self, interaction: Asked, current: str) -> Choices:
        return await persona_choices(self._troupe, interaction, current)


class NameChoice(Buttons):
    """Asks what to do with a card whose name is taken."""

    def __init__(self, *, files: PersonaFileCommands, card: CardFile, known: Persona, free: str) -> None:
        super().__init__()
        self._files, self._card, self._known, self._free = files, card, known, free
        self.keep_both.label = shorten(f"Keep both: {free}", 80)

    @ui.button(label="Replace it", style=discord.ButtonStyle.danger)
    async def replace_it(self, interaction: Asked, _: ui.Button[NameChoice]) -> None:
        """The old card becomes part of the history."""
        await self._finish(interaction, None)

    @ui.button(label="Keep both", style=discord.ButtonStyle.secondary)
    async def keep_both(self, interaction: Asked, _: ui.Button[NameChoice]) -> None:
        """Under a name of its own."""
        await self._finish(interaction, self._free)

    async def _finish(self, interaction: Asked, name: str | None) -> None:
        self.stop()
        await interaction.response.defer()
        told = await self._files.finish_import(interaction, self._card, known=self._known, name=name)
        await interaction.edit_original_response(content=shorten_lines(told), view=None)


async def add_persona(
    troupe: Troupe,
    space_id: int,
    data: Mapping[str, Any],
    *,
    by: int,
    avatar: bytes | None,
    archive: bytes | None = None,
    name: str | None = None,
) -> Persona:
    """Make a persona of a card, with the past that the card carries."""
    card, past = carried(data)
    persona = await troupe.personas.add(space_id, card, by=by, avatar=avatar, archive=archive, name=name)
    await troupe.pasts.taken_over(persona, past)
    return persona


def imported(persona: Persona, card: CardFile, too_large: str, *, short: bool = False) -> str:
    """What was read: name, sizes, greetings, lore, picture, unknown macros, what was mended or is too big."""
    report = card.report
    counts = [
        counted(report.greetings, "greeting"),
        counted(report.lore_entries, "lore entry", "lore entries"),
    ]
    if report.assets:
        counts.append(f"{counted(report.assets, 'asset')} listed")
    if past := len(carried(card.data)[1]):
        counts.append(counted(past, "memory of its past", "memories of its past"))
    counts.append("its picture" if card.avatar else "a drawn picture")
    lines = [f"**{persona.name}** is here, from a {report.kind} card: {', '.join(counts)}."]
    if not short:
        sizes = ", ".join(f"{key.replace('_', ' ')} {size:,}" for key, size in report.sizes.items())
        lines.append(f"Characters: {sizes or 'none'}.")
    if report.unknown_macros:
        shown = ", ".join(
            f"`{shorten(macro, 40).replace('`', '')}`" for macro in report.unknown_macros[:MOST_NOTES]
        )
        lines.append(f"Macros I do not know stay as text: {shown}.")
    lines += [f"- {note}" for note in report.mended[:MOST_NOTES]]
    if too_large:
        lines.append(f"⚠️ {too_large}")
    if not short:
        lines.append("Next: `/scene start` in a channel, or `/persona edit`.")
    return "\n".join(lines)


def too_large_to_send(size: int, limit: int, format: CardFormat) -> str:
    """What to say of a file that Discord would not take; the archive is the smallest of the formats."""
    told = f"That file has {size / 2**20:.1f} MiB, and Discord takes {limit / 2**20:.0f} MiB here."
    return told if format == "charx" else f"{told} `format:charx` is packed and smaller."


def file_name(name: str) -> str:
    """A file's name that Discord leaves as it is."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "persona"


def shorten_lines(text: str, limit: int = 1990) -> str:
    """At most `limit` characters, cut at a line."""
    return text if len(text) <= limit else text[:limit].rsplit("\n", 1)[0] + "\n…"
