"""What the engine asks of the database, as narrow protocols; `adapters/sql_store` fulfils them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.core.events import MessageEdited, MessagesDeleted
from bot.core.types import (
    Alias,
    Line,
    LiveScene,
    Memory,
    MemoryDraft,
    OutboxRow,
    Persona,
    Place,
    Scene,
    Scratchpad,
    Story,
    StyleSample,
    Trigger,
    Turn,
    TurnDraft,
)
from bot.core.vectors import Vector


@dataclass(frozen=True, slots=True)
class Recorded:
    """A new turn, or an old one when `message_id` was known already (`fresh` False)."""

    turn: Turn
    fresh: bool = True


@dataclass(frozen=True, slots=True)
class Changed:
    """Turns whose text changed or which are gone (`turn.text` is then empty), and what went with them."""

    turns: tuple[Turn, ...]
    removed: bool
    scene_ids: tuple[int, ...] = ()
    memory_ids: tuple[int, ...] = ()
    """Memories that no longer exist or must be encoded again; results must not show them."""


@dataclass(frozen=True, slots=True)
class PostEntry:
    """A turn to be stored and whether the place has been read up to it."""

    draft: TurnDraft
    seen: bool = True
    """False while messages before it may be missing: `seen_until` then stays, so that they are read later."""


JournalEntry = PostEntry | MessageEdited | MessagesDeleted
JournalOutcome = Recorded | Changed | None


class TurnStore(Protocol):
    """Turns, their messages and the outbox."""

    async def commit(self, entries: Sequence[JournalEntry]) -> list[JournalOutcome]:
        """All entries in one transaction, in order, idempotent by message id; one outcome each.

        Moves `seen_until` of the places whose entries are `seen`. An edit or deletion removes at once every
        scratchpad line, snapshot, fact and sample that names the turn, in every revision, and makes the other
        turns of those lines uncovered again; a deleted turn keeps its row (ids, marks) and loses its text and
        name.
        None for messages that are no turn."""

    async def commit_reply(
        self, draft: TurnDraft, parts: Sequence[str], answers: Collection[int]
    ) -> tuple[Turn, tuple[OutboxRow, ...]]:
        """A persona's turn, its outbox rows and `answered_by` of the turns it answers, in one transaction."""

    async def settle(self, turn_ids: Collection[int], answered_by: int = -1) -> None:
        """Marks turns as answered (by a notice when -1)."""

    async def sent(self, outbox_id: int, message_id: int) -> None:
        """The row became this message: closes the row, adds the id to the turn's messages."""

    async def abandon(self, outbox_id: int) -> None:
        """Closes a row that will not be sent any more; a turn none of whose rows was sent is removed."""

    async def open_outbox(self) -> list[OutboxRow]: ...

    async def uncovered(self, scene_id: int, limit: int) -> list[Turn]:
        """The oldest living in-character or narration turns that no revision covers, oldest first."""

    async def count_uncovered(self, scene_id: int) -> int: ...

    async def waiting(self) -> list[tuple[int, int, int]]:
        """(place id, scene id, number of uncovered turns) of every scene that has some."""

    async def speakers(self, scene_id: int) -> list[tuple[int, str]]:
        """(owner id, speaker name) of the members' living turns, in the order they first spoke."""

    async def by_ids(self, turn_ids: Collection[int]) -> list[Turn]: ...
    async def by_message(self, message_id: int) -> Turn | None: ...


LONG_STORY = 500
"""A story with more memories than this takes a while to be read."""


@dataclass(frozen=True, slots=True)
class PlaceRecord:
    """What is stored of the scene that a place plays, all of the same moment."""

    scene: Scene
    personas: tuple[Persona, ...]
    """The cast, in the order they joined."""
    aliases: tuple[Alias, ...]
    """By name."""
    scratchpad: Scratchpad
    witnesses: Mapping[int, frozenset[int]]
    """Who witnessed the turns that the scratchpad comes from: persona ids by turn id."""
    moods: Mapping[int, str]
    """Persona id to the JSON of `bot.core.mood`."""
    speakers: tuple[tuple[int, str], ...]
    """(owner id, speaker name) of the members' living turns, in the order they first spoke."""
    newest: tuple[Turn, ...]
    """Living turns, oldest first."""
    unanswered: tuple[Turn, ...]
    """Members' living turns without an answer, oldest first; those that addressed nobody are among them."""
    uncovered: int
    """How many turns no scratchpad covers."""
    is_long: bool
    """Whether its story has more than `LONG_STORY` memories."""


