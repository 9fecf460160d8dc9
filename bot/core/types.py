"""The values that every layer speaks in: frozen, without behaviour beyond derived names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from bot.core.vectors import Vector

NOBODY = 0
"""The owner id of what no member said (a persona's turns, narration by the bot)."""


class TurnKind(StrEnum):
    """How a turn was meant."""

    IN_CHARACTER = "ic"
    OUT_OF_CHARACTER = "ooc"
    NARRATION = "narration"


class MemoryKind(StrEnum):
    """What a long-term memory is made of."""

    TURN = "turn"
    SNAPSHOT = "snapshot"
    FACT = "fact"
    REFLECTION = "reflection"
    PINNED = "pinned"
    CANON = "canon"


@dataclass(frozen=True, slots=True)
class Place:
    """One Discord channel, thread, forum post or direct message (`guild_id` 0)."""

    id: int
    guild_id: int
    name: str
    parent_id: int | None = None

    @property
    def space_id(self) -> int:
        """The guild, or the direct message itself: what owns personas, settings and an index table."""
        return self.guild_id or self.id


@dataclass(frozen=True, slots=True)
class Persona:
    """A character the bot plays. `card` is the `data` object of a character card V3, kept whole."""

    id: int
    space_id: int
    name: str
    card: Mapping[str, object]
    temperament: Vector = field(compare=False)
    """Resting emotion vector, float32[8], 1..10: where the mood returns to."""
    former_names: tuple[str, ...] = ()
    avatar: bytes | None = None
    """A PNG, at most 256 KiB."""
    avatar_url: str | None = None
    revision: int = 1
    created_by: int = NOBODY
    age_restricted: bool = False
    """Plays only in channels that Discord marks as age-restricted."""
    approved: bool = True
    """False while it waits for a moderator: nobody finds it until then."""

    def text(self, key: str) -> str:
        """A text field of the card, empty when absent or null."""
        value = self.card.get(key)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Scene:
    """A role-play in a place. `cast` holds persona ids in the order they joined."""

    id: int
    space_id: int
    place_id: int
    story_id: int
    name: str
    location: str = ""
    situation: str = ""
    story_time: str = ""
    active: bool = True
    paused: bool = False
    cast: tuple[int, ...] = ()
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Alias:
    """The name a member speaks under in one scene."""

    scene_id: int
    owner_id: int
    name: str
    avatar_url: str | None = None


@dataclass(frozen=True, slots=True)
class TurnDraft:
    """A turn before it is stored. Exactly one of `owner_id` and `persona_id` names the speaker."""

    space_id: int
    place_id: int
    scene_id: int
    story_id: int
    owner_id: int
    speaker: str
    text: str
    kind: TurnKind
    created_at: datetime
    witnesses: tuple[int, ...]
    """Ids of the personas of the cast at that moment."""
    message_ids: tuple[int, ...] = ()
    persona_id: int | None = None
    mentions_bot: bool = False
    reply_to: int | None = None
    """The Discord message id that the author answered, if any."""
    proxied: bool = False
    """Posted by a proxy app's webhook; `owner_id` is then the webhook's id."""
    unremembered: bool = False
    """A persona's answer to a member who opted out: the window shows it, nothing is ever made of it."""


@dataclass(frozen=True, slots=True)
class Turn(TurnDraft):
    """One message of the role-play, stored. `id` grows with the order of storing."""

    id: int = 0
    edited_at: datetime | None = None
    answered_by: int | None = None
    """The persona's turn that answered it; -1 when a notice did; None while open or never addressed."""
    covered_by: int | None = None
    """The scratchpad revision whose model call read it; None while it waits to be summarised."""

    @property
    def last_message(self) -> int | None:
        """The Discord message that an answer to it answers; None before it has one."""
        return self.message_ids[-1] if self.message_ids else None


@dataclass(frozen=True, slots=True)
class Line:
    """One note of the scratchpad and the turns it comes from (never empty)."""

    section: str
    text: str
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trigger:
    """What should bring its source turns back to mind when it comes up: a further key of their memories."""

    text: str
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scratchpad:
    """One revision of a scene's notes; revision 0 with no lines stands before the first rewrite."""

    scene_id: int
    revision_id: int = 0
    number: int = 0
    lines: tuple[Line, ...] = ()
    created_at: datetime | None = None
    as_of: int = field(default=0, compare=False)
    """How many edits and deletions of turns the store knew when this was read: what is read before the turns
    shows which of them changed meanwhile."""


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A long-term memory before it is stored (all kinds but `turn`, which are made with their turn)."""

    kind: MemoryKind
    space_id: int
    place_id: int
    story_id: int
    scene_id: int
    text: str
    created_at: datetime
    witnesses: tuple[int, ...]
    sources: tuple[int, ...] = ()
    owner_ids: tuple[int, ...] = ()
    speaker: str = ""
    subject: str = ""
    """Who or what a fact is about."""
    story_time: str = ""
    importance: float = 0.0
    emotion: Vector | None = field(default=None, compare=False)
    emotion_source: str | None = None


@dataclass(frozen=True, slots=True)
class Memory(MemoryDraft):
    """A stored memory. For kind `turn`, `text` and `speaker` are the turn's own."""

    id: int = 0
    turn_id: int | None = None
    audience_id: int = 0
    """Stands for the set of witnesses; the integer that index filters use."""
    superseded_by: int | None = None


@dataclass(frozen=True, slots=True)
class StyleSample:
    """A good early reply of a persona, replayed to keep its voice in the place where it was said."""

    id: int
    persona_id: int
    text: str
    turn_id: int | None = None
    place_id: int | None = None
    """Where it was said; None for what a moderator gave, which may be replayed everywhere."""
    pinned: bool = False
    emotion: Vector | None = field(default=None, compare=False)
    """What its turn felt like, 1..10; None when unknown."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One Discord message of a persona's turn, committed before it is sent."""

    id: int
    turn_id: int
    place_id: int
    part: int
    text: str
    speaker: str
    persona_id: int | None
    nonce: str
    created_at: datetime
    message_id: int | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """A line of scenes that share memory, in one place."""

    id: int
    place_id: int
    name: str


@dataclass(frozen=True, slots=True)
class LiveScene:
    """What the journal needs of a place's active scene to turn a message into a turn."""

    scene: Scene
    aliases: Mapping[int, Alias] = field(default_factory=dict)
