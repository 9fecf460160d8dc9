"""A Discord on 127.0.0.1 for tests: REST, gateway and CDN for the unmodified discord.py client."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .apps import ScriptedApp, ScriptedWebhook
    from .errors import ScriptError
    from .interactions import Interaction, Modal
    from .limits import RateLimits
    from .models import Channel, Guild, Member, Message, Role
    from .permissions import ALL, BOT_DEFAULT, Permission
    from .process import BotProcess
    from .server import DiscordServer
    from .users import ScriptedUser

_HOMES = {
    "ALL": "permissions",
    "BOT_DEFAULT": "permissions",
    "BotProcess": "process",
    "Channel": "models",
    "DiscordServer": "server",
    "Guild": "models",
    "Interaction": "interactions",
    "Member": "models",
    "Message": "models",
    "Modal": "interactions",
    "Permission": "permissions",
    "RateLimits": "limits",
    "Role": "models",
    "ScriptError": "errors",
    "ScriptedApp": "apps",
    "ScriptedUser": "users",
    "ScriptedWebhook": "apps",
}

__all__ = [
    "ALL",
    "BOT_DEFAULT",
    "BotProcess",
    "Channel",
    "DiscordServer",
    "Guild",
    "Interaction",
    "Member",
    "Message",
    "Modal",
    "Permission",
    "RateLimits",
    "Role",
    "ScriptError",
    "ScriptedApp",
    "ScriptedUser",
    "ScriptedWebhook",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is asked for, so that a launched bot does not carry the server along."""
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
