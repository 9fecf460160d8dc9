"""The whole engine on a real database, with fakes for Discord, the model, the encoder and the index."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot import prompts
from bot.adapters.sql_store import SqlStore, open_store
from bot.core.events import MessageEdited, MessagePosted, MessagesDeleted, snowflake
from bot.core.trust import Surroundings
from bot.core.types import OutboxRow, Persona, Place, Turn
from bot.engine.assembly import assemble
from bot.engine.parts import Parts
from bot.engine.state import PlaceState
from bot.engine.troupe import Troupe
from tests.fakes import ChatScript, ScriptedChatModel
from tests.fakes_encoder import HashEncoder
from tests.fakes_index import FakeIndex

TAVERN = Place(id=500, guild_id=9, name="tavern")
CELLAR = Place(id=600, guild_id=9, name="cellar")
ALICE, BOB, CARO = 101, 102, 103
NAMES = {ALICE: "Alice", BOB: "Bob", CARO: "Caro"}


class RealClock:
    """The real time, which a test may push forward."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@dataclass
class FakeMessenger:
    """A channel that keeps what was said in it. `failures` are raised by the next sends, in order."""

    clock: Callable[[], datetime]
    said: list[tuple[int, str, str]] = field(default_factory=list)
    notices: list[tuple[int, str]] = field(default_factory=list)
    typed: list[int] = field(default_factory=list)
    past: list[MessagePosted] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    arrived: dict[str, int] = field(default_factory=dict)
    """Nonce to message id, also of sends that failed after arriving."""
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    numbers: Callable[[], int] = field(default_factory=lambda: itertools.count(1).__next__)

    def next_id(self) -> int:
        return snowflake(self.clock()) + self.numbers()

    async def speak(
        self, place: Place, persona: Persona, text: str, *, nonce: str, reply_to: int | None = None
    ) -> int:
        message_id = self.next_id()
        if self.failures:
            failure = self.failures.pop(0)
            if getattr(failure, "arrives", False):
                self.arrived[nonce] = message_id
                self.said.append((place.id, persona.name, text))
            raise failure
        self.arrived[nonce] = message_id
        self.said.append((place.id, persona.name, text))
        await self._tell()
        return message_id

    async def notice(self, place: Place, text: str, *, reply_to: int | None = None) -> int:
        self.notices.append((place.id, text))
        await self._tell()
        return self.next_id()

    async def typing(self, place: Place) -> None:
        self.typed.append(place.id)

    async def history(self, place: Place, *, after: int) -> AsyncIterator[MessagePosted]:
        for event in self.past:
            if event.place.id == place.id and event.message_id > after:
                yield event

    async def find_spoken(self, row: OutboxRow, place: Place) -> int | None:
        return self.arrived.get(row.nonce)

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    def texts(self, place: Place = TAVERN) -> list[str]:
        """What personas said in a place."""
        return [text for place_id, _, text in self.said if place_id == place.id]


@dataclass
class SomeChannels:
    """Channels for everyone but those named; those of `unknown` are not known."""

    private: set[int] = field(default_factory=set)
    unknown: set[int] = field(default_factory=set)

    def about(self, place: Place) -> Surroundings:
        known = place.id not in self.unknown
        return Surroundings(known=known, for_everyone=known and place.id not in self.private)


@dataclass
class Stage:
    """A running engine and the hands to play with it."""

    troupe: Troupe
    store: SqlStore
    messenger: FakeMessenger
    model: ScriptedChatModel
    index: FakeIndex
    encoder: HashEncoder
    clock: RealClock

    async def persona(self, name: str = "Mira", **fields: str) -> Persona:
        return await self.troupe.personas.create(TAVERN.space_id, name=name, **fields)

    async def scene(self, *personas: Persona, place: Place = TAVERN, name: str = "The feast") -> None:
        """Start a scene with these personas."""
        first, *others = personas
        await self.troupe.scenes.start(
            place, name=name, persona_id=first.id, after=snowflake(self.clock()) - (1 << 22)
        )
        for persona in others:
            await self.troupe.scenes.cast_add(place, persona.id)

    def say(
        self, text: str, *, by: int = ALICE, place: Place = TAVERN, mention: bool = False, **fields: object
    ) -> int:
        """A member says something; the message id."""
        message_id = self.messenger.next_id()
        values = {"created_at": self.clock(), "author_name": NAMES.get(by, f"member {by}"), **fields}
        event = MessagePosted(
            place=place,
            message_id=message_id,
            author_id=by,
            text=text,
            mentions_bot=mention,
            **values,  # type: ignore[arg-type]
        )
        self.troupe.hear(event)
        return message_id

    def edit(self, message_id: int, text: str, *, place: Place = TAVERN, by: int = 0) -> None:
        self.troupe.hear(MessageEdited(place.id, message_id, text, self.clock(), by))

    def delete(self, *message_ids: int, place: Place = TAVERN) -> None:
        self.troupe.hear(MessagesDeleted(place.id, message_ids))

    async def quiet(self, place: Place = TAVERN, within: float = 30.0) -> None:
        """Everything heard is committed, every reply it asked for is posted."""
        async with asyncio.timeout(within):
            while True:
                await self.troupe.journal.flushed()
                busy = await self.troupe.places.do(place, _busy)
                if not busy and not self.troupe.delivery.busy and not self.troupe.notices.busy:
                    return
                await asyncio.sleep(0.005)

    async def notices_out(self) -> None:
        """Every notice has been given."""
        async with asyncio.timeout(30):
            while self.troupe.notices.busy:
                await asyncio.sleep(0.005)

    async def window(self, place: Place = TAVERN) -> list[Turn]:
        """The turns that the place's actor holds."""

        async def read(state: PlaceState) -> list[Turn]:
            return list(state.window)

        return await self.troupe.places.do(place, read)


async def _busy(state: PlaceState) -> bool:
    return bool(state.reply or state.pending)


@asynccontextmanager
async def open_stage(
    folder: Path,
    script: Mapping[str, ChatScript] | None = None,
    *,
    messenger: FakeMessenger | None = None,
    index: FakeIndex | None = None,
    clock: RealClock | None = None,
    gate: asyncio.Event | None = None,
    start: bool = True,
    **parts: object,
) -> AsyncIterator[Stage]:
    """An engine on the database in `folder`, started. Opening the same folder again is a restart."""
    clock = clock or RealClock()
    async with open_store(folder / "test.sqlite3", clock=clock) as store:
        messenger = messenger or FakeMessenger(clock)
        model = ScriptedChatModel(script, gate=gate)
        encoder, index = HashEncoder(), index or FakeIndex()
        values = {
            "store": store,
            "index": index,
            "encoder": encoder,
            "scorer": None,
            "messenger": messenger,
            "prompts": prompts.load(),
            "chat": model,
            "background": model,
            "now": clock,
            **parts,
        }
        troupe = assemble(Parts(**values))  # type: ignore[arg-type]
        await troupe.prepare()
        if start:
            await troupe.start()
        try:
            yield Stage(troupe, store, messenger, model, index, encoder, clock)
        finally:
            await troupe.close()
