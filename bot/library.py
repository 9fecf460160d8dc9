"""The shelf of ready personas: every character card in `personas/`, also those that a self-hoster adds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.adapters.card_files import LARGEST_FILE, read_card_file
from bot.bundled_personas import FIRST, FOLDER
from bot.errors import UserFacing

log = logging.getLogger(__name__)

ENDINGS = (".json", ".png", ".charx")


@dataclass(frozen=True, slots=True)
class ReadyPersona:
    """A persona to add: its card's `data` object, a line about it, and its picture if it has one."""

    name: str
    tagline: str
    card: Mapping[str, Any]
    avatar: bytes | None = None


async def ready_personas(folder: Path = FOLDER) -> tuple[ReadyPersona, ...]:
    """Every card of the folder, by name. A file that cannot be read is logged and left out."""
    found = []
    for file in await asyncio.to_thread(_files, folder):
        try:
            card = await read_card_file(await asyncio.to_thread(file.read_bytes), file.name)
        except (UserFacing, OSError) as problem:
            log.warning("%s is no persona that can be used: %s", file.name, problem)
            continue
        tagline = " ".join(str(card.data["creator_notes"] or card.data["description"]).split())
        found.append(ReadyPersona(card.data["name"], tagline, card.data, card.avatar))
    return tuple(sorted(found, key=lambda persona: (persona.name != FIRST, persona.name.casefold())))


def _files(folder: Path) -> list[Path]:
    known = [file for file in folder.glob("*") if file.suffix.lower() in ENDINGS]
    return sorted(file for file in known if file.is_file() and file.stat().st_size <= LARGEST_FILE)
