"""Fills the state of a place from what is stored of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.core import mood as moods
from bot.core.mood import Mood
from bot.core.stores import PlaceRecord
from bot.core.types import Turn
from bot.core.window import Speaker
from bot.engine.state import Address, PlaceState, is_unwritten

log = logging.getLogger(__name__)


def take_scene(state: PlaceState, record: PlaceRecord | None) -> None:
    """The scene as it is now, with its cast, names and notes; None: there is none."""
    state.aliases, state.personas, state.held = {}, {}, {}
    if record is None:
        state.scene, state.window, state.pending = None, [], []
        return
    state.scene = record.scene
    state.aliases = {alias.owner_id: alias for alias in record.aliases}
    state.personas = {persona.id: persona for persona in record.personas}
    state.scratchpad, state.source_witnesses = record.scratchpad, dict(record.witnesses)


def take_past(state: PlaceState, record: PlaceRecord) -> None:
    """What was said in the scene so far, and how everybody is."""
    state.window = sorted(record.newest, key=said_at)
    state.speakers = [Speaker(owner, name) for owner, name in record.speakers]
    state.answered_at = _last_answers(state.window)
    state.start_ids, state.recalled = {}, {}
    state.moods = _read_moods(record.moods)
    state.uncovered, state.is_long = record.uncovered, record.is_long
    state.pending = [one for one in state.pending if _is_kept_here_alone(one, record)]
    state.loaded_to = max((turn.id for turn in record.newest), default=0)
    state.owed = frozenset(turn.id for turn in record.unanswered)


def said_at(turn: Turn) -> tuple[datetime, int]:
    """The order of a window: what is read from a channel's history comes late."""
    return turn.created_at, turn.id


def _is_kept_here_alone(address: Address, record: PlaceRecord) -> bool:
    """What must not be written waits in memory only: no store would bring it back."""
    return is_unwritten(address.turn) and address.turn.scene_id == record.scene.id


def _last_answers(window: Sequence[Turn]) -> dict[int, datetime]:
    """When each member was last answered, for cooldowns that outlast the actor or the process."""
    said = {turn.id: turn.created_at for turn in window}
    return {turn.owner_id: said[turn.answered_by] for turn in window if turn.answered_by in said}


def _read_moods(stored: Mapping[int, str]) -> dict[int, Mood]:
    found: dict[int, Mood] = {}
    for persona_id, value in stored.items():
        try:
            found[persona_id] = moods.from_json(json.loads(value))
        except ValueError:
            log.warning("The stored mood of persona %s cannot be read; it starts at rest", persona_id)
    return found
