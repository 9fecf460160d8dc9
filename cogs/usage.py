"""/usage: what the language model was used for here, and how much of the limits is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from discord import app_commands
from discord.ext import commands

from bot.core.pictures import DrawDays
from bot.core.spending import Level, Scope, Spent
from bot.core.spending_words import amount, key_of, money
from cogs.answers import Asked, say, shorten, think
from cogs.drawn import as_file, legend
from cogs.names import here
from cogs.permissions import Right, right_of

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe
    from bot.engine.usage import Line, Overview

MOST_LINES: Final = 12
_NAME: Final = 22
_TITLE: Final = "Tokens by day, the last 30 days (UTC)"
_NO_PRICES: Final = (
    "-# Money is not counted: the bot's owner has set no prices (`LLM_PRICE_INPUT` in `.env`)."
)


class Usage(commands.Cog):
    """Moderators see the server, a member what answers to them used."""

    def __init__(self, *, troupe: Troupe, draw: DrawDays) -> None:
        self._troupe = troupe
        self._draw = draw

    @app_commands.command(name="usage", description="What the language model was used for, and what is left")
    async def usage(self, interaction: Asked) -> None:
        """A table of today and the month, and a picture of the last thirty days; for the asker alone."""
        await think(interaction)
        place = here(interaction)
        all_of_it = await right_of(interaction, self._troupe.options) >= Right.MODERATOR
        member_id = None if all_of_it else interaction.user.id
        overview = await self._troupe.usage.overview(place, member_id=member_id)
        days = await self._troupe.usage.days(place, _TITLE, member_id=member_id)
        picture = await self._draw(days) if days.series else None
        told = "\n".join([table(overview, whole=all_of_it), *legend(picture)])
        await say(interaction, told, files=as_file(picture, "usage.png"))


def table(overview: Overview, *, whole: bool) -> str:
    """The overview as Discord shows it, `whole` for a server, else for answers to one member."""
    if not overview.personas:
        what = "Nothing was spent here" if whole else "Nothing was spent on answers to you"
        return "\n".join([f"{what} this month.", *_limits(overview, whole=whole)])
    lines = ["**Spent in this server**" if whole else "**Spent on answers to you**", "```"]
    lines += _rows(overview)
    lines.append("```")
    if overview.members:
        lines.append(f"**By member** (tokens{_unit(overview)})")
        lines += [f"- <@{line.id}>: {_both(line, overview)}" for line in overview.members[:MOST_LINES]]
        lines += _more(overview.members)
    lines += _limits(overview, whole=whole)
    if whole and not overview.priced:
        lines.append(_NO_PRICES)
    return "\n".join(lines)


def _rows(overview: Overview) -> list[str]:
    shown = [overview.total, *overview.personas[:MOST_LINES]]
    head = f"{'tokens' + _unit(overview):<{_NAME}} {'today':>21} {'this month':>23}"
    rows = [
        f"{shorten(line.name.replace('`', chr(39)), _NAME):<{_NAME}} "
        f"{_cell(line.today, overview):>21} {_cell(line.month, overview):>23}"
        for line in shown
    ]
    return [head, *rows, *_more(overview.personas)]


def _more(lines: Sequence[Line]) -> list[str]:
    return [f"… and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []


def _cell(spent: Spent, overview: Overview) -> str:
    cost = f" {money(spent.cost, overview.currency)}" if overview.priced else ""
    return f"{spent.tokens:,}{cost}"


def _unit(overview: Overview) -> str:
    return f", {overview.currency}" if overview.priced else ""


def _both(line: Line, overview: Overview) -> str:
    today, month = _cell(line.today, overview), _cell(line.month, overview)
    return f"{today} today, {month} this month"


def _limits(overview: Overview, *, whole: bool) -> list[str]:
    return [_limit(level, overview, whole=whole) for level in overview.levels]


def _limit(level: Level, overview: Overview, *, whole: bool) -> str:
    """Of the whole bot only the share is told: what other servers use is not this one's matter."""
    if level.limit.scope is Scope.BOT:
        return f"The whole bot's limit for a {level.limit.period.value}: {level.share:.0%} used"
    used, most = (
        amount(number, level.limit.measure, overview.currency) for number in (level.used, level.limit.most)
    )
    name = f"`{key_of(level.limit)}`" if whole else f"Your limit for a {level.limit.period.value}"
    return f"{name}: {level.share:.0%} used ({used} of {most})"
