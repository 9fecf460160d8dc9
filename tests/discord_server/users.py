"""Scripted users: they write, edit, delete, use commands and menus, click and fill in forms."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from . import interactions, posting
from .errors import ScriptError
from .forms import picked, submitted
from .interactions import AUTOCOMPLETE, COMMAND, COMPONENT, MODAL_SUBMIT, Interaction, Modal
from .models import FORUM, MEDIA, Channel, Member, Message, User, walk_components
from .options import Resolved, as_attachment, check_usable, find_leaf, nested, typed_options
from .payloads import channel_json, member_json, message_json, user_json
from .permissions import Permission, may_send
from .rules_commands import CHAT, MESSAGE, USER

if TYPE_CHECKING:
    from .server import DiscordServer

NITRO_CONTENT = 4000
FILE_BYTES = 10 * 1024 * 1024


class ScriptedUser:
    """A person (or another bot) whose deeds reach the bot as gateway events."""

    def __init__(self, server: DiscordServer, user: User) -> None:
        """Act as `user` on `server`."""
        self._server = server
        self.user = user

    @property
    def id(self) -> int:
        """The account's id."""
        return self.user.id

    @property
    def name(self) -> str:
        """The display name."""
        return self.user.global_name or self.user.username

    @property
    def mention(self) -> str:
        """The text that pings this user."""
        return f"<@{self.id}>"

    # --- messages -------------------------------------------------------------------------

    async def say(
        self,
        channel: Channel,
        text: str = "",
        *,
        reply_to: Message | None = None,
        ping: bool = True,
        attachments: Iterable[Any] = (),
        embeds: Iterable[dict[str, Any]] = (),
        forward: Message | None = None,
        stickers: Iterable[str] = (),
        poll: dict[str, Any] | None = None,
        ago: float = 0.0,
        at: datetime | None = None,
        kind: int = 0,
    ) -> Message:
        """Send a message; files are (name, bytes); `ago` seconds or `at` put it into the past."""
        self._check_sending(channel, text)
        moment = self._server.world.clock.wall() - timedelta(seconds=ago) if ago else at
        items = [
            {"id": str(self._server.world.new_id()), "name": name, "format_type": 1} for name in stickers
        ]
        files = [as_attachment(self._server, channel, item) for item in attachments]
        if not (text.strip() or files or items or forward or poll or list(embeds)):
            raise ScriptError("a user cannot send an empty message")
        message = posting.post(
            self._server,
            channel,
            self.user,
            text,
            reply_to=reply_to,
            forward=forward,
            allowed_mentions=None
            if ping
            else {"parse": ["users", "roles", "everyone"], "replied_user": False},
            embeds=embeds,
            attachments=files,
            sticker_items=items,
            poll=poll,
            at=moment,
            type=kind,
            application_id=self.user.application_id,
        )
        await asyncio.sleep(0)
        return message

    def _check_sending(self, channel: Channel, text: str) -> None:
        if len(text) > NITRO_CONTENT:
            raise ScriptError(f"a user cannot send {len(text)} characters")
        if channel.type in (FORUM, MEDIA):
            raise ScriptError("a forum takes posts, not messages: create_post()")
        if not may_send(self._server.world.permissions(self.id, channel), channel):
            raise ScriptError(f"{self.name} may not send in #{channel.name}")

    async def edit(self, message: Message, text: str) -> Message:
        """Change the text of an own message."""
        self._check_own(message)
        posting.edit(self._server, message, {"content": text})
        await asyncio.sleep(0)
        return message

    async def delete(self, message: Message) -> None:
        """Delete an own message, or another's with Manage Messages."""
        channel = self._server.world.channels[message.channel_id]
        if message.author.id != self.id:
            self._check_permission(channel, Permission.MANAGE_MESSAGES)
        posting.delete(self._server, message)
        await asyncio.sleep(0)

    async def bulk_delete(self, messages: Iterable[Message]) -> None:
        """Delete many messages of one channel at once, as moderation bots do."""
        listed = list(messages)
        channel = self._server.world.channels[listed[0].channel_id]
        self._check_permission(channel, Permission.MANAGE_MESSAGES)
        posting.delete_bulk(self._server, channel, listed)
        await asyncio.sleep(0)

    async def react(self, message: Message, emoji: str, *, added: bool = True) -> None:
        """Add or remove a reaction; a custom emoji is `name:id`."""
        self._server.set_reaction(message, emoji, self.id, added=added)
        await asyncio.sleep(0)

    async def type_in(self, channel: Channel) -> None:
        """Show "is typing"."""
        self._server.typing_started(channel, self.user)
        await asyncio.sleep(0)

    async def pin(self, message: Message) -> Message:
        """Pin a message; returns the system message about it."""
        channel = self._server.world.channels[message.channel_id]
        message.pinned = True
        note = posting.post(self._server, channel, self.user, type=6)
        await asyncio.sleep(0)
        return note

    async def create_thread(self, channel: Channel, name: str, *, message: Message | None = None) -> Channel:
        """Start a thread, from a message or on its own, with the system message Discord adds."""
        self._check_permission(channel, Permission.CREATE_PUBLIC_THREADS)
        thread = self._server.start_thread(channel, name, self.user, message=message)
        await asyncio.sleep(0)
        return thread

    async def create_post(self, forum: Channel, title: str, text: str) -> Channel:
        """Start a forum post; the thread's id is the id of its first message."""
        self._check_permission(forum, Permission.SEND_MESSAGES)
        thread = self._server.start_post(forum, title, text, self.user)
        await asyncio.sleep(0)
        return thread

    # --- application commands -------------------------------------------------------------

    async def slash(
        self,
        command: str,
        channel: Channel,
        /,
        *,
        options: Mapping[str, Any] | None = None,
        ignore_defaults: bool = False,
        **values: Any,
    ) -> Interaction:
        """Use a slash command, for example `slash("scene start", channel, name="Feast")`.

        Values are checked by the synced definition. Option names that are no Python names go into `options`.
        """
        guild = self._server.world.guild_of(channel)
        definition, chain, leaf = find_leaf(self._server, guild, command)
        check_usable(self._server, definition, self.user, channel, ignore_defaults=ignore_defaults)
        resolved = Resolved(self._server, channel, self.user)
        typed = typed_options(leaf, {**(options or {}), **values}, resolved, path=command)
        data = self._command_data(definition, nested(chain, typed), resolved)
        return await self._send(COMMAND, channel, f"/{command}", data)

    async def autocomplete(
        self,
        command: str,
        channel: Channel | None = None,
        /,
        *,
        option: str,
        value: Any = "",
        timeout: float = 30.0,
        **others: Any,
    ) -> list[dict[str, Any]]:
        """Type `value` into an option and return the offered choices ({"name", "value"})."""
        channel = channel or self._any_channel()
        guild = self._server.world.guild_of(channel)
        definition, chain, leaf = find_leaf(self._server, guild, command)
        target = next((item for item in leaf if item["name"] == option), None)
        if target is None or not target.get("autocomplete"):
            raise ScriptError(f"/{command} {option} does not autocomplete")
        resolved = Resolved(self._server, channel, self.user)
        typed = typed_options(leaf, {**others, option: value}, resolved, focused=option, path=command)
        data = self._command_data(definition, nested(chain, typed), resolved)
        interaction = await self._send(AUTOCOMPLETE, channel, f"/{command} {option}", data)
        return await interaction.choices(timeout)

    async def context_menu(
        self, name: str, message: Message, *, ignore_defaults: bool = False
    ) -> Interaction:
        """Use a command of a message's context menu."""
        channel = self._server.world.channels[message.channel_id]
        definition = self._server.visible_command(channel.guild_id, MESSAGE, name)
        check_usable(self._server, definition, self.user, channel, ignore_defaults=ignore_defaults)
        data: dict[str, Any] = {
            "id": definition["id"],
            "name": name,
            "type": MESSAGE,
            "target_id": str(message.id),
            "resolved": {"messages": {str(message.id): self._shown(message)}},
        }
        return await self._send(COMMAND, channel, name, data)

    async def user_menu(self, name: str, target: Any, channel: Channel) -> Interaction:
        """Use a command of a user's context menu."""
        definition = self._server.visible_command(channel.guild_id, USER, name)
        check_usable(self._server, definition, self.user, channel, ignore_defaults=False)
        resolved = Resolved(self._server, channel, self.user)
        identifier = resolved.add(target)
        data = {"id": definition["id"], "name": name, "type": USER, "target_id": identifier}
        return await self._send(COMMAND, channel, name, data | {"resolved": resolved.parts})

    # --- components and forms -------------------------------------------------------------

    async def click(self, message: Message, wanted: str) -> Interaction:
        """Click the button with this custom_id or label."""
        button = self._component(message, wanted, kinds={2})
        data = {"component_type": 2, "custom_id": button["custom_id"], "id": button["id"]}
        return await self._use(message, button, data)

    async def select(self, message: Message, wanted: str, values: Any) -> Interaction:
        """Pick values, labels or objects in the select with this custom_id or placeholder."""
        menu = self._component(message, wanted, kinds={3, 5, 6, 7, 8})
        channel = self._server.world.channels[message.channel_id]
        resolved = Resolved(self._server, channel, self.user)
        chosen = picked(menu, values if isinstance(values, list) else [values], resolved)
        data = {
            "component_type": menu["type"],
            "custom_id": menu["custom_id"],
            "id": menu["id"],
            "values": chosen,
        }
        return await self._use(message, menu, data | ({"resolved": resolved.parts} if resolved.parts else {}))

    def _component(self, message: Message, wanted: str, *, kinds: set[int]) -> dict[str, Any]:
        if message.deleted:
            raise ScriptError("the message is gone")
        if message.ephemeral_for not in (None, self.id):
            raise ScriptError(f"{self.name} does not see this ephemeral message")
        found = [item for item in walk_components(message.components) if item["type"] in kinds]
        for item in found:
            if wanted in (item.get("custom_id"), item.get("label"), item.get("placeholder")):
                if item.get("disabled"):
                    raise ScriptError(f"{wanted!r} is disabled")
                if not item.get("custom_id"):
                    raise ScriptError(f"{wanted!r} is a link")
                return item
        names = [item.get("label") or item.get("custom_id") for item in found]
        raise ScriptError(f"the message has no {wanted!r}; it has {names}")

    async def _use(self, message: Message, component: dict[str, Any], data: dict[str, Any]) -> Interaction:
        channel = self._server.world.channels[message.channel_id]
        name = component.get("label") or component["custom_id"]
        return await self._send(COMPONENT, channel, name, data, source=message)

    async def submit_modal(
        self,
        opened: Interaction | Modal,
        values: Mapping[str, Any] | None = None,
        *,
        files: Mapping[str, Any] | None = None,
    ) -> Interaction:
        """Submit a form: values by custom_id, files as (name, bytes) or a list of them."""
        modal = opened if isinstance(opened, Modal) else await opened.modal()
        parent = modal.interaction
        resolved = Resolved(self._server, parent.channel, self.user)
        components = submitted(modal, values or {}, files or {}, resolved)
        data: dict[str, Any] = {"custom_id": modal.custom_id, "components": components}
        if resolved.parts:
            data["resolved"] = resolved.parts
        metadata = parent.metadata()
        source = parent.source if parent.kind == COMPONENT else None
        return await self._send(
            MODAL_SUBMIT, parent.channel, modal.title, data, source=source, parent=metadata
        )

    # --- the interaction itself -----------------------------------------------------------

    def _command_data(
        self, definition: dict[str, Any], options: list[dict[str, Any]], resolved: Resolved
    ) -> dict[str, Any]:
        data: dict[str, Any] = {
            "id": definition["id"],
            "name": definition["name"],
            "type": CHAT,
            "options": options,
        }
        if definition.get("guild_id"):
            data["guild_id"] = definition["guild_id"]
        return data | ({"resolved": resolved.parts} if resolved.parts else {})

    async def _send(
        self,
        kind: int,
        channel: Channel,
        name: str,
        data: dict[str, Any],
        *,
        source: Message | None = None,
        parent: dict[str, Any] | None = None,
    ) -> Interaction:
        started = interactions.start(
            self._server, kind, self.user, channel, name, source=source, parent_metadata=parent
        )
        self._server.gateway.dispatch(
            "INTERACTION_CREATE", self._payload(started, data), guild_id=channel.guild_id
        )
        await asyncio.sleep(0)
        return started

    def _payload(self, started: Interaction, data: dict[str, Any]) -> dict[str, Any]:
        world, channel = self._server.world, started.channel
        bits = world.permissions(self.id, channel)
        payload: dict[str, Any] = {
            "id": str(started.id),
            "application_id": str(world.application_id),
            "type": started.kind,
            "token": started.token,
            "version": 1,
            "data": data,
            "channel_id": str(channel.id),
            "channel": channel_json(channel) | {"permissions": str(bits)},
            "locale": "en-US",
            "app_permissions": str(world.permissions(world.bot.id, channel)),
            "entitlements": [],
            "entitlement_sku_ids": [],
            "authorizing_integration_owners": started.owners(),
            "attachment_size_limit": FILE_BYTES,
            "context": 1 if channel.guild_id is None else 0,
        }
        if started.source is not None:
            payload["message"] = self._shown(started.source)
        guild = world.guild_of(channel)
        if guild is None:
            return payload | {"user": user_json(self.user)}
        member = member_json(guild.members[self.id]) | {"permissions": str(bits)}
        about = {"id": str(guild.id), "locale": guild.locale, "features": []}
        return payload | {
            "guild_id": str(guild.id),
            "guild": about,
            "guild_locale": guild.locale,
            "member": member,
        }

    def _shown(self, message: Message) -> dict[str, Any]:
        return message_json(message, self._server.cdn_url, bot_id=self._server.bot_user_id)

    # --- checks ---------------------------------------------------------------------------

    def _check_own(self, message: Message) -> None:
        if message.author.id != self.id or message.webhook_id is not None:
            raise ScriptError(f"{self.name} did not write this message")

    def _check_permission(self, channel: Channel, permission: Permission) -> None:
        if not self._server.world.permissions(self.id, channel) & permission:
            raise ScriptError(f"{self.name} lacks {permission.name} in #{channel.name}")

    def _any_channel(self) -> Channel:
        world = self._server.world
        for channel in world.channels.values():
            if channel.type == 0 and world.permissions(self.id, channel) & Permission.VIEW_CHANNEL:
                return channel
        raise ScriptError(f"{self.name} sees no text channel")

    def member_of(self, guild_id: int) -> Member:
        """Return the membership in a guild."""
        return self._server.world.guilds[guild_id].members[self.id]
