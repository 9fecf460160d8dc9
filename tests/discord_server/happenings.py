"""Things that happen to guilds and channels: each changes the world and tells the gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from . import posting
from .models import FORUM, MEDIA, Channel, Guild, Member, Message, Overwrite, Role, User, Webhook
from .payloads import channel_json, emoji_reference, guild_json, member_json, role_json
from .permissions import BOT_DEFAULT

if TYPE_CHECKING:
    from .gateway import Gateway
    from .server import DiscordServer
    from .wire import Signal
    from .world import World


class Happenings:
    """The events of a DiscordServer that no single user causes."""

    world: World
    gateway: Gateway
    changed: Signal

    @property
    def _server(self) -> DiscordServer:
        return cast("DiscordServer", self)

    # --- channels and threads -------------------------------------------------------------

    def channel_created(self, channel: Channel) -> None:
        """Announce a new channel."""
        self.gateway.dispatch("CHANNEL_CREATE", channel_json(channel), guild_id=channel.guild_id)

    def channel_changed(self, channel: Channel) -> None:
        """Announce what is new about a channel or thread."""
        event = "THREAD_UPDATE" if channel.is_thread else "CHANNEL_UPDATE"
        self.gateway.dispatch(event, channel_json(channel), guild_id=channel.guild_id)
        self.changed.notify()

    def set_overwrite(
        self, channel: Channel, target: Role | User | Member, *, allow: int = 0, deny: int = 0
    ) -> None:
        """Allow or deny permissions in a channel to a role, a user or a member."""
        who = target.user if isinstance(target, Member) else target
        kind = 0 if isinstance(who, Role) else 1
        channel.overwrites[who.id] = Overwrite(who.id, kind, int(allow), int(deny))
        self.channel_changed(channel)

    def delete_channel(self, channel: Channel) -> None:
        """Delete a channel with its threads, or one thread."""
        self.world.drop_channel(channel)
        payload = channel_json(channel)
        if channel.is_thread:
            payload = {key: payload[key] for key in ("id", "guild_id", "parent_id", "type")}
        event = "THREAD_DELETE" if channel.is_thread else "CHANNEL_DELETE"
        self.gateway.dispatch(event, payload, guild_id=channel.guild_id)
        self.changed.notify()

    def add_thread(self, parent: Channel, name: str, *, owner: User | None = None) -> Channel:
        """Create a thread without any system message."""
        thread = self.world.add_thread(parent, name, (owner or self.world.bot).id)
        self.thread_created(thread)
        return thread

    def thread_created(self, thread: Channel) -> None:
        """Announce a new thread to a bot that can see it."""
        if self.world.bot_sees(thread):
            payload = channel_json(thread) | {"newly_created": True}
            self.gateway.dispatch("THREAD_CREATE", payload, guild_id=thread.guild_id)
        self.changed.notify()

    def start_thread(self, parent: Channel, name: str, owner: User, *, message: Message | None) -> Channel:
        """Create a thread as a person does, with Discord's system message in it or in the parent."""
        thread_id = None if message is None else message.id
        thread = self.world.add_thread(parent, name, owner.id, thread_id=thread_id)
        self.thread_created(thread)
        if message is None:
            reference = {"type": 0, "channel_id": str(thread.id), "guild_id": str(parent.guild_id)}
            posting.post(self._server, parent, owner, name, type=18, reference=reference)
            return thread
        message.thread_id = thread.id
        message.flags |= 1 << 5
        reference = {
            "type": 0,
            "channel_id": str(parent.id),
            "guild_id": str(parent.guild_id),
            "message_id": str(message.id),
        }
        posting.post(self._server, thread, owner, type=21, reference=reference, referenced=message)
        return thread

    def start_post(self, forum: Channel, title: str, text: str, owner: User) -> Channel:
        """Create a forum post with its first message."""
        if forum.type not in (FORUM, MEDIA):
            raise ValueError(f"#{forum.name} is no forum")
        identifier = self.world.new_id()
        thread = self.world.add_thread(forum, title, owner.id, thread_id=identifier)
        self.thread_created(thread)
        posting.post(self._server, thread, owner, text, message_id=identifier)
        return thread

    def archive(self, thread: Channel, *, locked: bool = False) -> None:
        """Archive a thread."""
        thread.archived, thread.locked = True, locked
        self.channel_changed(thread)

    # --- guilds, members, roles -----------------------------------------------------------

    def rename_guild(self, guild: Guild, name: str) -> None:
        """Rename a guild."""
        guild.name = name
        self.gateway.dispatch("GUILD_UPDATE", guild_json(guild, self.world.application_id), guild_id=guild.id)

    def kick_bot(self, guild: Guild) -> None:
        """Remove the bot from a guild."""
        member = guild.members.pop(self.world.bot.id)
        for role_id in member.roles:
            if guild.roles[role_id].managed:
                del guild.roles[role_id]
        for webhook in [item for item in self.world.webhooks.values() if item.guild_id == guild.id]:
            if webhook.application_id == self.world.application_id:
                del self.world.webhooks[webhook.id]
        self.gateway.dispatch("GUILD_DELETE", {"id": str(guild.id)}, guild_id=guild.id)
        self.changed.notify()

    def guild_outage(self, guild: Guild) -> None:
        """Make a guild unavailable, as an outage at Discord does."""
        self.gateway.dispatch("GUILD_DELETE", {"id": str(guild.id), "unavailable": True}, guild_id=guild.id)

    def set_bot_permissions(self, guild: Guild, permissions: int = BOT_DEFAULT) -> None:
        """Change what the bot's managed role allows."""
        for role in guild.roles.values():
            if role.bot_id == self.world.bot.id:
                role.permissions = int(permissions)
                self.role_changed(role)

    def role_changed(self, role: Role, *, event: str = "GUILD_ROLE_UPDATE") -> None:
        """Announce a new or changed role."""
        payload = {"guild_id": str(role.guild_id), "role": role_json(role)}
        self.gateway.dispatch(event, payload, guild_id=role.guild_id)

    def set_roles(self, member: Member, roles: list[Role]) -> None:
        """Give a member exactly these roles."""
        member.roles = [role.id for role in roles]
        self._member_changed(member)

    def set_nick(self, member: Member, nick: str | None) -> None:
        """Change a member's nickname."""
        member.nick = nick
        self._member_changed(member)

    def _member_changed(self, member: Member) -> None:
        own = member.user.id == self.world.bot.id
        payload = member_json(member) | {"guild_id": str(member.guild_id)}

        # Without the members intent a bot hears only about itself.
        self.gateway.dispatch("GUILD_MEMBER_UPDATE", payload, guild_id=member.guild_id, members_only=not own)

    def remove_member(self, guild: Guild, user_id: int) -> None:
        """Let a member leave."""
        member = guild.members.pop(user_id)
        payload = {"guild_id": str(guild.id), "user": member_json(member)["user"]}
        self.gateway.dispatch("GUILD_MEMBER_REMOVE", payload, guild_id=guild.id)

    # --- webhooks, reactions, small things ------------------------------------------------

    def webhooks_changed(self, channel: Channel) -> None:
        """Announce that some webhook of a channel is new, changed or gone."""
        payload = {"guild_id": str(channel.guild_id), "channel_id": str(channel.id)}
        self.gateway.dispatch("WEBHOOKS_UPDATE", payload, guild_id=channel.guild_id)
        self.changed.notify()

    def delete_webhook(self, webhook: Webhook) -> None:
        """Delete a webhook: later sends get 404/10015."""
        self.world.webhooks.pop(webhook.id, None)
        channel = self.world.channels.get(webhook.channel_id)
        if channel is not None:
            self.webhooks_changed(channel)

    def webhooks_of(self, channel: Channel, *, own: bool = True) -> list[Webhook]:
        """Return the webhooks in a channel; by default only those of the bot's application."""
        found = [item for item in self.world.webhooks.values() if item.channel_id == channel.id]
        return [item for item in found if not own or item.application_id == self.world.application_id]

    def set_reaction(self, message: Message, name: str, user_id: int, *, added: bool) -> None:
        """Add or remove one user's reaction."""
        users = message.reactions.setdefault(name, set())
        (users.add if added else users.discard)(user_id)
        event = "MESSAGE_REACTION_ADD" if added else "MESSAGE_REACTION_REMOVE"
        payload: dict[str, Any] = {
            "user_id": str(user_id),
            "channel_id": str(message.channel_id),
            "message_id": str(message.id),
            "emoji": emoji_reference(name),
            "type": 0,
            "burst": False,
        }
        if message.guild_id is not None:
            payload["guild_id"] = str(message.guild_id)
            member = self.world.guilds[message.guild_id].members.get(user_id)
            if added and member is not None:
                payload |= {"member": member_json(member), "message_author_id": str(message.author.id)}
        self.gateway.dispatch(event, payload, guild_id=message.guild_id)
        self.changed.notify()

    def typing_started(self, channel: Channel, user: User) -> None:
        """Announce that a user types."""
        payload: dict[str, Any] = {
            "channel_id": str(channel.id),
            "user_id": str(user.id),
            "timestamp": int(self.world.clock.wall().timestamp()),
        }
        if channel.guild_id is not None:
            member = self.world.guilds[channel.guild_id].members[user.id]
            payload |= {"guild_id": str(channel.guild_id), "member": member_json(member)}
        self.gateway.dispatch("TYPING_START", payload, guild_id=channel.guild_id)

    def unfurl(self, message: Message, *, title: str = "A page", url: str = "https://example.org/") -> None:
        """Add a link preview: an update with new embeds, the same content and no edit time."""
        message.embeds = [*message.embeds, {"type": "link", "title": title, "url": url}]
        posting.publish(self._server, "MESSAGE_UPDATE", message)
