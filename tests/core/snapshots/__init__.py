"""Prompts as they are sent, one file each: a changed prompt is a visible difference."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bot.core.chat import ChatMessage

FOLDER = Path(__file__).parent


def text_of(messages: Sequence[ChatMessage]) -> str:
    """Return messages as a snapshot shows them."""
    return "\n".join(f"======== {message.role}\n{message.content}" for message in messages) + "\n"


def check(name: str, messages: Sequence[ChatMessage]) -> None:
    """Compare messages with the snapshot of that name. TROUPE_SNAPSHOTS=write stores them instead."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("TROUPE_SNAPSHOTS") == "write":
        path.write_text(text_of(messages), encoding="utf-8")
    assert text_of(messages) == path.read_text(encoding="utf-8")
