"""Lore as it is kept, in rows and in cards: listed, named, changed, and read for a reply.

There may be thousands of entries: whatever takes many belongs into a thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.core.card_file import lore_entries
from bot.core.lore_entries import BookSettings, LoreEntry, book_settings, read_book, read_entry, v3_entry
from bot.core.lore_store import LoreRow
from bot.core.types import Persona


@dataclass(frozen=True, slots=True)
class Owner:
    """For whom lore holds: one scene, one persona, or (neither) the whole space."""

    space_id: int
    scene_id: int | None = None
    persona_id: int | None = None

    def owns(self, row: LoreRow) -> bool:
        """Whether a stored entry holds for exactly this."""
        return (row.space_id, row.scene_id, row.persona_id) == (self.space_id, self.scene_id, self.persona_id)


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry as `/lore list` shows it. `ref` names it in commands; a card's own are `Mira:3`."""

    ref: str
    entry: LoreEntry
    raw: Mapping[str, Any]
    row: LoreRow | None = None
    persona: Persona | None = None
    """Whose card it stands in, or for whom alone it holds."""


def entries_of(rows: Sequence[LoreRow], persona: Persona) -> list[LoreEntry]:
    """Those of the rows, then those of the persona's card."""
    kept = [read_entry(row.entry, str(row.id), book=_book(row)) for row in rows]
    return kept + _card_entries(persona)


def listed(rows: Sequence[LoreRow], personas: Sequence[Persona]) -> list[Listed]:
    """Every stored entry, then those of the cards of all personas of the space."""
    known = {persona.id: persona for persona in personas}
    found = []
    for row in rows:
        ref = str(row.id)
        whose = known.get(row.persona_id or 0)
        found.append(Listed(ref, read_entry(row.entry, ref), row.entry, row=row, persona=whose))
    for persona in personas:
        for number, raw in enumerate(lore_entries(persona.card), 1):
            ref = f"{persona.name}:{number}"
            found.append(Listed(ref, read_entry(raw, ref), raw, persona=persona))
    return found


def to_keep(book: object) -> tuple[list[dict[str, Any]], str]:
    """The entries of a lorebook or world file that say something, and what it is called. Raises ValueError
    when it is neither."""
    entries, about = read_book(book)
    said = [_with_settings(entry, about) for entry in entries]
    return [entry for entry in said if read_entry(entry).content], about.name


def changed(raw: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Put changes into an entry; what stands in its extensions is changed there."""
    entry = v3_entry(raw)
    extensions = {**entry["extensions"], **changes.get("extensions", {})}
    return {**entry, **changes, "extensions": extensions}


def lasting(ref: str) -> str:
    """What still names an entry of a persona's card when the persona is called otherwise."""
    return ref if ref.isdecimal() else f"card:{ref.rsplit(':', 1)[-1]}"


def _book(row: LoreRow) -> str:
    """Names the book that an entry came with; those of one name for others are other books."""
    return f"{row.scene_id}:{row.persona_id}:{row.book}"


def _with_settings(entry: Mapping[str, Any], about: BookSettings) -> dict[str, Any]:
    """What the book said about all of its entries stays with each, since it is stored alone."""
    given = entry.get("extensions")
    more = dict(given) if isinstance(given, Mapping) else {}
    if about.scan_depth is not None and read_entry(entry).scan_depth is None:
        more["scan_depth"] = about.scan_depth
    if about.recursive is False:
        more |= {"exclude_recursion": True, "prevent_recursion": True}
    if about.budget is not None:
        more["book_budget"] = about.budget
    return {**entry, "extensions": more} if more else dict(entry)


def _card_entries(persona: Persona) -> list[LoreEntry]:
    book = persona.card.get("character_book")
    about = book_settings(book) if isinstance(book, Mapping) else book_settings({})
    return [
        read_entry(_with_settings(raw, about), f"{persona.name}:{number}", book="card")
        for number, raw in enumerate(lore_entries(persona.card), 1)
    ]
