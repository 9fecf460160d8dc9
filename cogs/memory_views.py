"""What stands below answers about memory: a list to choose one from, and what can be done with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import discord
from discord import ui

from bot.core.emotion import strongest
from bot.core.types import Memory, MemoryKind, Place, Scratchpad, Turn
from cogs.answers import Asked, Buttons, Form, say, shorten
from cogs.audit import note

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe

MOST: Final = 25
STRONG: Final = 4.5
"""Intensity (1 to 10) from which an emotion is shown."""
EMOJI: Final = {
    "joy": "😊",
    "acceptance": "🤝",
    "fear": "😨",
    "surprise": "😮",
    "sadness": "😢",
    "disgust": "🤢",
    "anger": "😠",
    "anticipation": "🤞",
}
LABEL: Final = 90


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of a list: what it says, and what happens when it is chosen."""

    label: str
    chosen: Callable[[Asked], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class List:
    """A list under an answer, and what stands on it while nothing is chosen."""

    prompt: str
    choices: Sequence[Choice]


class ChooseOne(Buttons):
    """Lists under an answer; each line has its own action. They can be used again and again."""

    def __init__(self, *lists: List) -> None:
        super().__init__()
        for one in lists:
            if one.choices:
                self.add_item(_Lines(one.prompt, one.choices[:MOST]))


class _Lines(ui.Select[ChooseOne]):
    def __init__(self, prompt: str, choices: Sequence[Choice]) -> None:
        options = [
            discord.SelectOption(label=shorten(choice.label, LABEL), value=str(number))
            for number, choice in enumerate(choices)
        ]
        super().__init__(placeholder=prompt, options=options)
        self._choices = choices

    async def callback(self, interaction: Asked) -> None:
        """Does what the chosen line stands for."""
        await self._choices[int(self.values[0])].chosen(interaction)


def feelings(memory: Memory) -> str:
    """One emoji for each strong emotion of a memory, then a space; nothing where none is strong or known."""
    if memory.emotion is None:
        return ""
    strong = strongest(memory.emotion, 3, above=STRONG)
    shown = "".join(EMOJI[name] for name, _ in strong)
    return f"{shown} " if shown else ""


def with_speaker(memory: Memory, limit: int) -> str:
    """A memory in one line: who said it, or on whose word it rests."""
    if not memory.speaker:
        return shorten(memory.text, limit)
    if memory.kind is MemoryKind.TURN:
        return shorten(f"{memory.speaker}: {memory.text}", limit)
    if memory.kind is MemoryKind.REFLECTION:
        return shorten(f"{memory.text} ({memory.speaker}'s thought)", limit)
    return shorten(f"{memory.text} (as {memory.speaker} said)", limit)


@dataclass(frozen=True, slots=True)
class Handling:
    """Who asks about which place, and what they may do there."""

    troupe: Troupe
    place: Place
    moderator: bool

    def choice(self, memory: Memory, when: str) -> Choice:
        """A line that opens one memory with its buttons."""

        async def show(interaction: Asked) -> None:
            text = f"`{memory.id}` · {when}\n{with_speaker(memory, 1500)}"
            await say(interaction, text, view=OneMemory(self, memory))

        return Choice(f"{memory.id} · {with_speaker(memory, 80)}", show)


class OneMemory(Buttons):
    """The buttons of one memory. The engine checks again who may do what."""

    def __init__(self, handling: Handling, memory: Memory) -> None:
        super().__init__()
        self._handling = handling
        self._memory = memory
        if not handling.moderator or memory.kind is MemoryKind.PINNED:
            self.remove_item(self.pin)
        if memory.kind is not MemoryKind.FACT:
            self.remove_item(self.edit)
        if not memory.sources:
            self.remove_item(self.context)

    @ui.button(label="Forget", style=discord.ButtonStyle.danger)
    async def forget(self, interaction: Asked, _: ui.Button[OneMemory]) -> None:
        """Takes it out of everything, for good."""
        await interaction.response.defer()
        gone = await self._handling.troupe.memories.forget(
            self._handling.place,
            self._memory.id,
            by=interaction.user.id,
            moderator=self._handling.moderator,
        )
        self.stop()
        if interaction.user.id not in gone.owner_ids:
            await note(self._handling.troupe, interaction, "memory forget", f"memory {gone.id}")
        told = f"Memory `{gone.id}` is forgotten: {shorten(gone.text, 100)}"
        await interaction.edit_original_response(content=told, view=None)

    @ui.button(label="Pin", style=discord.ButtonStyle.secondary)
    async def pin(self, interaction: Asked, _: ui.Button[OneMemory]) -> None:
        """Keeps it in every prompt of the story."""
        pin = await self._handling.troupe.keeping.pin(self._handling.place, self._memory.id)
        await note(self._handling.troupe, interaction, "Pin", f"memory {pin.id}")
        told = (
            f"Pinned: {shorten(pin.text, 200)}\n-# It is always in mind now; `/memory scratchpad` lists pins."
        )
        await say(interaction, told)

    @ui.button(label="Edit", style=discord.ButtonStyle.secondary)
    async def edit(self, interaction: Asked, _: ui.Button[OneMemory]) -> None:
        """Opens a form with its words."""
        await interaction.response.send_modal(FactForm(self._handling, self._memory))

    @ui.button(label="Show context", style=discord.ButtonStyle.secondary)
    async def context(self, interaction: Asked, _: ui.Button[OneMemory]) -> None:
        """The turns around it, each with a link to its message."""
        turns = await self._handling.troupe.memories.around(self._handling.place, self._memory.id)
        lines = [_turn_line(turn, self._handling.place, self._memory) for turn in turns]
        await say(interaction, "\n".join(lines) or "The turn it comes from is gone.")


class FactForm(Form):
    """The words of one fact."""

    def __init__(self, handling: Handling, memory: Memory) -> None:
        super().__init__(title="What is known")
        self._handling = handling
        self._memory = memory
        self._text: ui.TextInput[FactForm] = ui.TextInput(
            custom_id="text", style=discord.TextStyle.paragraph, default=memory.text, max_length=300
        )
        self.add_item(ui.Label(text="The fact", component=self._text))

    async def on_submit(self, interaction: Asked, /) -> None:
        """Stores the new words."""
        memory = await self._handling.troupe.pages.edit(
            self._handling.place,
            self._memory.id,
            self._text.value,
            by=interaction.user.id,
            moderator=self._handling.moderator,
        )
        if interaction.user.id not in memory.owner_ids:
            await note(
                self._handling.troupe, interaction, "memory who", f"memory {memory.id} has other words"
            )
        await say(interaction, f"`{memory.id}` now says: {memory.text}")


def earlier_notes(
    troupe: Troupe, place: Place, revision: Scratchpad, text: str, *, moderator: bool
) -> Choice:
    """A line that shows an older revision of the notes; moderators may bring it back."""
    when = f"{revision.created_at:%d %b %Y, %H:%M} UTC" if revision.created_at else "the beginning"

    async def show(interaction: Asked) -> None:
        view = Restore(troupe, place, revision) if moderator else None
        await say(interaction, f"Notes {revision.number}, {when}:\n{text}", view=view)

    return Choice(f"Notes {revision.number} · {when} · {len(revision.lines)} lines", show)


class Restore(Buttons):
    """Brings older notes back, once."""

    def __init__(self, troupe: Troupe, place: Place, revision: Scratchpad) -> None:
        super().__init__()
        self._troupe = troupe
        self._place = place
        self._revision = revision

    @ui.button(label="Restore", style=discord.ButtonStyle.primary)
    async def restore(self, interaction: Asked, _: ui.Button[Restore]) -> None:
        """They are the newest again; what came after stays findable."""
        await interaction.response.defer()
        after = await self._troupe.keeping.restore(self._place, self._revision.revision_id)
        await note(
            self._troupe, interaction, "memory scratchpad", f"notes {self._revision.number} brought back"
        )
        self.stop()
        told = f"Notes {self._revision.number} are the newest again, as number {after.number}."
        await interaction.edit_original_response(content=told, view=None)


def kept_choice(handling: Handling, pin: Memory) -> Choice:
    """A line that opens one pin, to be removed."""
    return replace(handling.choice(pin, "pinned"), label=f"Pin: {pin.text}")


def _turn_line(turn: Turn, place: Place, memory: Memory) -> str:
    text = shorten(f"{turn.speaker}: {turn.text}", 220)
    shown = f"**{text}**" if turn.id in memory.sources else text
    if not turn.message_ids:
        return f"- {shown}"
    where = f"{place.guild_id or '@me'}/{place.id}/{turn.message_ids[0]}"
    return f"- {shown} [↗](https://discord.com/channels/{where})"
