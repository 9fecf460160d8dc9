"""Which recalled turns say what is no longer true: those whose facts were replaced since."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    newest = newest_in_line(await _line(store, made, visible))
    replaced: dict[int, Memory] = {}
    partly: dict[int, datetime] = {}
    for turn_id, facts in made.items():
        told = [fact for fact in facts if visible(fact)]
        since = [
            newest[fact.id] for fact in told if fact.id in newest and turn_id not in newest[fact.id].sources
        ]
        if since and len(since) == len(told):
            replaced[own[turn_id]] = max(since, key=lambda one: (one.created_at, one.id))
        elif since:
            partly[own[turn_id]] = min(one.created_at for one in since)
    return Outdated(replaced, partly)


async def _line(
    store: MemoryStore, made: Mapping[int, Sequence[Memory]], visible: Callable[[Memory], bool]
) -> dict[int, Memory]:
    """The facts of turns with all that came after them."""
    known = {fact.id: fact for facts in made.values() for fact in facts if visible(fact)}
    asked: set[int] = set()
    while True:
        after = {fact.superseded_by for fact in known.values() if fact.superseded_by is not None}
        missing = after - known.keys() - asked
        if not missing:
            return known
        asked |= missing
        known |= {fact.id: fact for fact in await store.by_ids(missing) if visible(fact)}
