"""The REST route that takes the first response of an interaction."""

from __future__ import annotations

from typing import Any

from . import interactions
from .payloads import message_json
from .routing import Call, Reply, Route


def create_response(call: Call) -> Any:
    """Acknowledge an interaction; with_response=1 tells what was made of it."""
    interaction, message = interactions.respond(call)
    if not call.flag("with_response"):
        return Reply(204)
    kind = int(call.body["type"])
    about: dict[str, Any] = {"id": str(interaction.id), "type": interaction.kind}
    if message is not None:
        about |= {
            "response_message_id": str(message.id),
            "response_message_loading": message.loading,
            "response_message_ephemeral": message.ephemeral,
        }
    reply: dict[str, Any] = {"interaction": about}
    if message is not None and kind in (interactions.REPLY, interactions.UPDATE):
        shown = message_json(message, call.server.cdn_url, bot_id=call.world.bot.id)
        reply["resource"] = {"type": kind, "message": shown}
    return Reply(200, reply)


ROUTES: tuple[Route, ...] = (
    ("POST", "/interactions/{interaction_id}/{interaction_token}/callback", create_response),
)
