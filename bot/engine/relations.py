"""How personas feel towards the members they speak with, made of what those members' turns felt like."""

from __future__ import annotations

from collections.abc import Mapping

from bot.core.knowledge import KnowledgeStore
from bot.core.relations import MOST_TURNS, Relation, in_words, relation
from bot.core.types import NOBODY, TurnKind
from bot.core.window import Roster, speaker_of
from bot.engine.state import ReplyRequest

MOST_PRESENT = 8
"""Members whose relation a prompt tells, the latest to speak."""


class Relations:
    """Nothing is stored: an edited, deleted or forgotten turn counts no more at the next look."""

    def __init__(self, *, knowledge: KnowledgeStore) -> None:
        self._knowledge = knowledge

    async def of(self, story_id: int, persona_id: int, members: Mapping[int, str]) -> dict[str, Relation]:
        """By name, towards these members (owner id to name); those without a turn to the persona left out."""
        found = await self._knowledge.feelings(story_id, persona_id, members.keys(), limit=MOST_TURNS)
        return {members[owner_id]: relation(felt) for owner_id, felt in found.items()}

    async def present(self, request: ReplyRequest, roster: Roster) -> str:
        """In one line, towards the members who spoke lately; empty when nothing stands out."""
        labels: dict[int, str] = {}
        for turn in reversed(request.window):
            spoke = turn.owner_id != NOBODY and turn.kind is not TurnKind.OUT_OF_CHARACTER
            if spoke and turn.owner_id not in labels and len(labels) < MOST_PRESENT:
                labels[turn.owner_id] = roster.label_of(speaker_of(turn))
        return in_words(await self.of(request.scene.story_id, request.persona.id, labels))
