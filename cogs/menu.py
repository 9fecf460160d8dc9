"""The menu of a message: make a reply anew, reword it, see why it came, and more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING

import discord
from discord import app_commands, ui

from bot.core.types import Place, Turn
from bot.engine.notices import ASLEEP
from bot.errors import UserFacing
from cogs.answers import Asked, Buttons, Form, say, shorten, think
from cogs.audit import note
from cogs.greetings import TakeBack
from cogs.names import here
from cogs.permissions import MORE_RIGHTS, Right, needed_words, require, right_of
from cogs.why import page

if TYPE_CHECKING:
    from bot.engine.explaining import Why
    from bot.engine.troupe import Troupe

Reword = Callable[[Place, int, str], Awaitable[None]]
"""Gives a message of a persona other words in the channel."""
LONGEST_EDIT = 4000
"""What a form's field takes."""


class Menu:
    """Everything that the message menu does. Permissions are checked here, the state by the engine."""

    def __init__(self, *, troupe: Troupe, take_back: TakeBack, reword: Reword) -> None:
        self._troupe = troupe
        self._take_back = take_back
        self._reword = reword

    def commands(self) -> list[app_commands.ContextMenu]:
        """The entries, to be added to a tree."""
        return [
            app_commands.ContextMenu(name="Regenerate", callback=self.regenerate),
            app_commands.ContextMenu(name="Edit reply", callback=self.edit_reply),
            app_commands.ContextMenu(name="Why this reply?", callback=self.why),
            app_commands.ContextMenu(name="More…", callback=self.more),
        ]

    async def regenerate(self, interaction: Asked, message: discord.Message) -> None:
        """Make the newest reply anew; for whom it answered, game masters and moderators."""
        await think(interaction)
        place = here(interaction)
        turn = await self._troupe.replies.find(place, message.id)
        own = {one.owner_id for one in await self._troupe.replies.answered(turn)}
        if interaction.user.id not in own:
            await self._need(interaction, Right.GAME_MASTER)
        if self._troupe.trust.sleep.covers(place):
            raise UserFacing(ASLEEP)
        gone = await self._troupe.replies.regenerate(place, message.id)
        if interaction.user.id not in own:
            await note(self._troupe, interaction, "Regenerate", turn.speaker)
        await self._take_back(place, gone)
        await say(interaction, f"{turn.speaker} thinks again.")

    async def edit_reply(self, interaction: Asked, message: discord.Message) -> None:
        """Open a form with the reply's words."""
        place = here(interaction)
        turn = await self._troupe.replies.find(place, message.id)
        if len(turn.text) > LONGEST_EDIT:
            raise UserFacing("That reply is too long for a form (4000 characters).")
        await interaction.response.send_modal(ReplyForm(self, place, message.id, turn))

    async def reworded(self, interaction: Asked, place: Place, message_id: int, text: str) -> None:
        """Store the new words, then change the messages."""
        await think(interaction)
        speaker = (await self._troupe.replies.find(place, message_id)).speaker
        change = await self._troupe.replies.edit(place, message_id, text)
        for known, part in change.texts.items():
            await self._reword(place, known, part)
        if change.gone:
            await self._take_back(place, change.gone)
        await note(self._troupe, interaction, "Edit reply", speaker)
        await say(interaction, "The reply has other words now, also in memory.")

    async def why(self, interaction: Asked, message: discord.Message) -> None:
        """Memories, mood, tokens and times behind a reply."""
        await think(interaction)
        why = await self._troupe.explainer.why(here(interaction), message.id)
        sees_all = await right_of(interaction, self._troupe.options) >= Right.GAME_MASTER
        asker = interaction.user.id
        lore = await self._lore(why) if sees_all else ()
        await say(interaction, page(why, may_see=lambda one: sees_all or asker in one.owner_ids, lore=lore))

    async def _lore(self, why: Why) -> list[tuple[str, str]]:
        """The entries told in a reply and their keys; explanations of old only counted them."""
        told = why.body.get("lore")
        refs = [(str(ref), key) for ref, key in told] if isinstance(told, list) else []
        turn = why.turn
        return await self._troupe.lore.told(turn.space_id, turn.persona_id, refs) if refs else []

    async def more(self, interaction: Asked, message: discord.Message) -> None:
        """Buttons for what is needed less often."""
        await think(interaction)
        place = here(interaction)
        turn = await self._troupe.memories.turn_of(place, message.id)
        lines = [f"**{turn.speaker}**: {shorten(turn.text, 200)}"]
        if turn.persona_id is None:
            lines.append(f"Said by <@{turn.owner_id}>.")
        else:
            lines.append("Said by a persona.")
        may = {name for name, right in MORE_RIGHTS.items() if await self._may(interaction, right)}
        await say(interaction, "\n".join(lines), view=More(self, place, message.id, turn, may))

    async def triggered(self, interaction: Asked, turn: Turn) -> str:
        """Who brought a reply about, when, with links to their messages."""
        await require(interaction, self._troupe.options, "Who triggered this?")
        place = here(interaction)
        lines = []
        for one in await self._troupe.replies.answered(turn):
            when = discord.utils.format_dt(one.created_at, "T")
            link = "".join(
                f" https://discord.com/channels/{place.guild_id or '@me'}/{place.id}/{known}"
                for known in one.message_ids[:1]
            )
            lines.append(f"<@{one.owner_id}> as {one.speaker}, {when}{link}")
        return "\n".join(lines) or "Nobody: the persona spoke unasked, or the message it answered is gone."

    async def delete(self, interaction: Asked, place: Place, message_id: int) -> str:
        """Take a reply out of everything and out of the channel."""
        await require(interaction, self._troupe.options, "Delete")
        speaker = (await self._troupe.replies.find(place, message_id)).speaker
        gone = await self._troupe.replies.delete(place, message_id)
        await self._take_back(place, gone)
        await note(self._troupe, interaction, "Delete", speaker)
        return "The reply is gone, also from memory."

    async def pin(self, interaction: Asked, place: Place, turn: Turn) -> str:
        """Keep what a message says in every prompt."""
        await require(interaction, self._troupe.options, "Pin")
        memory_id = await self._troupe.memories.memory_of(turn.id)
        pin = await self._troupe.keeping.pin(place, memory_id)
        await note(self._troupe, interaction, "Pin", f"memory {pin.id}")
        return f"Pinned: {shorten(pin.text, 200)}"

    async def _may(self, interaction: Asked, right: Right) -> bool:
        return await right_of(interaction, self._troupe.options) >= right

    async def _need(self, interaction: Asked, right: Right) -> None:
        if not await self._may(interaction, right):
            raise UserFacing(f"That is for {needed_words(right)}. Please ask one.")


