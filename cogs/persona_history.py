"""/persona history: what a persona was before, shown, compared and brought back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from discord import app_commands, ui
from discord.ext import commands

from bot.core.stores import PersonaRevision
from bot.core.types import Persona
from cogs.answers import Asked, Buttons, say, shorten, text_file, think
from cogs.audit import note
from cogs.names import Choices, here, persona_choices

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe

SHOWN: Final = 15
OFFERED: Final = 25


class PersonaHistoryCommands(commands.Cog):
    """A part of the group `/persona`; `cogs.persona` puts it together."""

    _troupe: Troupe

    @app_commands.command(description="Former versions of a persona, and bringing one back")
    @app_commands.describe(persona="Which one")
    async def history(self, interaction: Asked, persona: str) -> None:
        """Newest first, with what each change touched; the texts are attached."""
        await think(interaction)
        found = await self._troupe.personas.find(here(interaction).space_id, persona)
        former = await self._troupe.personas.history(found.id)
        if not former:
            await say(interaction, f"**{found.name}** was never changed.")
            return
        later: list[Mapping[str, object]] = [found.card, *(one.card for one in former)]
        lines = [
            f"`{one.revision}` · until <t:{int(one.replaced_at.timestamp())}:f> · {one.name} · then changed: "
            f"{changed_fields(one.card, after, picture=one.picture_replaced)}"
            for one, after in zip(former[:SHOWN], later, strict=False)
        ]
        if len(former) > SHOWN:
            lines.append(f"… and {len(former) - SHOWN} older ones.")
        lines.append(f"Now: revision `{found.revision}`. Choose one below to bring it back; memories stay.")
        await say(
            interaction,
            "\n".join(lines),
            view=RestoreChoice(troupe=self._troupe, persona=found, former=former[:OFFERED]),
            files=[text_file("history.txt", _texts(former))],
        )

    @history.autocomplete("persona")
    async def _complete_changed(self, interaction: Asked, current: str) -> Choices:
        return await persona_choices(self._troupe, interaction, current)


class RestoreChoice(Buttons):
    """A menu of former versions."""

    def __init__(self, *, troupe: Troupe, persona: Persona, former: Sequence[PersonaRevision]) -> None:
        super().__init__()
        self._troupe, self._persona = troupe, persona
        for one in former:
            about = shorten(str(one.card.get("description") or ""), 90) or None
            label = shorten(f"{one.revision}: {one.name}", 100)
            self.chosen.add_option(label=label, value=str(one.revision), description=about)

    @ui.select(placeholder="Bring back …")
    async def chosen(self, interaction: Asked, select: ui.Select[RestoreChoice]) -> None:
        """The present version becomes part of the history."""
        await interaction.response.defer()
        number = int(select.values[0])
        restored = await self._troupe.personas.restore(self._persona.id, number)
        await note(self._troupe, interaction, "persona history", f"{restored.name} as in revision {number}")
        self.stop()
        await interaction.edit_original_response(
            content=f"**{restored.name}** is again as in revision `{number}`. What it was until now is "
            f"revision `{restored.revision - 1}`.",
            view=None,
            attachments=[],
        )


def changed_fields(before: Mapping[str, object], after: Mapping[str, object], *, picture: bool) -> str:
    """The keys that differ, in words."""
    keys = [key for key in dict.fromkeys([*before, *after]) if before.get(key) != after.get(key)]
    told = [key.replace("_", " ") for key in keys] + (["its picture"] if picture else [])
    return ", ".join(told) or "nothing"


def _texts(former: Sequence[PersonaRevision]) -> str:
    parts = []
    for one in former[:OFFERED]:
        parts.append(f"===== revision {one.revision}, until {one.replaced_at:%Y-%m-%d %H:%M} UTC =====")
        parts += [f"[{key}]\n{value}" for key, value in one.card.items() if isinstance(value, str) and value]
    return "\n\n".join(parts)
