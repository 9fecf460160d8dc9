"""Whom or what a fact is about: a model's word for it, tied to the one member, persona or thing it names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bot.core.knowledge import Entity, EntityKind
from bot.core.names import called, find_name, fold, label_text
from bot.core.types import NOBODY, Persona, Turn
from bot.core.window import Roster, Speaker, speaker_of

_KIND_WORDS: Final = {
    EntityKind.PERSON: "person people character somebody npc human creature animal",
    EntityKind.PLACE: "place location room town",
    EntityKind.OATH: "oath promise vow pact",
    EntityKind.DEBT: "debt loan",
}
_KINDS: Final = {word: kind for kind, words in _KIND_WORDS.items() for word in words.split()}


def subject(
    about: str, kind: str, *, roster: Roster, speakers: Iterable[Speaker], cast: Sequence[Persona]
) -> Entity | None:
    """Return whom a fact is about; None when the answer does not say.

    A member or persona is meant only by the tag that the turns showed (equal names have different tags), a
    persona also by what else it is called. Everything else goes by its name.
    """
    name = label_text(about) if about.strip() else ""
    if not name:
        return None
    for speaker in speakers:
        if fold(roster.label_of(speaker)) == fold(name):
            return entity_of(speaker)
    for persona in cast:
        if fold(name) in {fold(calling) for calling in called(persona)}:
            return Entity(EntityKind.PERSONA, persona.name, persona_id=persona.id)
    return Entity(_KINDS.get(kind.strip().casefold(), EntityKind.THING), name)


def entity_of(speaker: Speaker) -> Entity:
    """Return the entity that a speaker is."""
    if speaker.persona_id is not None:
        return Entity(EntityKind.PERSONA, speaker.name, persona_id=speaker.persona_id)
    return Entity(EntityKind.MEMBER, speaker.name, owner_id=speaker.owner_id)


def same(one: Entity, other: Entity) -> bool:
    """Tell whether two entities of one story are the same."""
    if one.persona_id or other.persona_id:
        return one.persona_id == other.persona_id
    return one.owner_id == other.owner_id and fold(one.name) == fold(other.name)


def mentioned(entities: Sequence[Entity], turns: Sequence[Turn]) -> list[Entity]:
    """Return the entities that speak in these turns or are named in them."""
    speaking = [entity_of(speaker) for speaker in {speaker_of(turn) for turn in turns}]
    text = "\n".join(turn.text for turn in turns)
    return [
        entity
        for entity in entities
        if any(same(entity, one) for one in speaking) or find_name(text, entity.name) is not None
    ]


def may_replace(new_text: str, new: Entity | None, old_text: str, old: Entity) -> bool:
    """Tell whether a fact can make another untrue: both are about the same, or one names the other's."""
    if new is not None and same(new, old):
        return True
    if find_name(new_text, old.name) is not None:
        return True
    return new is not None and find_name(old_text, new.name) is not None


def claimed_by(sources: Sequence[Turn], about: Entity | None) -> str:
    """Return whose word alone a fact rests on, when that is not the one it is about; else nothing."""
    who = {speaker_of(turn) for turn in sources}
    if len(who) != 1:
        return ""
    (speaker,) = who
    if about is not None and same(entity_of(speaker), about):
        return ""
    return speaker.name if speaker.persona_id is not None or speaker.owner_id != NOBODY else ""
