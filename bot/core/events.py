"""What Discord (or the console) tells us, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from bot.core.types import Place

EPOCH = datetime(2015, 1, 1, tzinfo=UTC)


def snowflake(moment: datetime) -> int:
    """The smallest Discord id of this moment (an aware datetime, to the millisecond)."""
    return int((moment - EPOCH).total_seconds() * 1000) << 22


@dataclass(frozen=True, slots=True)
class MessagePosted:
    """A message as shown: mentions already read as names, attachments as neutral notes in `text`."""

    place: Place
    message_id: int
    author_id: int
    author_name: str
    text: str
    created_at: datetime
    mentions_bot: bool = False
    reply_to: int | None = None
    webhook_id: int | None = None
    application_id: int | None = None
    """The app that owns the webhook, where Discord says so."""
    is_bot: bool = False
    backfilled: bool = False
    """Read from the channel's history, not heard live."""


@dataclass(frozen=True, slots=True)
class MessageEdited:
    """The new whole text of a message."""

    place_id: int
    message_id: int
    text: str
    edited_at: datetime
    author_id: int = 0
    """0 where nobody needs to know."""
    written: bool = True
    """False when the new words must not be written down: a turn that has others by now is then removed."""


@dataclass(frozen=True, slots=True)
class MessagesDeleted:
    """One or many messages of a place are gone."""

    place_id: int
    message_ids: tuple[int, ...]


Event = MessagePosted | MessageEdited | MessagesDeleted
