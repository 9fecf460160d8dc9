"""/settings: what holds in this guild or channel, and how the bot is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from discord import app_commands
from discord.ext import commands

from bot.core.moderation import Checked
from bot.core.options import OPTIONS
from bot.core.types import Place
from bot.engine.audit import change
from cogs.answers import Asked, say, shorten, think
from cogs.audit import note, show_log
from cogs.bot_rights import bot_lacks
from cogs.names import Choices, here, matching
from cogs.permissions import moderators_by_default
from cogs.scene_share import told

if TYPE_CHECKING:
    from bot.engine.options import OptionValue
    from bot.engine.troupe import Troupe

_WHERE: Final = {"default": "default", "guild": "this server", "place": "this channel"}
_ROLE_ADVICE: Final = (
    "Discord itself shows these commands only to members with Manage Channels: allow the role under "
    "Server Settings → Integrations → Troupe as well."
)
_NO_SERVER: Final = (
    "Nothing goes to a moderation server yet: the bot's owner set none (`MODERATION_BASE_URL` in `.env`). "
    "`blocked_words` works without one."
)
_EXPIRY: Final = (
    "⚠️ Within the hour everything said here more than {days} days ago is deleted for good. "
    "To keep it, use `/settings set` with `retention_days` and `default` right now."
)


@app_commands.default_permissions(moderators_by_default())
class Settings(commands.GroupCog, name="settings", description="How I behave here"):
    """Thin: the engine parses, stores and resolves settings."""

    def __init__(
        self,
        *,
        troupe: Troupe,
        warnings: Callable[[], tuple[str, ...]],
        speaking_trouble: Callable[[Place], Awaitable[str | None]],
    ) -> None:
        """`warnings` gives what the connection to Discord has to say; `speaking_trouble` why webhooks do not
        work in a place.
        """
        super().__init__()
        self._troupe = troupe
        self._warnings = warnings
        self._speaking_trouble = speaking_trouble

    @app_commands.command(description="Every setting as it holds in this channel, and how I am")
    async def show(self, interaction: Asked) -> None:
        """Values with their source, then one line a part."""
        await think(interaction)
        place = here(interaction)
        values = await self._troupe.options.effective(place.space_id, place.id)
        lines = [
            f"`{key}` = {_shown(key, value)} *({_WHERE[value.source]})*" for key, value in values.items()
        ]
        if values["asleep"].value == "yes":
            lines.insert(0, "😴 **The personas are asleep**: nobody answers until `/persona wake`.")
        lines += told(await self._troupe.trust.sharing.around(place), place)
        lines.append("")
        lines += [
            f"{'✅' if line.ok else '⚠️'} {line.name}: {line.text}" for line in await self._troupe.health()
        ]
        lines += [f"⚠️ {warning}" for warning in self._warnings()]
        if lacking := bot_lacks(interaction, place):
            lines.append(f"⚠️ permissions: I lack **{', '.join(lacking)}** in <#{place.id}>")
        elif self._troupe.is_live(place.id) and (trouble := await self._speaking_trouble(place)):
            lines.append(f"⚠️ webhooks: personas speak in plain messages here: {trouble}")
        await say(interaction, "\n".join(lines))

    @app_commands.command(name="set", description="Change a setting")
    @app_commands.describe(
        key="Which one", value="The new value; “default” takes it back", only_here="Only for this channel"
    )
    @app_commands.rename(only_here="here")
    async def set_option(
        self, interaction: Asked, key: str, value: app_commands.Range[str, 1, 1000], only_here: bool = False
    ) -> None:
        """For the guild, or for this place alone."""
        await think(interaction)
        place = here(interaction)
        place_id = place.id if only_here else 0
        before = await self._troupe.options.effective(place.space_id, place_id or None)
        await self._troupe.options.set(place.space_id, place_id, key, value)
        values = await self._troupe.options.effective(place.space_id, place_id or None)
        where = "in this channel" if only_here else "everywhere here"
        answer = f"`{key}` is now {_shown(key, values[key])} {where}."
        changed = change(_shown(key, before[key]), _shown(key, values[key]))
        await note(self._troupe, interaction, "settings set", f"{key} {where}: {changed}")
        advice = self._advice(place, key, before[key].value, values[key].value)
        await say(interaction, f"{answer}\n{advice}".rstrip())

    def _advice(self, place: Place, key: str, before: object, now: object) -> str:
        """What a moderator should know of this change: what it lacks, or what it will delete."""
        if key in ("moderator_roles", "gm_roles", "creator_roles") and place.guild_id:
            return _ROLE_ADVICE
        if key == "moderation" and now != Checked.OFF.value and not self._troupe.trust.guard.has_server:
            return _NO_SERVER
        if key == "retention_days" and isinstance(now, int) and isinstance(before, int):
            return _EXPIRY.format(days=now) if now and not 0 < before <= now else ""
        return ""

    @app_commands.command(description="What moderators did here, newest first")
    async def log(self, interaction: Asked) -> None:
        """Who, when, what."""
        await think(interaction)
        await show_log(self._troupe, interaction)

    @set_option.autocomplete("key")
    async def _complete_key(self, _: Asked, current: str) -> Choices:
        return matching(((key, key) for key in OPTIONS), current)

    @set_option.autocomplete("value")
    async def _complete_value(self, interaction: Asked, current: str) -> Choices:
        option = OPTIONS.get(str(interaction.namespace.key))
        if option is None:
            return []
        words = [*(option.choices or ()), option.example, "default"]
        return matching(((str(word), str(word)) for word in dict.fromkeys(words) if word), current)


def _shown(key: str, value: OptionValue) -> str:
    if key.endswith("_channel"):
        return f"<#{value.value}>" if value.value else "`none`"
    if key.endswith("_roles") and isinstance(value.value, tuple) and value.value:
        return " ".join(f"<@&{role_id}>" for role_id in value.value)
    return f"`{shorten(OPTIONS[key].show(value.value), 200)}`"
