"""What the bot itself may do in a place, named as Discord names it, for whoever can change that."""

from __future__ import annotations

from typing import Final

from bot.core.types import Place
from bot.errors import UserFacing
from bot.invite import ESSENTIAL, missing_permissions
from cogs.answers import Asked

_FOR_WANT_OF_THEM: Final = (
    "without Manage Webhooks personas speak in plain messages, without Read Message History I miss what is "
    "said while I am away. Allow them under Edit Channel → Permissions."
)


def bot_lacks(interaction: Asked, place: Place) -> list[str]:
    """Name the permissions that the bot needs and lacks here; none are needed in direct messages."""
    granted = interaction.app_permissions
    if not place.guild_id or granted.administrator:
        return []
    return missing_permissions(granted.value, thread=place.parent_id is not None)


def check_bot_may(interaction: Asked, place: Place) -> str:
    """Say in one line what the bot lacks here but can do without; "" when it lacks nothing.

    `UserFacing`, with the permissions' names and the channel, when it could not even speak.
    """
    lacking = bot_lacks(interaction, place)
    if not ESSENTIAL.isdisjoint(lacking):
        raise UserFacing(
            f"I lack these permissions in <#{place.id}>: **{', '.join(lacking)}**. "
            "Allow them under Edit Channel → Permissions, then try again."
        )
    return f"I lack **{', '.join(lacking)}** in <#{place.id}>: {_FOR_WANT_OF_THEM}" if lacking else ""
