"""Turns a rewrite of the notes into memories to store: snapshots, facts and triggers with their sources."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.core.knowledge import Entity, FactDraft, KnownFact
from bot.core.names import fold
from bot.core.rewrite import Fact, Rewrite
from bot.core.subjects import claimed_by, may_replace, subject
from bot.core.types import NOBODY, Line, MemoryDraft, MemoryKind, Persona, Scene, Trigger, Turn
from bot.core.window import Roster, Speaker, speaker_of

MOST_KEPT_FACTS = 12
MOST_KEPT_TRIGGERS = 8
MOST_TRIGGERED = 3
"""A trigger leads to so many turns at most."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a rewrite was made over: the scene, its speakers, and the older facts that it was shown."""

    scene: Scene
    roster: Roster
    cast: tuple[Persona, ...]
    speakers: tuple[Speaker, ...]
    known: tuple[KnownFact, ...] = ()


def sources_of(answer: Rewrite) -> set[int]:
    """Every turn that the memories of a rewrite come from."""
    ids = {turn_id for line in answer.replaced for turn_id in line.sources}
    return ids | {turn_id for fact in answer.facts for turn_id in fact.sources}


def drafts(answer: Rewrite, read: Reading, turns: Mapping[int, Turn]) -> list[MemoryDraft]:
    """Replaced lines become snapshots; facts become memories of those who witnessed all their sources."""
    found = snapshots(answer.replaced, read.scene, turns)
    for fact in answer.facts[:MOST_KEPT_FACTS]:
        sources = _living(fact.sources, turns)
        if sources:
            found.append(_fact(fact, read, sources))
    return found


def snapshots(lines: Sequence[Line], scene: Scene, turns: Mapping[int, Turn]) -> list[MemoryDraft]:
    """Lines that leave the notes, as memories."""
    known = [(line, _living(line.sources, turns)) for line in lines]
    return [_draft(MemoryKind.SNAPSHOT, scene, line.text, sources) for line, sources in known if sources]


def pointed(triggers: Sequence[Trigger]) -> list[Trigger]:
    """The triggers that say which turns they mean: one that could mean any would pull up all of them."""
    return [trigger for trigger in triggers if len(trigger.sources) <= MOST_TRIGGERED][:MOST_KEPT_TRIGGERS]


def _fact(fact: Fact, read: Reading, sources: Sequence[Turn]) -> FactDraft:
    speakers = dict.fromkeys(speaker_of(turn) for turn in sources)
    speakers |= dict.fromkeys(read.speakers)
    entity = subject(fact.about, fact.kind, roster=read.roster, speakers=speakers, cast=read.cast)
    plain = _draft(MemoryKind.FACT, read.scene, fact.text, sources)
    owners = {*plain.owner_ids, *([entity.owner_id] if entity and entity.owner_id != NOBODY else [])}
    values = {name: getattr(plain, name) for name in MemoryDraft.__dataclass_fields__}
    made = FactDraft(**values, entity=entity, replaces=_replaced(fact, entity, read.known))
    return replace(
        made,
        speaker=claimed_by(sources, entity),
        subject=entity.name if entity else "",
        owner_ids=tuple(sorted(owners)),
        story_time=fact.story_date or plain.story_time,
    )


def _replaced(fact: Fact, entity: Entity | None, known: Sequence[KnownFact]) -> tuple[int, ...]:
    """The older facts that it makes untrue, where they are about the same; and those that it says again."""
    return tuple(
        old.memory.id
        for old in known
        if (old.memory.id in fact.replaces or fold(old.memory.text) == fold(fact.text))
        and may_replace(fact.text, entity, old.memory.text, old.entity)
    )


def _living(sources: Collection[int], turns: Mapping[int, Turn]) -> list[Turn]:
    return [turns[turn_id] for turn_id in sources if turn_id in turns and turns[turn_id].text]


def _draft(kind: MemoryKind, scene: Scene, text: str, sources: Sequence[Turn]) -> MemoryDraft:
    witnesses = set(sources[0].witnesses).intersection(*(turn.witnesses for turn in sources))
    owners = {turn.owner_id for turn in sources if turn.owner_id != NOBODY}
    return MemoryDraft(
        kind=kind,
        space_id=scene.space_id,
        place_id=scene.place_id,
        story_id=scene.story_id,
        scene_id=scene.id,
        text=text,
        created_at=max(turn.created_at for turn in sources),
        witnesses=tuple(sorted(witnesses)),
        sources=tuple(turn.id for turn in sources),
        owner_ids=tuple(sorted(owners)),
        story_time=scene.story_time,
    )
