"""/help: what the bot does, who may do what, and what it remembers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from discord import app_commands
from discord.ext import commands

from cogs.answers import Asked, say
from cogs.permissions import RIGHTS, Right

_START: Final = """\
I play **personas** in scenes, and I remember them.
**Begin**: `/persona create`, then `/scene start` in a channel. The persona joins and greets.
**Talk**: write as usual. A persona answers when you name it, reply to it or mention me; \
`/settings set reply_mode` changes that. `((…))` and `//` are out of character and get no answer.
**Who you are**: `/alias use` gives you another name in this scene."""
_HIDDEN: Final = """\
-# You do not see `/persona` or `/scene`? An admin allows them: Server Settings → Integrations."""
_MENU: Final = """\
**On a message** (right click or hold → Apps): Regenerate, Edit reply, Why this reply?, More…"""
_PRIVACY: Final = """\
**Panic switch**: `/persona sleep`; nobody speaks until `/persona wake`.
**Privacy**: only messages in a channel with an active scene are remembered, and only there; \
`/scene pause` stops it. Edit or delete a message and my memory follows; `/memory forget` takes one thing. \
`/privacy about` tells what is kept, `/privacy opt-out` and `/privacy forget-me` end it."""


class Help(commands.Cog):
    """One command, the same for everybody."""

    @app_commands.command(name="help", description="What I do and how to begin")
    async def help(self, interaction: Asked) -> None:
        """Private, at once."""
        lines = [
            _START,
            f"**Everybody**: {_commands(Right.EVERYONE)}",
            f"**Game masters** (`gm_roles`): {_commands(Right.GAME_MASTER)}",
            f"**Moderators** (Manage Channels or `moderator_roles`): {_commands(Right.MODERATOR)}",
            _HIDDEN,
            _MENU,
            _PRIVACY,
        ]
        await say(interaction, "\n".join(lines))


def _commands(right: Right) -> str:
    names: Iterable[str] = (name for name, needed in RIGHTS.items() if needed is right)
    return " ".join(f"`/{name}`" for name in names)
