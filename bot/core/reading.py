"""Reads a Discord message the way a person sees it: names for numbers, and what kind of turn it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from bot.core.dates import day
from bot.core.names import label_text
from bot.core.types import TurnKind

_NONE: Final[Mapping[int, str]] = MappingProxyType({})
_TOKEN = re.compile(
    r"<(?P<sort>@&|@!?|#|a?:(?P<emoji>\w{1,64}):|/(?P<command>[^:<>\n]{1,100}):|t:)"
    r"(?P<number>-?\d{1,20})(?::(?P<style>[tTdDfFR]))?>"
)
_OUTSIDE = re.compile(
    r"\(\((?:.*\)\)|(?:(?!\)\)).)*)|//.*|[\[(（【]\s*ooc\s*[\])）】].*|ooc\s*[:：].*",
    re.DOTALL | re.IGNORECASE,
)
_NARRATED = re.compile(r"\*(?![*\s])(?:[^*]|\*\*)+(?<!\s)\*|_(?![_\s])(?:[^_]|(?<=\w)_(?=\w)|__)+(?<!\s)_")
_PICTURES: Final = "picture"
_SORTS: Final[Mapping[str, str]] = MappingProxyType(
    {"image": _PICTURES, "video": "video", "audio": "recording"}
)
_ENDINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("png", "jpg", "jpeg", "gif", "webp", "avif", "heic"), _PICTURES),
        **dict.fromkeys(("mp4", "mov", "webm", "mkv"), "video"),
        **dict.fromkeys(("mp3", "ogg", "wav", "flac", "m4a"), "recording"),
    }
)


def readable(
    text: str,
    *,
    users: Mapping[int, str] = _NONE,
    channels: Mapping[int, str] = _NONE,
    roles: Mapping[int, str] = _NONE,
) -> str:
    """Return the text with mentions, channels, roles, emoji, commands and timestamps as words.

    Ids without a name in the mappings become "@someone", "#a channel", "@a role"; no number is left.
    """

    def word(found: re.Match[str]) -> str:
        sort, number = found["sort"], int(found["number"])
        if found["emoji"]:
            return f":{found['emoji']}:"
        if found["command"]:
            return f"/{found['command']}"
        if sort == "t:":
            return _moment(number, found["style"] or "f")
        if sort == "@&":
            return f"@{roles.get(number, 'a role')}"
        if sort == "#":
            return f"#{channels.get(number, 'a channel')}"
        return f"@{users.get(number, 'someone')}"

    return _TOKEN.sub(word, text)


def kind_of(text: str) -> tuple[TurnKind, str]:
    """Return how a message is meant, and its text without space around it.

    Out of character: wholly in ((…)), or beginning with //, [ooc], (ooc) or ooc:. Narration: every line
    wholly in *…* or _…_, or the command /me.
    """
    stripped = text.strip()
    if _OUTSIDE.fullmatch(stripped):
        return TurnKind.OUT_OF_CHARACTER, stripped
    lines = [line.strip() for line in stripped.splitlines() if line.strip()]
    narrated = bool(lines) and all(_NARRATED.fullmatch(line) for line in lines)
    if narrated or re.match(r"/me\s", stripped, re.IGNORECASE):
        return TurnKind.NARRATION, stripped
    return TurnKind.IN_CHARACTER, stripped


def attachment_note(speaker: str, filename: str, content_type: str | None = None) -> str:
    """Return the neutral note that stands for an attachment: "[Alice shows a picture: cat.png]"."""
    ending = filename.rpartition(".")[2].lower()
    sort = _SORTS.get((content_type or "").partition("/")[0]) or _ENDINGS.get(ending, "file")
    return f"[{label_text(speaker)} shows a {sort}: {label_text(filename)}]"


def with_notes(text: str, notes: Sequence[str]) -> str:
    """Return a message's text with its attachment notes below."""
    return "\n".join(part for part in (text.strip(), *notes) if part)


def _moment(seconds: int, style: str) -> str:
    """Write a timestamp out; a relative one ("in two hours") would be wrong later, so it gets its date."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return "some time"
    if style in "tT":
        return f"{moment:%H:%M} UTC"
    if style in "dD":
        return day(moment)
    return f"{day(moment)} {moment:%H:%M} UTC"
