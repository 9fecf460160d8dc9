"""Who may do what: one table for every command, checked in code whatever Discord's own settings say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import discord
from discord import app_commands

from bot.errors import UserFacing
from cogs.answers import Asked
from cogs.names import here

if TYPE_CHECKING:
    from bot.engine.options import Options

Channel = app_commands.AppCommandChannel | app_commands.AppCommandThread
"""A channel or thread that was chosen in a command, with what the asker may do there."""


class Right(IntEnum):
    """Each right contains those before it."""

    EVERYONE = 0
    GAME_MASTER = 1
    MODERATOR = 2


RIGHTS: Final[Mapping[str, Right]] = {
    "persona create": Right.MODERATOR,
    "persona edit": Right.MODERATOR,
    "persona delete": Right.MODERATOR,
    "persona import": Right.MODERATOR,
    "persona export": Right.MODERATOR,
    "persona history": Right.MODERATOR,
    "persona library": Right.MODERATOR,
    "persona remember": Right.MODERATOR,
    "persona memories": Right.MODERATOR,
    "persona style": Right.MODERATOR,
    "persona sleep": Right.MODERATOR,
    "persona wake": Right.MODERATOR,
    "persona restrict": Right.MODERATOR,
    "persona waiting": Right.MODERATOR,
    "persona list": Right.EVERYONE,
    "persona show": Right.EVERYONE,
    "lore add": Right.MODERATOR,
    "lore edit": Right.MODERATOR,
    "lore remove": Right.MODERATOR,
    "lore import": Right.MODERATOR,
    "lore export": Right.MODERATOR,
    "lore list": Right.GAME_MASTER,
    "lore explain": Right.GAME_MASTER,
    "scene start": Right.GAME_MASTER,
    "scene switch": Right.GAME_MASTER,
    "scene set": Right.GAME_MASTER,
    "scene pause": Right.GAME_MASTER,
    "scene resume": Right.GAME_MASTER,
    "scene end": Right.GAME_MASTER,
    "scene cast add": Right.GAME_MASTER,
    "scene cast remove": Right.GAME_MASTER,
    "scene share": Right.MODERATOR,
    "scene unshare": Right.MODERATOR,
    "scene list": Right.EVERYONE,
    "scene show": Right.EVERYONE,
    "alias use": Right.EVERYONE,
    "alias clear": Right.EVERYONE,
    "alias list": Right.EVERYONE,
    "memory search": Right.EVERYONE,
    "memory who": Right.EVERYONE,
    "memory add": Right.GAME_MASTER,
    "memory timeline": Right.GAME_MASTER,
    "memory forget": Right.EVERYONE,
    "memory scratchpad": Right.GAME_MASTER,
    "mood show": Right.EVERYONE,
    "settings show": Right.MODERATOR,
    "settings set": Right.MODERATOR,
    "settings log": Right.MODERATOR,
    "privacy about": Right.EVERYONE,
    "privacy export": Right.EVERYONE,
    "privacy forget-me": Right.EVERYONE,
    "privacy opt-out": Right.EVERYONE,
    "privacy opt-in": Right.EVERYONE,
    "usage": Right.EVERYONE,
    "help": Right.EVERYONE,
}
"""`/memory search`, `who` and `forget` show and take from a plain member only what is the member's own."""

MENU_RIGHTS: Final[Mapping[str, Right]] = {
    "Regenerate": Right.EVERYONE,
    "Edit reply": Right.GAME_MASTER,
    "Why this reply?": Right.EVERYONE,
    "More…": Right.EVERYONE,
}
"""The message menu. Of `Regenerate`, everybody may ask for the answer to themselves; see `CONDITIONS`."""

MORE_RIGHTS: Final[Mapping[str, Right]] = {
    "Delete": Right.GAME_MASTER,
    "Pin": Right.MODERATOR,
    "Who triggered this?": Right.MODERATOR,
}
"""The buttons behind `More…`."""

ALSO: Final[Mapping[str, str]] = {"persona create": "creator_roles"}
"""Commands that members with a role in this setting may use as well, if in a narrower way."""

CONDITIONS: Final = (
    "Plain members find, see and forget with `/memory search`, `who` and `forget` only what is their own; "
    "of other members' memories *Why this reply?* shows them only that they were there.",
    "*Regenerate* is for those whom the reply answered, and for game masters.",
    "Members with a role in `creator_roles` may use `/persona create`: what they make waits for a moderator.",
    "In a direct message everybody is their own moderator.",
    "Discord shows `/persona`, `/scene`, `/lore` and `/settings` only to members with Manage Channels until "
    "an admin of the server allows more roles under Server Settings → Integrations → Troupe.",
)
"""What the table cannot say in a cell."""

