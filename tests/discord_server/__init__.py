"""A Discord on 127.0.0.1 for tests: REST, gateway and CDN for the unmodified discord.py client."""

from .apps import ScriptedApp, ScriptedWebhook
from .errors import ScriptError
from .interactions import Interaction, Modal
from .limits import RateLimits
from .models import Channel, Guild, Member, Message, Role
from .permissions import ALL, BOT_DEFAULT, Permission
from .server import DiscordServer
from .users import ScriptedUser

__all__ = [
    "ALL",
    "BOT_DEFAULT",
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
