"""/persona style: the replies that keep a persona's voice here; pinned, dropped, renewed, given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import discord
from discord import app_commands, ui
from discord.ext import commands

from bot.core.mood import describe
from bot.core.persona_text import MOST_SAMPLES
from bot.core.types import Persona, Place, StyleSample
from bot.engine.samples import LONGEST_GIVEN
from cogs.answers import Asked, Buttons, Form, say, shorten, think
from cogs.audit import note
from cogs.names import Choices, here, persona_choices

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe

MOST_LISTED: Final = 25
"""What a menu offers."""
_ROOM: Final = 1500
_NONE: Final = "There are none yet: its first good replies here become its samples, or **Add** one."
_ABOUT: Final = (
    f"A prompt shows {MOST_SAMPLES}: the pinned ones first, then those that fit the mood. What was said in a "
    "channel is a sample only there; what you add holds everywhere."
)


class PersonaStyleCommands(commands.Cog):
    """A part of the group `/persona`; `cogs.persona` puts it together."""

    _troupe: Troupe

    @app_commands.command(description="The replies that keep a persona's voice here: pin, drop, renew, add")
    @app_commands.describe(persona="Whose voice")
    async def style(self, interaction: Asked, persona: str) -> None:
        """A list with a menu and buttons."""
        await think(interaction)
        place = here(interaction)
        found = await self._troupe.personas.find(place.space_id, persona)
        samples = await self._troupe.samples.of(found.id, place.id)
        view = Style(self._troupe, place, found, samples)
        await say(interaction, view.told(), view=view)

    @style.autocomplete("persona")
    async def _complete_styled(self, interaction: Asked, current: str) -> Choices:
        return await persona_choices(self._troupe, interaction, current)


class Style(Buttons):
    """The samples of one persona in one place, one of them chosen."""

    def __init__(
        self,
        troupe: Troupe,
        place: Place,
        persona: Persona,
        samples: Sequence[StyleSample],
        chosen: int | None = None,
    ) -> None:
        super().__init__()
        self._troupe, self._place, self._persona = troupe, place, persona
        self._samples = samples[-MOST_LISTED:]
        one = next((sample for sample in self._samples if sample.id == chosen), None)
        self._chosen = one
        if not self._samples:
            for item in (self.choose, self.pin, self.drop, self.renew):
                self.remove_item(item)
            return
        for number, sample in enumerate(self._samples, 1):
            label = shorten(f"{number}. {sample.text}", 100)
            self.choose.add_option(label=label, value=str(sample.id), default=sample is one)
        self.pin.disabled = self.drop.disabled = one is None
        self.pin.label = "Unpin" if one is not None and one.pinned else "Pin"

    def told(self, done: str = "") -> str:
        """What was done, and the samples as they are now."""
        each = _ROOM // max(1, len(self._samples))
        lines = [f"{number}. {_line(sample, each)}" for number, sample in enumerate(self._samples, 1)]
        head = f"**How {self._persona.name} sounds here** ({len(self._samples)})"
        return "\n".join([*([done] if done else []), head, *(lines or [_NONE]), f"-# {_ABOUT}"])

    @ui.select(placeholder="Choose one …")
    async def choose(self, interaction: Asked, select: ui.Select[Style]) -> None:
        """The buttons are about this one."""
        await interaction.response.defer()
        await self.show(interaction, "", int(select.values[0]))

    @ui.button(label="Pin", style=discord.ButtonStyle.primary)
    async def pin(self, interaction: Asked, _: ui.Button[Style]) -> None:
        """It stays whatever comes, and is shown first; or no longer."""
        await interaction.response.defer()
        assert self._chosen is not None
        pinned = not self._chosen.pinned
        await self._troupe.samples.pin(self._persona, self._place, self._chosen.id, pinned=pinned)
        await self._done(interaction, "Pinned." if pinned else "No longer pinned.", self._chosen.id)

    @ui.button(label="Drop", style=discord.ButtonStyle.danger)
    async def drop(self, interaction: Asked, _: ui.Button[Style]) -> None:
        """It is replayed no more."""
        await interaction.response.defer()
        assert self._chosen is not None
        await self._troupe.samples.drop(self._persona, self._place, self._chosen.id)
        await self._done(interaction, "Dropped.")

    @ui.button(label="Renew", style=discord.ButtonStyle.secondary)
    async def renew(self, interaction: Asked, _: ui.Button[Style]) -> None:
        """All of this channel that are not pinned go."""
        await interaction.response.defer()
        await self._troupe.samples.renew(self._persona, self._place)
        await self._done(interaction, "Its next good replies here become its samples. Pinned ones stay.")

    @ui.button(label="Add", style=discord.ButtonStyle.secondary)
    async def add(self, interaction: Asked, _: ui.Button[Style]) -> None:
        """Opens a form for one in words."""
        await interaction.response.send_modal(SampleForm(self))

    async def given(self, interaction: Asked, text: str) -> None:
        """Store a sample in words and show the list with it."""
        await interaction.response.defer()
        await self._troupe.samples.give(self._persona, text)
        await self._done(interaction, "Added.")

    async def _done(self, interaction: Asked, done: str, chosen: int | None = None) -> None:
        await note(self._troupe, interaction, "persona style", f"{self._persona.name}: {done}")
        await self.show(interaction, done, chosen)

    async def show(self, interaction: Asked, done: str, chosen: int | None) -> None:
        """The same message with what is there now."""
        self.stop()
        samples = await self._troupe.samples.of(self._persona.id, self._place.id)
        view = Style(self._troupe, self._place, self._persona, samples, chosen)
        await interaction.edit_original_response(content=view.told(done), view=view)


class SampleForm(Form):
    """A sample in words."""

    def __init__(self, style: Style) -> None:
        super().__init__(title="A sample of its voice")
        self._style = style
        self._text: ui.TextInput[SampleForm] = ui.TextInput(
            custom_id="text", style=discord.TextStyle.paragraph, max_length=LONGEST_GIVEN
        )
        self.add_item(ui.Label(text="As it would say it", component=self._text))

    async def on_submit(self, interaction: Asked, /) -> None:
        """Stores it."""
        await self._style.given(interaction, self._text.value)


def _line(sample: StyleSample, longest: int) -> str:
    marks = [*(["📌"] if sample.pinned else []), *(["everywhere"] if sample.place_id is None else [])]
    if sample.emotion is not None and (felt := describe(sample.emotion, n=2)) != "calm":
        marks.append(felt)
    mark = f" *({', '.join(marks)})*" if marks else ""
    return f"{shorten(sample.text, max(40, min(200, longest - len(mark) - 6)))}{mark}"
