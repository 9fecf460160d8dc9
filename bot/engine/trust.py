"""What lets a community trust the bot, in one place: the panic switch and the log of moderators' actions."""

from __future__ import annotations

from dataclasses import dataclass

from bot.core.trust import Channels
from bot.engine.approval import Approval
from bot.engine.audit import Audit
from bot.engine.guarding import Guard
from bot.engine.screening import Screening
from bot.engine.sharing import Sharing
from bot.engine.sleeping import Sleep


@dataclass(frozen=True, kw_only=True)
class Trust:
    """Made by `bot.engine.assembly`."""

    channels: Channels
    sleep: Sleep
    audit: Audit
    approval: Approval
    guard: Guard
    screening: Screening
    sharing: Sharing
