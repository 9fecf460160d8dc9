"""Decides who answers a turn, if anybody, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bot.core.names import called, find_name
from bot.core.types import Persona, Scene, TurnDraft, TurnKind


class ReplyMode(StrEnum):
    """When personas answer in a place."""

    MENTION = "mention"
    NAMED = "named"
    ALWAYS = "always"
    OFF = "off"


class Reason(StrEnum):
    """Why a persona answers, or why none does."""

    REPLIED_TO = "the message replies to the persona"
    NAMED = "the message names the persona"
    MENTIONED = "the message mentions the bot"
    ALWAYS = "personas answer every message here"
    OWN = "a persona's own turn"
    PAUSED = "the scene is paused"
    OUT_OF_CHARACTER = "the message is out of character"
    NOT_ADDRESSED = "the message addresses no persona"
    OFF = "replies are switched off here"
    OFF_BUT_ADDRESSED = "replies are switched off here, and the message asked for one"
    NOBODY_HERE = "the scene has no persona"
    ASLEEP = "the personas were put to sleep"
    AGE_RESTRICTED = "the persona is age-restricted and the channel is not"
    NOT_HERE = "the persona replied to has left the scene"

    @property
    def worth_telling(self) -> bool:
        """Whether the member who spoke gets one short notice."""
        return self in _TOLD


_TOLD: Final = frozenset(
    {Reason.OFF_BUT_ADDRESSED, Reason.NOBODY_HERE, Reason.NOT_HERE, Reason.ASLEEP, Reason.AGE_RESTRICTED}
)


@dataclass(frozen=True, slots=True)
class Decision:
    """The persona that answers, or None, and the reason."""

    persona_id: int | None
    reason: Reason


def decide(
    turn: TurnDraft,
    *,
    scene: Scene,
    cast: Sequence[Persona],
    reply_mode: ReplyMode,
    last_speaker_persona_id: int | None = None,
    replied_persona_id: int | None = None,
) -> Decision:
    """Return who answers `turn`: the persona replied to, else the first one named, else, when the bot is
    mentioned or in mode `always`, the one that spoke last or the first of the cast.

    `replied_persona_id` is the persona whose message the author answered (Discord's reply), also when it
    has left the cast since. `cast` holds the present personas in the order of `scene.cast`.
    """
    silent = _silence(turn, scene)
    if silent is not None:
        return Decision(None, silent)
    if reply_mode is ReplyMode.OFF:
        asked = turn.mentions_bot or replied_persona_id is not None
        return Decision(None, Reason.OFF_BUT_ADDRESSED if asked else Reason.OFF)
    if reply_mode is ReplyMode.MENTION and not turn.mentions_bot:
        return Decision(None, Reason.NOT_ADDRESSED)
    return _choose(turn, cast, reply_mode, last_speaker_persona_id, replied_persona_id)


def first_named(text: str, cast: Sequence[Persona]) -> Persona | None:
    """Return the persona that the text names first; of two at the same place, the longer name."""
    found: list[tuple[int, int, int]] = []
    for order, persona in enumerate(cast):
        for name in called(persona):
            at = find_name(text, name)
            if at is not None:
                found.append((at, -len(name), order))
    return cast[min(found)[2]] if found else None


def _silence(turn: TurnDraft, scene: Scene) -> Reason | None:
    if turn.persona_id is not None:
        return Reason.OWN
    if scene.paused or not scene.active:
        return Reason.PAUSED
    if turn.kind is TurnKind.OUT_OF_CHARACTER:
        return Reason.OUT_OF_CHARACTER
    return None


def _choose(
    turn: TurnDraft,
    cast: Sequence[Persona],
    reply_mode: ReplyMode,
    last_speaker_persona_id: int | None,
    replied_persona_id: int | None,
) -> Decision:
    present = {persona.id for persona in cast}
    if replied_persona_id in present:
        return Decision(replied_persona_id, Reason.REPLIED_TO)
    named = first_named(turn.text, cast)
    if named is not None:
        return Decision(named.id, Reason.NAMED)
    always = reply_mode is ReplyMode.ALWAYS
    if (turn.mentions_bot or always) and cast:
        last = last_speaker_persona_id if last_speaker_persona_id in present else cast[0].id
        return Decision(last, Reason.MENTIONED if turn.mentions_bot else Reason.ALWAYS)
    if turn.mentions_bot:
        return Decision(None, Reason.NOBODY_HERE)
    if replied_persona_id is not None:
        return Decision(None, Reason.NOT_HERE)
    return Decision(None, Reason.NOT_ADDRESSED)
