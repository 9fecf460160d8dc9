"""A Discord on 127.0.0.1 for tests: REST, gateway and CDN for the unmodified discord.py client.

With the fixture `discord_server` the client of this process talks to it; `BotProcess` runs the bot apart::

    guild = discord_server.add_guild("Tavern")
    inn = discord_server.add_channel(guild, "inn")
    mona = discord_server.add_moderator(guild, "Mona")
    ...                                                     # start the bot with discord_server.token
    await discord_server.ready()
    form = await mona.slash("persona create", inn)
    done = await mona.submit_modal(form, {"name": "Luna"})
    assert "Luna" in (await done.answer()).text
    said = await mona.say(inn, "Good evening, Luna")
    reply = await discord_server.wait_for_message(inn, lambda message: message.author_name == "Luna")

What breaks Discord's rules is refused as Discord does and collected in `discord_server.violations`.
"""

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
