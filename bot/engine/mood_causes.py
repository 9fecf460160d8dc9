"""Says what a persona feels as it begins to speak, and which turn that comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bot.core import mood as moods
from bot.core.fences import quoted
from bot.core.mood import Step
from bot.core.mood_steps import cause
from bot.core.prompt_parts import CALM
from bot.core.stores import TurnStore
from bot.core.types import Turn, TurnKind
from bot.core.vectors import Vector
from bot.core.window import Roster
from bot.engine.conduct import perceived
from bot.engine.state import ReplyRequest

LONGEST_QUOTE: Final = 120


@dataclass(frozen=True, slots=True)
class Felt:
    """A mood as a prompt tells it, and the id of the turn that it comes from; 0 when none stands out."""

    words: str
    turn_id: int = 0


class MoodCauses:
    """Looks the turns up at each reply, so that one which was reworded or deleted is told no more."""

    def __init__(self, *, turns: TurnStore) -> None:
        self._turns = turns

    def of(
        self,
        request: ReplyRequest,
        known: Mapping[int, Turn],
        heard: Vector | None,
        roster: Roster,
        now: datetime,
    ) -> Felt:
        """The mood with what the members' last words do to it (`heard`; None: unknown), and its cause among
        the turns that are `known`."""
        temperament, answers = request.persona.temperament, request.answers
        newest = {turn.id for turn in answers}
        if newest & {step.turn_id for step in request.mood.steps}:
            heard = None  # it was read in the background meanwhile, and has moved the mood already
        mood = moods.update(request.mood, temperament=temperament, heard=heard, now=now)
        if heard is None:
            mood = moods.decay(request.mood, temperament, now)
        words = moods.describe(mood)
        if words == CALM:
            return Felt(words)
        steps = [step for step in request.mood.steps if step.turn_id in known]
        if heard is not None:
            steps.append(Step(answers[-1].id, tuple(float(one) for one in heard), now))
        found = cause(mood, steps, temperament=temperament, now=now)
        if found is None:
            return Felt(words)
        if found.turn_id in newest:
            told = f"what {_names(answers, roster)} just said"
        else:
            told = _quote(known[found.turn_id], roster)
        # a negative id stands nowhere but in memory: its member opted out
        return Felt(f"{words}, after {told}", max(0, found.turn_id))

    async def known(self, request: ReplyRequest) -> dict[int, Turn]:
        """Of the turns that moved the mood those that can be its cause: what the persona perceived of others,
        in the story."""
        wanted = {step.turn_id for step in request.mood.steps}
        found = {turn.id: turn for turn in request.window if turn.id in wanted}
        if missing := wanted - found.keys():
            found |= {turn.id: turn for turn in await self._turns.by_ids(missing)}
        return {
            turn.id: turn
            for turn in found.values()
            if turn.text
            and turn.persona_id != request.persona.id
            and turn.kind is not TurnKind.OUT_OF_CHARACTER
            and perceived(turn, request.persona.id)
        }


def _names(turns: Sequence[Turn], roster: Roster) -> str:
    return " and ".join(dict.fromkeys(roster.label(turn) for turn in turns))


def _quote(turn: Turn, roster: Roster) -> str:
    text = quoted(" ".join(turn.text.split()))
    if len(text) > LONGEST_QUOTE:
        text = text[:LONGEST_QUOTE].rsplit(" ", 1)[0] + " …"
    if turn.kind is TurnKind.NARRATION:
        return f"this: “{text}”"
    return f"these words of {roster.label(turn)}: “{text}”"
