"""Newer wins: what another memory replaced is recalled only together with it, and says until when it held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.core.candidates import Recalled
from bot.core.types import Memory


def newest_in_line(memories: Mapping[int, Memory]) -> dict[int, Memory]:
    """Return for each memory that others of these replaced the one that it was replaced by in the end."""
    found: dict[int, Memory] = {}
    for memory in memories.values():
        at, seen = memory, {memory.id}
        while (after := memories.get(at.superseded_by or 0)) is not None and after.id not in seen:
            at = after
            seen.add(at.id)
        if at.id != memory.id:
            found[memory.id] = at
    return found


def with_newer(ranked: Sequence[Recalled], newer: Mapping[int, Memory]) -> list[Recalled]:
    """Return the ranking with every replaced memory right behind the one that holds now."""
    by_id = {item.memory_id: item for item in ranked}
    placed: dict[int, Recalled] = {}
    for item in ranked:
        holds = newer.get(item.memory_id)
        if holds is not None and holds.id not in placed:
            placed[holds.id] = by_id.get(holds.id) or _in_place_of(item, holds)
        placed.setdefault(item.memory_id, item)
    return list(placed.values())


def _in_place_of(item: Recalled, memory: Memory) -> Recalled:
    """Return the newer memory with the numbers of the one that brought it up."""
    return replace(
        item,
        memory_id=memory.id,
        text=memory.text,
        speaker=memory.speaker,
        created_at=memory.created_at,
        kind=memory.kind.value,
    )
