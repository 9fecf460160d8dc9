"""A past of its own: memories that a persona brings into every scene of the guild."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from bot.core.memory_bank import BankEntry, entries_of, read_bank, written
from bot.core.names import fold
from bot.core.past_store import Past, PastStore
from bot.core.ports import Scope
from bot.core.stores import MemoryStore
from bot.core.types import Memory, MemoryDraft, MemoryKind, Persona
from bot.engine.unlearning import Unlearning
from bot.errors import UserFacing

LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""When the past was: before everything that happens in scenes."""
PAGE: Final = 2000
MOST: Final = 20_000
_KEY: Final = "memories"


@dataclass(frozen=True, slots=True)
class Remembered:
    """What an import of memories did."""

    added: int
    merged: int
    """Repeats in the file, or of what was known."""
    cut: int
    total: int
    broken: tuple[int, ...] = ()
    """Numbers of the lines that could not be read."""


class Pasts:
    """Permissions are the caller's job."""

    def __init__(
        self,
        *,
        store: PastStore,
        memories: MemoryStore,
        unlearning: Unlearning,
        wake_indexer: Callable[[], None],
    ) -> None:
        self._store = store
        self._memories = memories
        self._unlearning = unlearning
        self._wake_indexer = wake_indexer
        self._known: dict[int, Past | None] = {}
        """By persona; None for one that has none."""
        self._adding = asyncio.Lock()

    async def scope(self, persona_id: int, audiences: Sequence[int]) -> Scope | None:
        """Where recall finds the persona's past; None when it has none."""
        if persona_id not in self._known:
            found = await self._store.find(persona_id)
            self._known.setdefault(persona_id, found)  # it may have been given one meanwhile
        past = self._known[persona_id]
        if past is None:
            return None
        return Scope(past.space_id, past.place_id, past.story_id, tuple(audiences))

    async def remember(self, persona: Persona, text: str) -> Remembered:
        """Add the memories of a file (`bot.core.memory_bank`). `UserFacing` when it has none or too many."""
        try:
            bank = read_bank(text)
        except ValueError as problem:
            raise UserFacing(str(problem)) from problem
        done = await self._add(persona, bank.entries, merged=bank.merged, cut=bank.cut)
        return replace(done, broken=bank.broken)

    async def all(self, persona: Persona) -> list[Memory]:
        """Everything of the past, in the order it was given."""
        past = await self._store.find(persona.id)
        found: list[Memory] = []
        while past is not None:
            page = await self._memories.of_story(
                past.story_id, after_id=found[-1].id if found else 0, limit=PAGE
            )
            found += page
            if len(page) < PAGE:
                break
        return found

    async def search(self, persona: Persona, query: str) -> list[Memory]:
        """Those that hold all words of the query, case and width folded."""
        words = fold(query).split()
        return [one for one in await self.all(persona) if all(word in fold(_told(one)) for word in words)]

    async def forget(self, persona: Persona, memory_ids: Sequence[int]) -> list[Memory]:
        """Remove these; what was there. `UserFacing` when none of them is of this past."""
        gone = [one for one in await self.all(persona) if one.id in memory_ids]
        if not gone:
            raise UserFacing("There is no such memory. `/persona memories` shows those there are.")
        ids = [one.id for one in gone]
        await self._memories.remove(ids)
        self._unlearning.unlearn(persona.space_id, ids)
        return gone

    async def exported(self, persona: Persona, card: Mapping[str, Any]) -> dict[str, Any]:
        """The card with the past in its extensions."""
        entries = [BankEntry(one.text, one.story_time, one.speaker) for one in await self.all(persona)]
        if not entries:
            return dict(card)
        extensions = dict(card["extensions"])
        own = extensions.get("troupe")
        return {
            **card,
            "extensions": {
                **extensions,
                "troupe": {**(own if isinstance(own, Mapping) else {}), _KEY: written(entries)},
            },
        }

    async def taken_over(self, persona: Persona, entries: Sequence[BankEntry]) -> int:
        """Add what a card brought along; how many were new."""
        return (await self._add(persona, entries)).added if entries else 0

    async def _add(
        self, persona: Persona, entries: Sequence[BankEntry], *, merged: int = 0, cut: int = 0
    ) -> Remembered:
        async with self._adding:
            known = {fold(_told(one)) for one in await self.all(persona)}
            fresh = {fold(f"{one.speaker}: {one.text}"): one for one in entries}
            new = [one for key, one in fresh.items() if key not in known]
            if len(known) + len(new) > MOST:
                raise UserFacing(f"{persona.name} would have more than {MOST:,} memories of its past.")
            past = self._known[persona.id] = await self._store.open(persona)
            await self._memories.add([_draft(one, past) for one in new])
            self._wake_indexer()
            return Remembered(len(new), merged + len(entries) - len(new), cut, len(known) + len(new))


def carried(card: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[BankEntry, ...]]:
    """Return the card without the past that it carries, and that past."""
    extensions = card.get("extensions")
    own = extensions.get("troupe") if isinstance(extensions, Mapping) else None
    if not isinstance(extensions, Mapping) or not isinstance(own, Mapping) or _KEY not in own:
        return dict(card), ()
    rest = {key: value for key, value in own.items() if key != _KEY}
    others = {key: value for key, value in extensions.items() if key != "troupe"}
    kept = {**others, "troupe": rest} if rest else others
    return {**card, "extensions": kept}, entries_of(own[_KEY])


def _told(memory: Memory) -> str:
    return f"{memory.speaker}: {memory.text}"


def _draft(entry: BankEntry, past: Past) -> MemoryDraft:
    return MemoryDraft(
        kind=MemoryKind.CANON,
        space_id=past.space_id,
        place_id=past.place_id,
        story_id=past.story_id,
        scene_id=past.scene_id,
        text=entry.text,
        created_at=LONG_AGO,
        witnesses=(past.persona_id,),
        speaker=entry.speaker,
        story_time=entry.when,
    )
