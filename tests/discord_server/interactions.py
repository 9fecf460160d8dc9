"""Interactions: their clock rules on the server's side, and the handle a test awaits the answer on."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import posting
from .errors import ApiError, ScriptError, invalid_form, unknown
from .models import EPHEMERAL_FLAG, LOADING_FLAG, Channel, Message, User
from .payloads import user_json
from .rendering import rendered_components
from .routes_messages import edit_with, store_files
from .routing import Call
from .rules import check_choices, check_message, check_modal

if TYPE_CHECKING:
    from .server import DiscordServer

COMMAND, COMPONENT, AUTOCOMPLETE, MODAL_SUBMIT = 2, 3, 4, 5
REPLY, DEFER, DEFER_UPDATE, UPDATE, CHOICES, MODAL = 4, 5, 6, 7, 8, 9
ACK_SECONDS, TOKEN_SECONDS = 3.0, 15 * 60.0
_ALLOWED = {
    COMMAND: {REPLY, DEFER, MODAL},
    COMPONENT: {REPLY, DEFER, DEFER_UPDATE, UPDATE, MODAL},
    AUTOCOMPLETE: {CHOICES},
    MODAL_SUBMIT: {REPLY, DEFER, DEFER_UPDATE, UPDATE},
}


@dataclass(eq=False)
class Modal:
    """A form that the bot opened for a user."""

    interaction: Interaction
    custom_id: str
    title: str
    components: list[dict[str, Any]]

    @property
    def fields(self) -> dict[str, dict[str, Any]]:
        """The inputs by custom id; those in a Label carry its text as `label`."""
        found: dict[str, dict[str, Any]] = {}
        for top in self.components:
            inner = top.get("component")
            for item in [inner] if inner else top.get("components") or []:
                label = top.get("label") if inner else item.get("label")
                found[item["custom_id"]] = item | {"label": label, "description": top.get("description")}
        return found


@dataclass(eq=False)
class Interaction:
    """One slash command, click, form or autocomplete of a user, and what the bot answered so far."""

    server: DiscordServer = field(repr=False)
    id: int
    token: str = field(repr=False)
    kind: int
    user: User
    channel: Channel
    name: str
    source: Message | None = None
    created: float = 0.0
    parent_metadata: dict[str, Any] | None = None
    callback: int | None = None
    original: Message | None = None
    followups: list[Message] = field(default_factory=list)
    opened: Modal | None = None
    offered: list[dict[str, Any]] | None = None
    updates: int = 0

    # --- what a test asks -----------------------------------------------------------------

    @property
    def failed(self) -> bool:
        """Whether the bot let the three seconds pass: the user sees that the application did not respond."""
        return self.callback is None and self.server.world.clock.seconds() - self.created > ACK_SECONDS

    @property
    def messages(self) -> list[Message]:
        """Everything the user was shown, in order, without what is still loading."""
        shown = [] if self.original is None else [self.original]
        return [item for item in [*shown, *self.followups] if not item.loading and not item.deleted]

    async def acked(self, timeout: float = 30.0) -> int:
        """Return the callback type of the first response. Raises ScriptError when it came too late."""
        await self._until(lambda: self.callback is not None or self.failed, timeout, "a response")
        if self.callback is None:
            raise ScriptError(f"{self.name}: the application did not respond")
        return self.callback

    async def answer(self, timeout: float = 30.0) -> Message:
        """Return the first message of the answer, when it is there and no longer loading."""
        await self.acked(timeout)
        if self.callback == MODAL:
            raise ScriptError(f"{self.name} was answered with a modal")
        await self._until(lambda: self._first() is not None, timeout, "an answer")
        first = self._first()
        assert first is not None
        return first

    def _first(self) -> Message | None:
        if self.messages:
            return self.messages[0]
        return self.source if self.source is not None and self.updates else None

    async def modal(self, timeout: float = 30.0) -> Modal:
        """Return the form that the bot opened."""
        await self.acked(timeout)
        if self.opened is None:
            raise ScriptError(f"{self.name} was answered with callback {self.callback}, not with a modal")
        return self.opened

    async def followup(self, number: int = 1, timeout: float = 30.0) -> Message:
        """Return the `number`-th follow-up message after the original answer, counted from 1."""
        await self._until(lambda: len(self.followups) >= number, timeout, f"follow-up {number}")
        return self.followups[number - 1]

    async def choices(self, timeout: float = 30.0) -> list[dict[str, Any]]:
        """Return the autocomplete choices."""
        await self.acked(timeout)
        return list(self.offered or [])

    async def _until(self, ready: Any, timeout: float, what: str) -> None:
        await self.server.changed.until(ready, timeout, f"{what} to {self.name} of {self.user.username}")

    # --- what the server checks -----------------------------------------------------------

    def metadata(self) -> dict[str, Any]:
        """Return the interaction_metadata of the messages that answer it."""
        payload: dict[str, Any] = {
            "id": str(self.id),
            "type": self.kind,
            "user": user_json(self.user),
            "authorizing_integration_owners": self.owners(),
        }
        if self.kind == COMPONENT and self.source is not None:
            payload["interacted_message_id"] = str(self.source.id)
        if self.kind == MODAL_SUBMIT:
            payload["triggering_interaction_metadata"] = self.parent_metadata
        return payload

    def owners(self) -> dict[str, str]:
        """Return who installed the application that is used here."""
        return {"0": str(self.channel.guild_id or 0)}


def start(
    server: DiscordServer,
    kind: int,
    user: User,
    channel: Channel,
    name: str,
    *,
    source: Message | None = None,
    parent_metadata: dict[str, Any] | None = None,
) -> Interaction:
    """Register an interaction whose three seconds run from now."""
    interaction = Interaction(
        server,
        server.world.new_id(),
        secrets.token_urlsafe(48),
        kind,
        user,
        channel,
        name,
        source=source,
        created=server.world.clock.seconds(),
        parent_metadata=parent_metadata,
    )
    server.interactions[interaction.id] = interaction
    server.interaction_tokens[interaction.token] = interaction
    wait = server.world.clock.real_seconds(ACK_SECONDS) + 0.01
    asyncio.get_running_loop().call_later(wait, server.changed.notify)
    return interaction


def respond(call: Call) -> tuple[Interaction, Message | None]:
    """Take the first response of an interaction. Raises 10062 when late, 40060 when it is not the first."""
    interaction = call.server.interactions.get(call.id("interaction_id"))
    if interaction is None or interaction.token != call.text("interaction_token") or interaction.failed:
        raise unknown("Interaction")
    if interaction.callback is not None:
        raise ApiError(400, 40060, "Interaction has already been acknowledged.")
    kind = int(call.body.get("type", 0))
    allowed = _ALLOWED[interaction.kind]
    if interaction.source is None and kind in (DEFER_UPDATE, UPDATE):
        allowed = allowed - {DEFER_UPDATE, UPDATE}
    if kind not in allowed:
        raise invalid_form({"type": f"Value must be one of {sorted(allowed)}."})
    message = _apply(call, interaction, kind, call.body.get("data") or {})
    interaction.callback = kind
    return interaction, message


def _apply(call: Call, interaction: Interaction, kind: int, content: dict[str, Any]) -> Message | None:
    if kind == MODAL:
        check_modal(content)
        parts = rendered_components(content["components"])
        interaction.opened = Modal(interaction, content["custom_id"], content["title"], parts)
        return None
    if kind == CHOICES:
        check_choices(content.get("choices") or [])
        interaction.offered = list(content.get("choices") or [])
        return None
    if kind == DEFER_UPDATE:
        return None
    if kind == UPDATE:
        assert interaction.source is not None
        check_message(content, files=call.record.files, empty_ok=True, known_flags=interaction.source.flags)
        files = store_files(call.world, interaction.channel.id, content, call.record.files)
        posting.edit(call.server, interaction.source, content, new_files=files)
        interaction.updates += 1
        return interaction.source
    if kind == DEFER:
        content = {"flags": int(content.get("flags") or 0) & EPHEMERAL_FLAG | LOADING_FLAG}
    else:
        check_message(content, files=call.record.files)
    interaction.original = _post(call, interaction, content)
    return interaction.original


def _post(call: Call, interaction: Interaction, content: dict[str, Any]) -> Message:
    flags = int(content.get("flags") or 0)
    hidden = bool(flags & EPHEMERAL_FLAG)
    channel = interaction.channel
    return posting.post(
        call.server,
        channel,
        call.world.bot,
        content.get("content") or "",
        allowed_mentions=content.get("allowed_mentions") or {"parse": ["users"]},
        embeds=content.get("embeds") or [],
        components=content.get("components") or [],
        attachments=store_files(call.world, channel.id, content, call.record.files, ephemeral=hidden),
        type=20 if interaction.kind == COMMAND and interaction.original is None else 0,
        flags=flags,
        tts=bool(content.get("tts")),
        webhook_id=call.world.application_id,
        application_id=call.world.application_id,
        interaction_metadata=interaction.metadata(),
        ephemeral_for=interaction.user.id if hidden else None,
    )


def _of_token(call: Call) -> Interaction:
    interaction = call.server.interaction_tokens.get(call.text("webhook_token"))
    if interaction is None or interaction.callback is None:
        raise unknown("Webhook")
    if call.world.clock.seconds() - interaction.created > TOKEN_SECONDS:
        raise ApiError(401, 50027, "Invalid Webhook Token")
    return interaction


def follow_up(call: Call) -> Message:
    """Post a follow-up; the first one after a deferral takes the place of the loading message."""
    interaction = _of_token(call)
    check_message(call.body, files=call.record.files)
    original = interaction.original
    if original is not None and original.loading and not original.deleted:
        return _fill(call, original)
    message = _post(call, interaction, call.body)
    message.reference = _reply_reference(interaction)
    interaction.followups.append(message)
    return message


def _reply_reference(interaction: Interaction) -> dict[str, Any] | None:
    target = interaction.original or interaction.source
    if target is None:
        return None
    return {"type": 0, "channel_id": str(target.channel_id), "message_id": str(target.id)}


def _fill(call: Call, original: Message) -> Message:
    original.flags &= ~LOADING_FLAG
    # What was shown while loading decides whether the answer is private, not the answer's own flag.
    files = store_files(
        call.world, original.channel_id, call.body, call.record.files, ephemeral=original.ephemeral
    )
    posting.edit(
        call.server, original, {k: v for k, v in call.body.items() if k != "attachments"}, new_files=files
    )
    return original


def message_of(call: Call) -> Message:
    """Return the message that a follow-up address names. Raises 10008 when it is gone."""
    interaction = _of_token(call)
    name = call.record.params.get("message_id")
    if name is None:
        message = interaction.original
        if message is None and interaction.callback in (DEFER_UPDATE, UPDATE):
            message = interaction.source
    else:
        known = [interaction.original, interaction.source, *interaction.followups]
        message = next((item for item in known if item is not None and str(item.id) == name), None)
    if message is None or message.deleted:
        raise unknown("Message")
    return message


def edit_message(call: Call, message: Message) -> Message:
    """Edit an answer; editing a loading message ends its loading."""
    interaction = _of_token(call)
    if message.loading:
        check_message(call.body, files=call.record.files)
        return _fill(call, message)
    edit_with(call, message)
    if message is interaction.source:
        interaction.updates += 1
    return message