class SceneStore(Protocol):
    """Places, stories, scenes, casts, aliases, scratchpads, moods."""

    async def live(self) -> list[tuple[Place, LiveScene]]:
        """Every place with an active scene (paused ones too), for start-up."""

    async def place(self, place_id: int) -> Place | None:
        """A place that ever had a scene."""

    async def places(self) -> list[Place]:
        """All of them."""

    async def record(self, place_id: int, *, turns: int, since: datetime) -> PlaceRecord | None:
        """What is stored of the scene that is played there, paused or not, with its newest `turns` turns and
        what was not answered `since`. None where none is."""

    async def owing(self, since: datetime) -> list[int]:
        """The places whose record would hold unanswered turns, unless they pause."""

    async def seen(self) -> dict[int, int]:
        """Of every place the newest message id that the journal has read there."""

    async def seen_until(self, place_id: int) -> int:
        """The same of one place; 0 where there never was a scene."""

    async def start(
        self, place: Place, *, name: str, location: str, situation: str, story: str | None, after: int
    ) -> Scene:
        """A new active scene (the former one waits). `story` None continues the place's latest story; else
        that one, made when new. `seen_until` is raised to `after`, the message id to record from."""

    async def activate(self, scene_id: int, *, after: int) -> Scene: ...

    async def update(self, scene_id: int, **changes: object) -> Scene:
        """name, location, situation, story_time, active, paused."""

    async def get(self, scene_id: int) -> Scene | None: ...

    async def of_place(self, place_id: int) -> list[Scene]:
        """Newest first."""

    async def active(self, place_id: int) -> Scene | None:
        """The one scene that is played there, paused or not."""

    async def stories(self, place_id: int) -> list[Story]: ...

    async def join(self, scene_id: int, persona_id: int) -> Scene: ...
    async def leave(self, scene_id: int, persona_id: int) -> Scene: ...
    async def aliases(self, scene_id: int) -> list[Alias]: ...
    async def set_alias(self, alias: Alias) -> None: ...
    async def clear_alias(self, scene_id: int, owner_id: int) -> bool: ...
    async def scratchpad(self, scene_id: int) -> Scratchpad: ...

    async def revisions(self, scene_id: int, limit: int) -> list[Scratchpad]: ...

    async def rewrite(
        self,
        before: Scratchpad,
        lines: Sequence[Line],
        covers: Collection[int],
        memories: Sequence[MemoryDraft],
        triggers: Sequence[Trigger] = (),
    ) -> Scratchpad | None:
        """A new revision, `covered_by` of the turns, memories (snapshots, facts), triggers: all or nothing.
        None when `before` is not the newest or a turn named here was edited or deleted meanwhile."""

    async def set_mood(self, scene_id: int, persona_id: int, mood: str) -> None:
        """Keep the JSON of `bot.core.mood`."""


@dataclass(frozen=True, slots=True)
class PersonaRevision:
    """A former card of a persona, and when it was replaced."""

    persona_id: int
    revision: int
    name: str
    card: Mapping[str, object]
    replaced_at: datetime
    picture_replaced: bool = False
    """Whether the picture was replaced as well."""


class PersonaStore(Protocol):
    """Personas, what they were before, and their style samples."""

    async def create(self, persona: Persona) -> Persona:
        """`id` 0 in. `bot.errors.NameTaken` when another of the space has the name, case and width folded."""

    async def update(self, persona: Persona) -> Persona:
        """Stores all fields but `approved`, raises `revision`, keeps the former card in the history."""

    async def delete(self, persona_id: int) -> None: ...

    async def get(self, persona_id: int) -> Persona | None: ...

    async def named(self, space_id: int, name: str) -> Persona | None: ...

    async def of_space(self, space_id: int) -> list[Persona]:
        """Those that do not wait for a moderator; `named` finds no others either."""

    async def waiting(self, space_id: int) -> list[Persona]:
        """Those that wait for a moderator, by name."""

    async def approve(self, persona_id: int) -> Persona:
        """It waits no longer. StorageError when it is gone."""

    async def samples(self, persona_id: int) -> list[StyleSample]:
        """All of them, of every place, oldest first."""

    async def add_sample(self, persona_id: int, text: str, turn_id: int | None) -> None: ...
    async def pin_sample(self, sample_id: int, pinned: bool) -> None: ...
    async def drop_sample(self, sample_id: int) -> None: ...

    async def drop_samples(self, persona_id: int, place_id: int | None = None) -> None:
        """All but the pinned ones; with a place only those that were said there."""

    async def revisions(self, persona_id: int, limit: int = 100) -> list[PersonaRevision]:
        """The former cards, newest first. A change of the picture alone keeps the former card as well."""

    async def revision(self, persona_id: int, number: int) -> PersonaRevision | None: ...

    async def picture_at(self, persona_id: int, number: int) -> bytes | None:
        """The picture that the persona had in that revision; None when it had a drawn one."""

    async def keep_archive(self, persona_id: int, archive: bytes | None) -> None:
        """Keep the archive that the card came in, in place of a former one; None keeps none."""

    async def archive(self, persona_id: int) -> bytes | None: ...


