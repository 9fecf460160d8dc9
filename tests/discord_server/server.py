"""The loopback Discord: one server with its world, gateway, REST door, faults and log."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from . import posting
from .apps import ScriptedApp, ScriptedWebhook
from .cdn import Cdn
from .clock import Clock
from .errors import ScriptError
from .faults import Fault, Faults
from .gateway import Gateway
from .happenings import Happenings
from .interactions import Interaction
from .limits import RateLimits
from .log import RequestRecord, Violation
from .models import Channel, Guild, Message, Overwrite, Role
from .payloads import guild_create_json, member_json
from .permissions import BOT_DEFAULT, Permission
from .rest import API, MAX_UPLOAD, Door
from .schema import specification
from .users import ScriptedUser
from .watching import Watching
from .wire import Signal
from .world import World, private_to


class DiscordServer(Watching, Happenings):
    """A Discord on 127.0.0.1 for one bot. Use as `async with DiscordServer() as server`."""

    def __init__(
        self,
        *,
        bot_name: str = "Troupe",
        clock_factor: float = 1.0,
        heartbeat_interval: float = 41.25,
        shards: int = 1,
        check_schema: bool = True,
        rate_limits: RateLimits | None = None,
        token: str | None = None,
        port: int = 0,
        log_limit: int | None = None,
    ) -> None:
        """Prepare a server; it listens inside `async with`, on a free port unless one is given.

        `clock_factor` 10 makes the 3 s and 15 min of interactions pass ten times faster; `check_schema` False
        saves the time of the OpenAPI checks under load; `log_limit` bounds how many requests are kept.
        """
        self.world = World(clock=Clock(factor=clock_factor), bot_name=bot_name)
        self.changed = Signal()
        self.gateway = Gateway(self, heartbeat_interval=heartbeat_interval)
        self.faults = Faults()
        self.limits = rate_limits
        self.specification = specification() if check_schema else None
        self.schema_checked = self.specification is not None
        self.shards = shards
        self.token = (
            token or f"{secrets.token_urlsafe(18)}.{secrets.token_urlsafe(4)}.{secrets.token_urlsafe(28)}"
        )
        self.owner = self.world.add_user("Bot owner")
        self.requests: list[RequestRecord] = []
        self.request_count = 0
        self.log_limit = log_limit
        self.violations: list[Violation] = []
        self.commands: dict[int | None, dict[int, dict[str, Any]]] = {}
        self.command_syncs: list[list[dict[str, Any]]] = []
        self.command_creates: Counter[int | None] = Counter()
        self.interactions: dict[int, Interaction] = {}
        self.interaction_tokens: dict[str, Interaction] = {}
        self.closed_dms: set[int] = set()
        self.port = port
        self.extras: list[Any] = []
        self._runner: web.AppRunner | None = None

    # --- life -----------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Listen."""
        app = web.Application(client_max_size=MAX_UPLOAD)
        app.router.add_get("/gateway/", self.gateway.handle)
        app.router.add_get("/gateway", self.gateway.handle)
        Cdn(self).install(app)
        Door(self).install(app)
        for extra in self.extras:
            extra.install(app)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, backlog=1024)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection and stop listening."""
        self.gateway.resume()
        await self.gateway.drop()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @property
    def base_url(self) -> str:
        """The address for `discord.http.Route.BASE`."""
        return f"http://127.0.0.1:{self.port}{API}"

    @property
    def gateway_url(self) -> str:
        """The address of the gateway."""
        return f"ws://127.0.0.1:{self.port}/gateway"

    @property
    def cdn_url(self) -> str:
        """The address for `discord.Asset.BASE`."""
        return f"http://127.0.0.1:{self.port}/cdn"

    @property
    def application_id(self) -> int:
        """Id of the bot's application."""
        return self.world.application_id

    @property
    def bot_user_id(self) -> int:
        """Id of the bot's account."""
        return self.world.bot.id

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for `tests.discord_server.launch_bot`, the token included."""
        return {
            "LOOPBACK_REST": self.base_url,
            "LOOPBACK_GATEWAY": self.gateway_url,
            "LOOPBACK_CDN": self.cdn_url,
            "DISCORD_TOKEN": self.token,
        }

    def advance(self, seconds: float) -> None:
        """Let time pass at once for deadlines, new ids and timestamps."""
        self.world.clock.advance(seconds)
        self.changed.notify()

    def patch(self, monkeypatch: Any) -> None:
        """Point the discord.py of this process here for one test (`monkeypatch` is pytest's fixture)."""
        from .seams import seams  # noqa: PLC0415 - the client is imported only when it is used here

        for owner, name, value in seams(self.base_url, self.gateway_url, self.cdn_url):
            monkeypatch.setattr(owner, name, value)

    # --- building the world ---------------------------------------------------------------

    def add_guild(
        self,
        name: str = "Tavern",
        *,
        bot_permissions: int = BOT_DEFAULT,
        with_bot: bool = True,
        locale: str = "en-US",
    ) -> Guild:
        """Create a guild; the bot is in it with a role that carries `bot_permissions`."""
        guild = self.world.add_guild(
            name, bot_permissions=int(bot_permissions), with_bot=with_bot, locale=locale
        )
        if with_bot:
            self._announce_guild(guild)
        return guild

    def invite_bot(self, guild: Guild, permissions: int = BOT_DEFAULT) -> None:
        """Let the bot join a guild."""
        self.world.join_bot(guild, int(permissions))
        self._announce_guild(guild)

    def _announce_guild(self, guild: Guild) -> None:
        payload = guild_create_json(
            guild, application_id=self.application_id, bot_id=self.bot_user_id, all_members=False
        )
        self.gateway.dispatch("GUILD_CREATE", {**payload, "unavailable": None}, guild_id=guild.id)

    def add_channel(
        self,
        guild: Guild,
        name: str = "general",
        *,
        kind: str = "text",
        parent: Channel | None = None,
        overwrites: Iterable[Overwrite] = (),
        private_to: Iterable[Any] | None = None,
        topic: str | None = None,
    ) -> Channel:
        """Create a channel ("text", "voice", "category", "news", "forum", "media").

        `private_to` lists the roles, users and members (the bot is `server.world.bot`) who alone can see it.
        """
        items = list(overwrites)
        if private_to is not None:
            items += _private(guild, private_to)
        channel = self.world.add_channel(guild, name, kind=kind, parent=parent, overwrites=items, topic=topic)
        self.channel_created(channel)
        return channel

    def add_role(self, guild: Guild, name: str, permissions: int = 0, *, mentionable: bool = False) -> Role:
        """Create a role."""
        role = self.world.add_role(guild, name, int(permissions))
        role.mentionable = mentionable
        self.role_changed(role, event="GUILD_ROLE_CREATE")
        return role

    def add_member(
        self,
        guild: Guild,
        who: str | ScriptedUser,
        *,
        roles: Iterable[Role] = (),
        permissions: int = 0,
        nick: str | None = None,
        user_id: int | None = None,
        bot: bool = False,
    ) -> ScriptedUser:
        """Let a new or known user join; `permissions` gives a role of their own with these bits."""
        person = who if isinstance(who, ScriptedUser) else self.add_user(who, user_id=user_id, bot=bot)
        member = self.world.join(guild, person.user)
        member.nick = nick
        member.roles = [role.id for role in roles]
        if permissions:
            member.roles.append(self.add_role(guild, f"{person.name}'s role", permissions).id)
        payload = member_json(member) | {"guild_id": str(guild.id)}
        self.gateway.dispatch("GUILD_MEMBER_ADD", payload, guild_id=guild.id)
        return person

    def add_moderator(self, guild: Guild, who: str | ScriptedUser) -> ScriptedUser:
        """Let a user join who may manage channels and messages."""
        bits = Permission.MANAGE_CHANNELS | Permission.MANAGE_MESSAGES | Permission.MANAGE_GUILD
        return self.add_member(guild, who, permissions=bits)

    def add_user(self, name: str, *, user_id: int | None = None, bot: bool = False) -> ScriptedUser:
        """Create a user who is in no guild yet (but can write direct messages)."""
        return ScriptedUser(self, self.world.add_user(name, user_id=user_id, bot=bot))

    def add_app(self, guild: Guild, name: str, *, application_id: int) -> ScriptedApp:
        """Let another application's bot join, for example a proxy app."""
        person = self.add_member(
            guild, name, user_id=application_id, bot=True, permissions=Permission.ADMINISTRATOR
        )
        person.user.application_id = application_id
        return ScriptedApp(self, person.user)

    def add_webhook(
        self, channel: Channel, name: str, *, creator: ScriptedUser | None = None
    ) -> ScriptedWebhook:
        """Create a webhook that somebody else (the guild's owner by default) posts through."""
        owner = self.world.users[self.world.guilds[channel.guild_id or 0].owner_id]
        webhook = self.world.add_webhook(channel, name, creator.user if creator else owner)
        self.webhooks_changed(channel)
        return ScriptedWebhook(self, webhook)

    def dm(self, user: ScriptedUser) -> Channel:
        """Return the direct-message channel of a user and the bot."""
        return self.world.dm_with(user.user)

    # --- commands -------------------------------------------------------------------------

    def find_command(self, scope: int | None, kind: int, name: str) -> dict[str, Any] | None:
        """Return the synced command of a guild, or of the global scope (None)."""
        for command in self.commands.get(scope, {}).values():
            if command["type"] == kind and command["name"] == name:
                return command
        return None

    def visible_command(self, guild_id: int | None, kind: int, name: str) -> dict[str, Any]:
        """Return the command that a user of the guild sees. Raises ScriptError when it was not synced."""
        scoped = self.find_command(guild_id, kind, name) if guild_id is not None else None
        command = scoped or self.find_command(None, kind, name)
        if command is None:
            known = [
                item["name"] for scope in (guild_id, None) for item in self.commands.get(scope, {}).values()
            ]
            raise ScriptError(f"the command {name!r} was not synced; there are {sorted(set(known))}")
        return command

    # --- faults in short ------------------------------------------------------------------

    def fail_next(self, method: str, path: str, **fault: Any) -> Fault:
        """Let the next matching requests fail; see `Faults.fail`."""
        return self.faults.fail(method, path, **fault)

    def limit_next(self, method: str, path: str, **fault: Any) -> Fault:
        """Answer the next matching requests with 429; see `Faults.limit`."""
        return self.faults.limit(method, path, **fault)

    def slow_next(
        self, method: str, path: str, seconds: float, *, when: str = "before", times: int = 1
    ) -> Fault:
        """Let the next matching requests wait "before" they take effect, or "after", before the answer."""
        return self.faults.slow(method, path, seconds, when=when, times=times)

    def reset_next(self, method: str, path: str, *, when: str = "before", times: int = 1) -> Fault:
        """Cut the connection "before" or "after" the next matching requests took effect."""
        return self.faults.reset(method, path, when=when, times=times)

    async def post_as_bot(self, channel: Channel, text: str, **extra: Any) -> Message:
        """Put a message of the bot into a channel without the bot doing anything."""
        message = posting.post(self, channel, self.world.bot, text, **extra)
        await asyncio.sleep(0)
        return message


def _private(guild: Guild, allowed: Iterable[Any]) -> list[Overwrite]:
    return private_to(guild, *(getattr(item, "user", item) for item in allowed))
