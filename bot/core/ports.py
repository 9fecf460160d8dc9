"""What the engine asks of the outside, as narrow protocols. Adapters fulfil them; tests have fakes.

The chat model's protocol stands in `bot.core.chat`, beside its messages.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.core.events import MessagePosted
from bot.core.types import (
    OutboxRow,
    Persona,
    Place,
)
from bot.core.vectors import Vector


class Encoder(Protocol):
    """Turns text into unit vectors of meaning. Runs off the event loop, in its own single thread."""

    @property
    def id(self) -> str:
        """Names the model exactly; vectors of different ids never mix."""

    @property
    def dimensions(self) -> int: ...

    @property
    def ready(self) -> bool:
        """False while the model loads; callers then go on with words alone."""

    async def embed_query(self, texts: Sequence[str]) -> Vector:
        """float32 (len(texts), dimensions), unit length. Waits for the model to be loaded."""

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        """The same for texts to be stored (some models use another prefix)."""

    def forget(self) -> None:
        """Keep nothing of what was asked, or is being asked."""


class EmotionScorer(Protocol):
    """Reads feeling from a vector of meaning that was computed anyway."""

    @property
    def ready(self) -> bool:
        """False while a head is being fitted; callers then go on without feelings, and ask nothing else."""

    @property
    def source(self) -> str:
        """Stored beside each vector, e.g. `head:minilm-1`."""

    def scores(self, vectors: Vector) -> Vector:
        """float32 (rows, 8), 1..10, in the order of `bot.core.emotion.EMOTIONS`. Microseconds; no IO."""


@dataclass(frozen=True, slots=True)
class IndexKey:
    """A row of the search index. Several keys may lead to one memory."""

    memory_id: int
    part: int
    """0 for the memory's own text; 1, 2, … for triggers."""
    kind: str
    place_id: int
    story_id: int
    scene_id: int
    audience_id: int
    vector: Vector
    emotion: Vector
    emotion_known: bool


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A memory near the query. `d_sem` is the Euclidean distance of unit vectors (0..2), not its square."""

    memory_id: int
    d_sem: float
    emotion: Vector
    emotion_known: bool


@dataclass(frozen=True, slots=True)
class Scope:
    """What a persona may recall: one story of one place, and what it witnessed."""

    space_id: int
    place_id: int
    story_id: int
    audience_ids: tuple[int, ...]
    """Audiences that contain the persona; empty means nothing may be recalled."""


class MemoryIndex(Protocol):
    """The vector index: one table per space and encoder. SQL is the truth; this can be rebuilt."""

    async def upsert(self, space_id: int, keys: Sequence[IndexKey]) -> None:
        """Writes keys; the same (memory_id, part) again replaces the row. Durable on return."""

    async def nearest(self, scope: Scope, query: Vector, limit: int) -> list[IndexHit]:
        """The `limit` nearest memories of the scope by meaning, filtered before the cut."""

    async def nearest_by_emotion(self, scope: Scope, emotion: Vector, limit: int) -> list[IndexHit]:
        """The `limit` nearest by 1 - cosine of emotions; `vectors` gives what their d_sem is made from."""

    async def vectors(self, scope: Scope, memory_ids: Collection[int]) -> dict[int, Vector]:
        """The vectors of meaning of these memories' keys, (keys, dimensions) each, where they are in the
        scope and indexed. A memory is as far from a query as the nearest of its keys."""

    async def set_emotions(self, space_id: int, emotions: Mapping[int, Vector]) -> None:
        """Replaces the emotion of memories, keeping their vectors of meaning."""

    async def remove(self, space_id: int, memory_ids: Collection[int]) -> None:
        """Out of every result at once; the bytes leave with `rewrite`."""

    async def rewrite(self, space_id: int) -> None:
        """Writes the table anew without removed rows and drops old versions: the bytes are gone on return."""

    async def drop_space(self, space_id: int) -> None: ...
    async def count(self, space_id: int) -> int: ...

    @property
    def is_new(self) -> bool:
        """True when this encoder had no index here: marks of what is indexed, if there are any, are void."""

    async def is_damaged(self) -> bool:
        """Whether files are missing or cannot be read."""

    async def reset(self) -> None:
        """Throws every table away and starts empty."""

    async def drop_stale(self) -> int:
        """Deletes tables that another encoder wrote; how many there were."""

    async def maintain(self) -> None:
        """Merges small files of tables with many appends since the last call; cheap otherwise."""


class Messenger(Protocol):
    """Speaks in places. Failures are `bot.errors.DeliveryError`; `uncertain` when it may have arrived."""

    async def speak(
        self, place: Place, persona: Persona, text: str, *, nonce: str, reply_to: int | None = None
    ) -> int:
        """One message (up to 2000 characters) in the persona's name, as a reply where that shows; its id."""

    async def notice(self, place: Place, text: str, *, reply_to: int | None = None) -> int:
        """A short line in the bot's own name. The same line to the same message stands there once, however
        often it is sent within some minutes. Raises `DeliveryError`."""

    async def typing(self, place: Place) -> None:
        """Shows that an answer is coming, for about ten seconds. Never raises over a failure."""

    def history(self, place: Place, *, after: int) -> AsyncIterator[MessagePosted]:
        """Messages after this id, oldest first, `backfilled`."""

    async def find_spoken(self, row: OutboxRow, place: Place) -> int | None:
        """The id of the message that this row became, looked up in the channel; None when it is not there."""
