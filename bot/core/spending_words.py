"""Words about spending: amounts, the notice to moderators, and the line of a persona that is too tired."""

from __future__ import annotations

from datetime import date
from typing import Final

from bot.core.spending import (
    CHEAPER_AT,
    KEYS,
    MILLION,
    SHORTER_AT,
    Level,
    Limit,
    Measure,
    Period,
    Scope,
)

_TIRED: Final = "*{name} stifles a yawn and rubs tired eyes.* Enough for now … I can hardly keep them open."
_WHOSE: Final = {
    Scope.BOT: "The whole bot's",
    Scope.SPACE: "This server's",
    Scope.MEMBER: "Your",
    Scope.PERSONA: "{name}'s",
}
_PERIOD: Final = {Period.DAY: "for today", Period.MONTH: "for this month"}


def money(cost: int, currency: str) -> str:
    """Return millionths as an amount; small ones with more digits, so that they are not nothing."""
    amount = cost / MILLION
    digits = 2 if amount == 0 or amount >= 0.1 else 4
    return f"{currency}{amount:,.{digits}f}"


def amount(number: int, measure: Measure, currency: str) -> str:
    """Return what a limit counts, in words."""
    return f"{number:,} tokens" if measure is Measure.TOKENS else money(number, currency)


def key_of(limit: Limit) -> str:
    """Return the setting that sets a limit; for one of the whole bot, the variable in `.env`."""
    sought = (Scope.SPACE if limit.scope is Scope.BOT else limit.scope, limit.period, limit.measure)
    key = next(key for key, meaning in KEYS.items() if meaning == sought)
    return key.upper() if limit.scope is Scope.BOT else key


def warned(level: Level, *, name: str, currency: str, has_cheaper: bool) -> str:
    """Return the one notice to moderators that a limit comes near. `name` is the persona's."""
    limit = level.limit
    whose = _WHOSE[limit.scope].format(name=name)
    used, most = (amount(number, limit.measure, currency) for number in (level.used, limit.most))
    cheaper = f", from {CHEAPER_AT:.0%} on the cheaper model answers" if has_cheaper else ""
    return (
        f"**For moderators**: {whose} {limit.measure.value} {_PERIOD[limit.period]} are used to "
        f"{level.share:.0%} ({used} of {most}). From {SHORTER_AT:.0%} on prompts tell less of the past"
        f"{cheaper}; at 100% personas say once that they are tired, and are silent until the "
        f"{limit.period.value} ends (UTC). `/usage` shows what it went to, "
        f"`/settings set {key_of(limit)}` changes it."
    )


def tired(limit: Limit, *, name: str, own_line: str, day: date) -> str:
    """Return what a persona says once when nothing is left. `own_line` is the moderators', if any."""
    line = own_line.replace("{{char}}", name) if own_line else _TIRED.format(name=name)
    whose = _WHOSE[limit.scope].format(name=name)
    what = "tokens" if limit.measure is Measure.TOKENS else "budget"
    until = limit.period.next(day)
    verb = "are" if what == "tokens" else "is"
    return (
        f"{line}\n-# {whose} {what} {_PERIOD[limit.period]} {verb} used up. Answers come again on "
        f"{until.day} {until:%B} (midnight UTC); until then everything is still recorded."
    )