NOTED: Final = frozenset(
    {name for name, right in RIGHTS.items() if right > Right.EVERYONE}
    - {"persona export", "lore export", "lore list", "lore explain", "memory timeline", "settings show"}
    - {"settings log"}
) | {"Edit reply", "Delete", "Pin", "memory forget", "memory who", "Regenerate"}
"""What the log of moderators' actions (`cogs.audit.note`) holds, under these names: all that changes what is
not the asker's own."""

_NEEDED_WORDS: Final = {
    Right.GAME_MASTER: "a game master (a role in the setting `gm_roles`) or a moderator",
    Right.MODERATOR: "a moderator (Manage Channels here, or a role in the setting `moderator_roles`)",
}


_WHO: Final = {
    Right.EVERYONE: "every member",
    Right.GAME_MASTER: "game masters too: a role in `gm_roles`",
    Right.MODERATOR: "moderators only: Manage Channels in the channel, or a role in `moderator_roles`",
}


def needed_words(right: Right) -> str:
    """Who has a right, in words."""
    return _NEEDED_WORDS[right]


async def right_of(interaction: Asked, options: Options) -> Right:
    """The highest right of the asker in this place. In a direct message everybody is their own moderator."""
    if interaction.guild_id is None or interaction.permissions.manage_channels:
        return Right.MODERATOR
    place = here(interaction)
    values = await options.effective(place.space_id, place.id)
    roles = {role.id for role in getattr(interaction.user, "roles", ())}
    if roles & _role_ids(values["moderator_roles"].value):
        return Right.MODERATOR
    if roles & _role_ids(values["gm_roles"].value):
        return Right.GAME_MASTER
    return Right.EVERYONE


async def require_in(interaction: Asked, options: Options, channel: Channel) -> None:
    """`UserFacing` when the asker does not moderate another channel of the server."""
    if channel.permissions.manage_channels or channel.permissions.administrator:
        return
    values = await options.effective(here(interaction).space_id, channel.id)
    roles = {role.id for role in getattr(interaction.user, "roles", ())}
    if not channel.permissions.view_channel or not roles & _role_ids(values["moderator_roles"].value):
        raise UserFacing(f"You are no moderator in <#{channel.id}>. Please ask somebody who is.")


async def require(interaction: Asked, options: Options, name: str) -> None:
    """`UserFacing` when the asker may not use the command `name`; an unknown name is for moderators."""
    needed = {**RIGHTS, **MENU_RIGHTS, **MORE_RIGHTS}.get(name, Right.MODERATOR)
    if needed is Right.EVERYONE or await right_of(interaction, options) >= needed:
        return
    if name in ALSO and await has_role(interaction, options, ALSO[name]):
        return
    shown = f"/{name}" if name in RIGHTS else name
    raise UserFacing(f"`{shown}` is for {_NEEDED_WORDS[needed]}. Please ask one.")


async def has_role(interaction: Asked, options: Options, key: str) -> bool:
    """Whether the asker has one of the roles that a setting names."""
    place = here(interaction)
    values = await options.effective(place.space_id, place.id)
    roles = {role.id for role in getattr(interaction.user, "roles", ())}
    return bool(roles & _role_ids(values[key].value))


def table() -> str:
    """Who may do what, as it stands in the README."""
    rows = ["| who | commands | on a message |", "| --- | --- | --- |"]
    for right, who in _WHO.items():
        commands = ", ".join(f"`/{name}`" for name, needed in RIGHTS.items() if needed is right)
        on_messages = {**MENU_RIGHTS, **MORE_RIGHTS}
        menu = ", ".join(f"*{name}*" for name, needed in on_messages.items() if needed is right)
        rows.append(f"| {who} | {commands} | {menu} |")
    return "\n".join([*rows, "", *(f"- {condition}" for condition in CONDITIONS)])


def _role_ids(value: object) -> set[int]:
    if not isinstance(value, Iterable) or isinstance(value, str):
        return set()
    return {int(item) for item in value}


def moderators_by_default() -> discord.Permissions:
    """What Discord itself asks for, until an admin of the server changes it."""
    return discord.Permissions(manage_channels=True)
