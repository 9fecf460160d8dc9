"""A small bot on the unmodified discord.py client that uses what the loopback Discord offers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import discord
from discord import app_commands
from discord.ext import commands

from .wire import Signal


def intents(*, content: bool = True) -> discord.Intents:
    """Return the intents that Troupe uses."""
    wanted = discord.Intents(guilds=True, messages=True)
    wanted.message_content = content
    return wanted


class NameForm(discord.ui.Modal, title="Who are you?"):
    """A form with two texts, a choice and a file."""

    name = discord.ui.Label(text="Name", component=discord.ui.TextInput(custom_id="name", max_length=80))
    story = discord.ui.Label(
        text="Story",
        description="How it began",
        component=discord.ui.TextInput(
            custom_id="story", style=discord.TextStyle.paragraph, required=False, default="Once"
        ),
    )
    mood = discord.ui.Label(
        text="Mood",
        component=discord.ui.Select(
            custom_id="mood",
            required=False,
            options=[
                discord.SelectOption(label="Happy", value="1"),
                discord.SelectOption(label="Sad", value="2"),
            ],
        ),
    )
    card = discord.ui.Label(
        text="Card", component=discord.ui.FileUpload(custom_id="card", required=False, max_values=2)
    )

    async def on_submit(self, interaction: discord.Interaction) -> None:
        """Say what was filled in."""
        files = [f"{item.filename}:{(await item.read()).decode()}" for item in self.card.component.values]
        parts = [self.name.component.value, self.story.component.value, *self.mood.component.values, *files]
        await interaction.response.send_message(" | ".join(parts), ephemeral=True)


class Buttons(discord.ui.View):
    """A button that rewrites its message, one that answers, one that opens a form, and a select."""

    def __init__(self) -> None:
        """Stay alive for the test."""
        super().__init__(timeout=30)

    @discord.ui.button(label="Rewrite", custom_id="rewrite")
    async def rewrite(self, interaction: discord.Interaction, button: discord.ui.Button[Any]) -> None:
        """Edit the message in place."""
        await interaction.response.edit_message(content="rewritten")

    @discord.ui.button(label="Answer", custom_id="answer")
    async def answer(self, interaction: discord.Interaction, button: discord.ui.Button[Any]) -> None:
        """Answer with a new message."""
        await interaction.response.send_message(f"for {interaction.user.display_name}", ephemeral=True)

    @discord.ui.button(label="Form", custom_id="form")
    async def form(self, interaction: discord.Interaction, button: discord.ui.Button[Any]) -> None:
        """Open a form."""
        await interaction.response.send_modal(NameForm())

    @discord.ui.select(
        custom_id="pick",
        placeholder="Pick one",
        options=[discord.SelectOption(label="Red", value="r"), discord.SelectOption(label="Blue", value="b")],
    )
    async def pick(self, interaction: discord.Interaction, select: discord.ui.Select[Any]) -> None:
        """Acknowledge, then change the message."""
        await interaction.response.defer()
        await interaction.edit_original_response(content=f"picked {select.values[0]}")


class Scenes(app_commands.Group):
    """A group with a nested group."""

    cast = app_commands.Group(name="cast", description="Who is there")

    @app_commands.command(description="Start a scene")
    async def start(
        self,
        interaction: discord.Interaction,
        name: app_commands.Range[str, 1, 20],
        persona: str | None = None,
        place: discord.TextChannel | None = None,
    ) -> None:
        """Answer late, after a deferral."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        await interaction.followup.send(f"started {name} with {persona} in {place}", ephemeral=True)
        await interaction.followup.send("second", ephemeral=True)

    @start.autocomplete("persona")
    async def personas(
        self, interaction: discord.Interaction, current: str
    ) -> list[app_commands.Choice[str]]:
        """Offer names."""
        assert isinstance(interaction.client, SampleBot)
        names = [name for name in interaction.client.personas if name.startswith(current)]
        return [app_commands.Choice(name=name, value=name) for name in names]

    @cast.command(name="add", description="Add someone")
    async def add(
        self, interaction: discord.Interaction, persona: str, card: discord.Attachment | None = None
    ) -> None:
        """Answer at once, reading an attachment."""
        size = len(await card.read()) if card else 0
        await interaction.response.send_message(f"added {persona} {size}")