class MemoryStore(Protocol):
    """Long-term memories, and the work that the index still has to do."""

    async def by_ids(self, memory_ids: Collection[int]) -> list[Memory]: ...

    async def of_story(self, story_id: int, *, after_id: int = 0, limit: int = 2000) -> list[Memory]:
        """Living memories by id, for building the lexical index in pages."""

    async def audiences_with(self, persona_id: int) -> tuple[int, ...]: ...

    async def audiences_of(self, story_id: int) -> tuple[int, ...]:
        """Every audience that a memory of the story has."""

    async def add(
        self, drafts: Sequence[MemoryDraft], *, made_of: Mapping[int, str] | None = None
    ) -> list[Memory]:
        """`made_of`: memories that they were made of, by id, as these read then. When one of them is gone or
        says something else by now, nothing is stored and nothing returned."""

    async def remove(self, memory_ids: Collection[int]) -> None:
        """Removes the rows and queues the removal of their keys; a turn's memory takes the turn's text."""

    async def to_index(self, encoder_id: str, limit: int) -> list[Memory]:
        """Memories that this encoder has not indexed yet: the oldest, and with it what waits of its space,
        since each space has an index of its own; then the next. By id."""

    async def indexed(
        self,
        encoder_id: str,
        emotions: Mapping[int, tuple[Vector, str]],
        memory_ids: Collection[int],
        triggers: Mapping[int, tuple[str, ...]] | None = None,
    ) -> None:
        """Marks them, unless their `triggers` are other ones by now; stores the emotion where the memory has
        none from a better source."""

    async def of_turns(self, turn_ids: Collection[int]) -> dict[int, int]:
        """Turn id to the id of the memory made with it; turns that are gone are left out."""

    async def replaced_facts(self, turn_ids: Collection[int]) -> dict[int, list[Memory]]:
        """All facts that come from each of these turns; only of turns at least one of whose facts another one
        replaced."""

    async def triggers(self, memory_ids: Collection[int]) -> dict[int, tuple[str, ...]]:
        """Texts that are further keys of memories, by memory id; where there are none it is left out."""

    async def set_emotions(
        self, emotions: Mapping[int, tuple[Vector, str]], *, said: Mapping[int, str] | None = None
    ) -> dict[int, int]:
        """By turn id: the model's numbers replace the head's. `said`: the words that were felt; turns that
        are gone or say something else by now are left out. Returns the memories of the others."""

    async def to_erase(self, limit: int) -> list[tuple[int, int]]:
        """(space_id, memory_id) pairs whose keys must leave the index."""

    async def erased(self, memory_ids: Collection[int]) -> None: ...

    async def to_rewrite(self) -> list[tuple[int, datetime]]:
        """Spaces from whose index rows were removed, and since when their bytes wait to be rewritten."""

    async def rewritten(self, space_id: int, before: datetime) -> None: ...

    async def restart_index(self) -> int:
        """Forgets all marks so that everything is indexed again; how many memories wait."""

    async def count_to_index(self, encoder_id: str) -> int: ...


class SettingsStore(Protocol):
    """Settings of guilds and places, small values of the bot's own."""

    async def options(self, space_id: int) -> dict[tuple[int, str], str]:
        """(place id or 0 for the whole space, key) to the stored text."""

    async def all_options(self) -> dict[int, dict[tuple[int, str], str]]:
        """The same of every space that has any."""

    async def set_option(self, space_id: int, place_id: int, key: str, value: str | None) -> None: ...

    async def value(self, key: str) -> str | None: ...

    async def values(self, prefix: str) -> dict[str, str]:
        """Those whose keys begin so."""

    async def set_value(self, key: str, value: str) -> None: ...