class ReplyForm(Form):
    """The words of a reply."""

    def __init__(self, menu: Menu, place: Place, message_id: int, turn: Turn) -> None:
        super().__init__(title=shorten(f"{turn.speaker} says", 45))
        self._menu = menu
        self._place = place
        self._message_id = message_id
        self._text: ui.TextInput[ReplyForm] = ui.TextInput(
            custom_id="text",
            style=discord.TextStyle.paragraph,
            default=turn.text,
            max_length=LONGEST_EDIT,
        )
        self.add_item(ui.Label(text="The reply", component=self._text))

    async def on_submit(self, interaction: Asked, /) -> None:
        """Replaces the old words everywhere."""
        await self._menu.reworded(interaction, self._place, self._message_id, self._text.value)


class More(Buttons):
    """What the asker may do with a message; who said it stands above."""

    def __init__(self, menu: Menu, place: Place, message_id: int, turn: Turn, may: Collection[str]) -> None:
        super().__init__()
        self._menu = menu
        self._place = place
        self._message_id = message_id
        self._turn = turn
        if turn.persona_id is None:
            may = set(may) - {"Delete", "Who triggered this?"}  # members delete their own in Discord
        for button in (self.delete, self.pin, self.who):
            if button.label not in may:
                self.remove_item(button)

    @ui.button(label="Delete", style=discord.ButtonStyle.danger)
    async def delete(self, interaction: Asked, _: ui.Button[More]) -> None:
        """The reply, everywhere."""
        await interaction.response.defer()
        told = await self._menu.delete(interaction, self._place, self._message_id)
        self.stop()
        await interaction.edit_original_response(content=told, view=None)

    @ui.button(label="Pin", style=discord.ButtonStyle.secondary)
    async def pin(self, interaction: Asked, _: ui.Button[More]) -> None:
        """Always in mind from now on."""
        await interaction.response.defer()
        told = await self._menu.pin(interaction, self._place, self._turn)
        await say(interaction, told)

    @ui.button(label="Who triggered this?", style=discord.ButtonStyle.secondary)
    async def who(self, interaction: Asked, _: ui.Button[More]) -> None:
        """For a moderator's eyes alone."""
        await interaction.response.defer()
        await say(interaction, await self._menu.triggered(interaction, self._turn))