class SampleBot(commands.AutoShardedBot):
    """Answers commands, and keeps what it heard for the tests."""

    def __init__(self, *, content: bool = True, heartbeat_timeout: float = 60.0) -> None:
        """Use the intents of the real bot."""
        super().__init__(
            command_prefix=commands.when_mentioned,
            help_command=None,
            intents=intents(content=content),
            allowed_mentions=discord.AllowedMentions.none(),
            guild_ready_timeout=0.05,
            heartbeat_timeout=heartbeat_timeout,
        )
        self.heard: list[discord.Message] = []
        self.events: list[tuple[str, Any]] = []
        self.delay = 0.0
        self.personas = ["Ada", "Adam", "Bob"]
        self.failures: list[BaseException] = []
        self.news = Signal()

    async def setup_hook(self) -> None:
        """Register and sync the commands."""
        self.tree.add_command(Scenes(name="scene", description="Scenes"))
        self.tree.add_command(app_commands.Command(name="form", description="A form", callback=self._form))
        self.tree.add_command(
            app_commands.Command(name="buttons", description="Buttons", callback=self._buttons)
        )
        self.tree.add_command(app_commands.ContextMenu(name="Why?", callback=self._why))
        manager = app_commands.Command(name="admin", description="For moderators", callback=self._slow)
        manager.default_permissions = discord.Permissions(manage_channels=True)
        self.tree.add_command(manager)
        self.tree.error(self._failed)
        await self.tree.sync()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Identify again at once: the usual five seconds are Discord's, not needed here."""

    async def _form(self, interaction: discord.Interaction) -> None:
        await interaction.response.send_modal(NameForm())

    async def _buttons(self, interaction: discord.Interaction) -> None:
        await interaction.response.send_message("press", view=Buttons())

    async def _why(self, interaction: discord.Interaction, message: discord.Message) -> None:
        await interaction.response.send_message(f"because of {message.content!r}", ephemeral=True)

    async def _slow(self, interaction: discord.Interaction) -> None:
        await asyncio.sleep(self.delay)
        await interaction.response.send_message("done")

    async def _failed(self, interaction: discord.Interaction, error: app_commands.AppCommandError) -> None:
        self.failures.append(error)
        self.news.notify()

    def _keep(self, name: str, payload: Any) -> None:
        self.events.append((name, payload))
        self.news.notify()

    async def until(self, find: Callable[[], Any], timeout: float = 30.0) -> Any:
        """Return what `find` gives as soon as it gives something."""
        await self.news.until(find, timeout, "news")
        return find()

    async def happened(self, name: str) -> Any:
        """Return the payload of the first event of this name."""
        return await self.until(lambda: next((item for item in self.events if item[0] == name), None))

    async def wait_until_ready_safely(self) -> None:
        """Wait for READY, also before the login has begun."""
        await self.until(lambda: any(name == "ready" for name, _ in self.events), 20)

    async def on_ready(self) -> None:
        """Keep READY."""
        self._keep("ready", None)

    async def on_message(self, message: discord.Message) -> None:
        """Keep every message."""
        self.heard.append(message)
        self.news.notify()

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """Keep edits."""
        self._keep("edit", payload)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        """Keep deletions."""
        self._keep("delete", payload)

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        """Keep bulk deletions."""
        self._keep("bulk", payload)

    async def on_thread_create(self, thread: discord.Thread) -> None:
        """Keep new threads."""
        self._keep("thread", thread)

    async def on_resumed(self) -> None:
        """Keep resumes."""
        self._keep("resumed", None)

    async def on_guild_join(self, guild: discord.Guild) -> None:
        """Keep joins."""
        self._keep("join", guild)

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """Keep removals."""
        self._keep("remove", guild)
