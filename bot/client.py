"""The connection to Discord: who we are there, which cogs answer, how it starts, recovers and ends."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import discord
from discord import app_commands
from discord.ext import commands

from bot.adapters.avatars import AvatarShelf, prepare_picture
from bot.adapters.card_files import (
    read_card_file,
    read_lorebook_file,
    write_card_charx,
    write_card_json,
    write_card_png,
)
from bot.adapters.channels import DiscordChannels
from bot.adapters.pictures import Pictures
from bot.adapters.reconnecting import BoundedBackoff
from bot.adapters.webhook_shelf import WebhookShelf
from bot.adapters.webhooks import DiscordMessenger
from bot.core.events import MessagePosted
from bot.core.types import Place
from bot.errors import SettingsError, UserFacing, new_reference
from bot.library import ready_personas
from cogs.answers import Asked, report
from cogs.approval import Decide
from cogs.door import Identity, is_spoken_to, message_place, read_message
from cogs.menu import Menu
from cogs.permissions import require
from cogs.persona_files import CardFiles
from cogs.privacy import Remembered
from cogs.roster import make_cogs
from cogs.welcome import welcome

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe

log = logging.getLogger(__name__)

LoadValue = Callable[[str], Awaitable[str | None]]
SaveValue = Callable[[str, str], Awaitable[None]]

SYNC_TIMEOUT_S: Final = 120.0
SYNC_RETRY_S: Final = 600.0
FIRST_RESTART_S: Final = 1.0
LAST_RESTART_S: Final = 60.0
STEADY_S: Final = 300.0
"""A connection that held so long starts the restart delays anew."""
UNNOTICED: Final = timedelta(minutes=3)
"""A dead connection is noticed only after missed heartbeats."""
WRONG_INTENTS = (
    "Discord refuses the connection: switch on “Message Content Intent” in the developer portal "
    "(https://discord.com/developers/applications → your application → Bot → Privileged Gateway Intents), "
    "then start again."
)
WRONG_TOKEN = (
    "DISCORD_TOKEN is refused by Discord: copy the token anew from the developer portal "
    "(your application → Bot → Reset Token) into .env, then start again."
)
_PASSING = (
    AttributeError,  # discord.py issue 10520: the gateway closed before its first word
    discord.GatewayNotFound,
    discord.HTTPException,
    discord.ConnectionClosed,
    aiohttp.ClientError,
    OSError,
    TimeoutError,
    RuntimeError,
)


class TroupeTree(app_commands.CommandTree["TroupeClient"]):
    """Slash commands: rights are checked before each, failures end in one calm sentence."""

    async def interaction_check(self, interaction: Asked, /) -> bool:
        """Refuse what the asker may not do; completions then offer nothing."""
        name = interaction.command.qualified_name if interaction.command else ""
        try:
            await require(interaction, self.client.troupe.options, name)
        except Exception as problem:
            if interaction.type is discord.InteractionType.autocomplete:
                if not isinstance(problem, UserFacing):
                    log.exception("The completion of %s failed (reference %s)", name, new_reference())
                await interaction.response.autocomplete([])
            else:
                await report(interaction, problem)
            return False
        return True

    async def on_error(self, interaction: Asked, error: app_commands.AppCommandError, /) -> None:
        """Every failure of a command ends here."""
        await report(interaction, error)


class TroupeClient(commands.AutoShardedBot):
    """Owns the connection and the messenger. `attach` comes before `serve`."""

    def __init__(
        self,
        *,
        load_value: LoadValue | None = None,
        save_value: SaveValue | None = None,
        guild_ready_timeout: float = 2.0,
        first_restart_s: float = FIRST_RESTART_S,
    ) -> None:
        """`load_value` and `save_value` keep small texts over restarts; they may come with `attach`."""
        intents = discord.Intents.none()
        intents.guilds = intents.guild_messages = intents.dm_messages = intents.message_content = True
        super().__init__(
            command_prefix=(),
            help_command=None,
            tree_cls=TroupeTree,
            intents=intents,
            allowed_mentions=discord.AllowedMentions.none(),
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            max_messages=None,
            guild_ready_timeout=guild_ready_timeout,
            allowed_contexts=app_commands.AppCommandContext(
                guild=True, dm_channel=True, private_channel=False
            ),
            allowed_installs=app_commands.AppInstallationType(guild=True, user=False),
        )
        self._troupe: Troupe | None = None
        self._load_value = load_value
        self._save_value = save_value
        self._first_restart_s = first_restart_s
        self._started = False
        self._serving = False
        self._ready_shards: set[int] = set()
        self._lost_at: dict[int, datetime] = {}
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.own_webhooks: set[int] = set()
        self.channels = DiscordChannels(client=self)
        self.pictures = AvatarShelf(client=self)
        self.messenger = DiscordMessenger(
            client=self,
            read=self._read,
            picture=self.pictures.ensure,
            webhooks=WebhookShelf(client=self, ids=self.own_webhooks),
        )

    # ------------------------------------------------------------ putting together
    def attach(
        self, troupe: Troupe, *, load_value: LoadValue | None = None, save_value: SaveValue | None = None
    ) -> None:
        """Give the engine whose `start`, `hear` and `catch_up` this connection calls."""
        self._troupe = troupe
        self._load_value = load_value or self._load_value
        self._save_value = save_value or self._save_value

    @property
    def troupe(self) -> Troupe:
        """The engine."""
        if self._troupe is None:
            raise RuntimeError("attach() comes before serve()")
        return self._troupe

    @property
    def identity(self) -> Identity:
        """Who we are, once logged in."""
        return Identity(
            bot_id=self.user.id if self.user else 0,
            application_id=self.application_id or 0,
            webhook_ids=self.own_webhooks,
        )

    def _read(
        self, message: discord.Message, *, place: Place, author_name: str | None, backfilled: bool
    ) -> MessagePosted | None:
        return read_message(
            message, self.identity, place=place, author_name=author_name, backfilled=backfilled
        )

    # ------------------------------------------------------------ living
    async def serve(self, token: str) -> None:
        """Stay connected until `stop`; restart with growing delays after what may pass.

        `SettingsError` when the token or the intents are wrong: no restart can help.
        """
        delay = self._first_restart_s
        self._serving = True
        while not self._stopping.is_set():
            began = asyncio.get_running_loop().time()
            try:
                async with self:
                    await self.start(token)
            except discord.PrivilegedIntentsRequired as problem:
                raise SettingsError(WRONG_INTENTS) from problem
            except discord.LoginFailure as problem:
                raise SettingsError(WRONG_TOKEN) from problem
            except _PASSING as problem:
                _raise_if_final(problem)
                log.warning("The connection to Discord broke: %r; again in %.0f s", problem, delay)
            if self._stopping.is_set():
                return
            if asyncio.get_running_loop().time() - began > STEADY_S:
                delay = self._first_restart_s
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._stopping.wait()
            delay = min(delay * 2, LAST_RESTART_S)
            self._reopen()

    async def stop(self, deadline_s: float = 5.0) -> None:
        """End `serve`; what is not closed within the deadline is left to the process's end."""
        self._stopping.set()
        if not self._serving:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline_s):
                await self.close()

    async def close(self) -> None:
        """Close the connection, the tasks of this client and the messenger's session."""
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.messenger.close()
        await super().close()

    def _reopen(self) -> None:
        """Make a closed client ready for another `start`."""
        if self.is_closed():
            self.clear()
            self.http.connector = discord.utils.MISSING  # the old one was closed with its session

    async def setup_hook(self) -> None:
        """Logged in, not yet connected: cogs, and the commands' registration in the background."""
        self.add_view(Remembered(troupe=self.troupe))
        self.add_dynamic_items(Decide)
        pictures = Pictures()
        for cog in make_cogs(
            troupe=self.troupe,
            identity=lambda: self.identity,
            announce=self.messenger.notice,
            speaking_trouble=self.messenger.prepare,
            take_back=self.messenger.take_back,
            draw_wheels=pictures.wheels,
            draw_timeline=pictures.timeline,
            draw_days=pictures.days,
            prepare_picture=prepare_picture,
            forget_picture=self.pictures.forget,
            card_files=CardFiles(
                read=read_card_file,
                read_lorebook=read_lorebook_file,
                write_png=write_card_png,
                write_json=write_card_json,
                write_charx=write_card_charx,
            ),
            library=ready_personas,
        ):
            await self.add_cog(cog)
        menu = Menu(troupe=self.troupe, take_back=self.messenger.take_back, reword=self.messenger.reword)
        for entry in menu.commands():
            self.tree.add_command(entry, override=True)
        self._spawn(self._keep_commands_synced(), name="sync commands")

    def _spawn(self, work: Coroutine[Any, Any, None], *, name: str) -> None:
        task = asyncio.create_task(self._logged(work, name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @staticmethod
    async def _logged(work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
        except Exception:  # the edge of a background task: nobody awaits it
            log.exception("Background work failed: %s (reference %s)", name, new_reference())

    # ------------------------------------------------------------ commands
    async def _keep_commands_synced(self) -> None:
        while True:
            try:
                if await self._sync_if_changed():
                    log.info("Slash commands were registered anew")
                return
            except (discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError) as problem:
                log.warning("Slash commands were not registered (%s); trying again later", problem)
            await asyncio.sleep(SYNC_RETRY_S)

    async def _sync_if_changed(self) -> bool:
        definition = [command.to_dict(self.tree) for command in self.tree.get_commands()]
        digest = hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()
        key = f"commands:{self.application_id}"
        if self._load_value is not None and await self._load_value(key) == digest:
            return False
        async with asyncio.timeout(SYNC_TIMEOUT_S):
            await self.tree.sync()
        if self._save_value is not None:
            await self._save_value(key, digest)
        return True

    # ------------------------------------------------------------ events
    async def on_message(self, message: discord.Message, /) -> None:
        """There are no prefix commands; `cogs.chat` listens by itself."""

    async def on_shard_disconnect(self, shard_id: int) -> None:
        """Remember since when messages may be lost."""
        self._lost_at.setdefault(shard_id, datetime.now(UTC) - UNNOTICED)

    async def on_shard_connect(self, shard_id: int) -> None:
        """A session begins, messages come at once; `on_shard_ready` follows when the servers are known."""
        shard = self.get_shard(shard_id)
        if shard is not None and not isinstance(shard._parent._backoff, BoundedBackoff):
            shard._parent._backoff = BoundedBackoff()
        if self._troupe is not None:
            self._troupe.new_session()

    async def on_shard_resumed(self, shard_id: int) -> None:
        """Discord sends again what was missed."""
        self._lost_at.pop(shard_id, None)

    async def on_shard_ready(self, shard_id: int) -> None:
        """A fresh session: what was said before it is read from the channels' history."""
        lost_at = self._lost_at.pop(shard_id, None)
        self._ready_shards.add(shard_id)
        if self._started:
            log.info("Shard %s has a new session", shard_id)
            self._spawn(self.troupe.catch_up(lost_at), name=f"catch up, shard {shard_id}")
        elif len(self._ready_shards) >= (self.shard_count or 1):
            self._started = True
            log.info("Connected to Discord as %s", self.user)
            present = [guild.id for guild in self.guilds]
            self._spawn(self.troupe.retention.present_in(present), name="see which servers are left")
            self._spawn(self.troupe.start(), name="start the engine")

    async def on_guild_join(self, guild: discord.Guild) -> None:
        """Say the first steps where members can see them; a deletion that waits is called off."""
        await self.troupe.retention.joined(guild.id)
        await welcome(guild)

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """What is kept of the server goes after its days of grace."""
        await self.troupe.retention.left(guild.id)

    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        """A channel is gone, and its threads with it."""
        await self.troupe.retention.channel_gone(channel.id)

    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        """A thread is gone, also one that nobody knew of."""
        await self.troupe.retention.channel_gone(payload.thread_id)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        """A listener failed. Whoever spoke to the bot just then is told so."""
        number = new_reference()
        log.exception("%s failed (reference %s)", event_method, number)
        message = args[0] if args else None
        if isinstance(message, discord.Message) and is_spoken_to(message, self.identity):
            self.troupe.notices.trouble(message_place(message), number, reply_to=message.id)


def _raise_if_final(problem: Exception) -> None:
    """Some ways of being refused do not pass."""
    if isinstance(problem, discord.ConnectionClosed) and problem.code == 4004:
        raise SettingsError(WRONG_TOKEN) from problem
    if isinstance(problem, discord.ConnectionClosed) and problem.code in (4010, 4011, 4012, 4013):
        raise SettingsError(f"Discord refuses the connection (close code {problem.code}).") from problem
