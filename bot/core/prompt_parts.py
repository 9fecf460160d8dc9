"""What the prompt of a reply is made from, and the prompt itself: plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bot.core.chat import ChatMessage
from bot.core.types import NOBODY, Memory, MemoryKind, Persona, Scene, Scratchpad, Turn
from bot.core.window import Roster

CALM: Final = "calm"
"""The mood that needs no mention."""


@dataclass(frozen=True, slots=True)
class Note:
    """A recalled memory as a prompt shows it. `earlier` marks what a newer one replaces."""

    text: str
    when: datetime
    speaker: str = ""
    kind: MemoryKind = MemoryKind.TURN
    story_time: str = ""
    earlier: bool = False
    until: datetime | None = None
    """When the newer one came to hold, where that is known."""
    partly: bool = False
    """Only some of what it says was replaced."""
    owner_id: int = NOBODY
    """The member who said it: of several with one name each has a tag of their own."""

    @classmethod
    def of(cls, memory: Memory, *, until: datetime | None = None, partly: datetime | None = None) -> Note:
        """Return the note of a stored memory; `until` when another replaced it, `partly` some of it."""
        return cls(
            text=memory.text,
            when=memory.created_at,
            speaker=memory.speaker,
            kind=memory.kind,
            story_time=memory.story_time,
            earlier=memory.superseded_by is not None or until is not None or partly is not None,
            until=until or partly,
            partly=partly is not None and until is None,
            owner_id=memory.owner_ids[0] if memory.turn_id and memory.owner_ids else NOBODY,
        )


@dataclass(frozen=True, slots=True)
class PlacedLore:
    """Lore for a reply, macros filled: what always holds around the card, and what the turns brought up."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    fired: tuple[str, ...] = ()
    room: int = 0
    """Tokens that the window leaves for `fired`, whatever fires this time."""
    told: tuple[tuple[str, int | None], ...] = ()
    """Which entries these are (`bot.engine.lore.Lore.told` names them), and which key made each fire."""


NO_LORE: Final = PlacedLore()


@dataclass(frozen=True, slots=True)
class ReplyScene:
    """Everything a reply is made from. Turns come oldest first; those to answer are not in `history`."""

    persona: Persona
    scene: Scene
    cast: tuple[Persona, ...]
    roster: Roster
    history: Sequence[Turn]
    answering: Sequence[Turn]
    scratchpad: Scratchpad
    now: datetime
    samples: Sequence[str] = ()
    """Style samples; while there are none, the card's examples stand in."""
    standing: Sequence[str] = ()
    """Standing instructions from elsewhere in the story, shown with the scratchpad's."""
    pinned: Sequence[str] = ()
    """What moderators pinned: shown after those, and given up last."""
    notes: Sequence[Note] = ()
    """The strongest first; shown by time, and the weakest left out when they do not fit."""
    aside: Note | None = None
    """A memory that came up by itself: it may be mentioned, and need not."""
    mood: str = ""
    relations: str = ""
    """What the persona feels towards those present, as `bot.core.relations.in_words` says it."""
    hints: Sequence[str] = ()
    start_id: int = 0
    """The `start_id` of the last prompt of this place and persona; 0 at first."""
    lore: PlacedLore = NO_LORE
    language: str = ""
    """The story's, as `bot.core.languages` names it: what notes say of dates and speakers is said in it."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages, the tokens of their parts (they sum up to the whole), and what had no room."""

    messages: tuple[ChatMessage, ...]
    parts: Mapping[str, int]
    left_out: tuple[str, ...]
    start_id: int

    @property
    def notes(self) -> str:
        """The lines of the notes block: a reply that copies one says it by mistake (see `speech.clean`)."""
        content = self.messages[-1].content
        start, end = content.rfind("<notes>\n"), content.rfind("\n</notes>")
        return content[start + len("<notes>\n") : end] if 0 <= start < end else ""
