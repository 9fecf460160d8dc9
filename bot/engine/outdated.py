"""Which recalled turns say what is no longer true: those whose facts were replaced since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bot.core.stores import MemoryStore
from bot.core.supersession import newest_in_line
from bot.core.types import Memory


@dataclass(frozen=True, slots=True)
class Outdated:
    """By the ids of the turns' memories."""

    replaced: dict[int, Memory] = field(default_factory=dict)
    """All that was made of the turn is replaced: by this, in the end."""
    partly: Mapping[int, datetime] = field(default_factory=dict)
    """Only some of it is, since then."""


NOTHING = Outdated()


async def outdated(
    store: MemoryStore, memories: Mapping[int, Memory], visible: Callable[[Memory], bool]
) -> Outdated:
    """Look at the turns among these memories. Only what is `visible` counts: for somebody who never heard
    the newer, the older is still true."""
    own = {memory.turn_id: memory.id for memory in memories.values() if memory.turn_id is not None}
    made = await store.replaced_facts(own.keys())
    if not made:
        return NOTHING
    told = {fact.id: fact for facts in made.values() for fact in facts if visible(fact)}
    newest = await newest_of(store, told, visible)
    replaced: dict[int, Memory] = {}
    partly: dict[int, datetime] = {}
    for turn_id, facts in made.items():
        own_told = [fact for fact in facts if fact.id in told]
        since = [
            newest[fact.id]
            for fact in own_told
            if fact.id in newest and turn_id not in newest[fact.id].sources
        ]
        if since and len(since) == len(own_told):
            replaced[own[turn_id]] = max(since, key=lambda one: (one.created_at, one.id))
        elif since:
            partly[own[turn_id]] = min(one.created_at for one in since)
    return Outdated(replaced, partly)


async def newest_of(
    store: MemoryStore, memories: Mapping[int, Memory], visible: Callable[[Memory], bool]
) -> dict[int, Memory]:
    """By the ids of those memories that were replaced: what holds now instead, as far as it is `visible`."""
    known, asked = dict(memories), set[int]()
    while True:
        after = {memory.superseded_by for memory in known.values() if memory.superseded_by is not None}
        missing = after - known.keys() - asked
        if not missing:
            return newest_in_line(known)
        asked |= missing
        known |= {one.id: one for one in await store.by_ids(missing) if visible(one)}
