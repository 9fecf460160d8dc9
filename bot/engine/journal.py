"""The journal: everything heard is committed before anything else happens with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from bot.core.events import Event, MessageEdited, MessagePosted, MessagesDeleted
from bot.core.reading import kind_of
from bot.core.stores import JournalEntry, JournalOutcome, PostEntry, TurnStore
from bot.core.types import LiveScene, TurnDraft, TurnKind
from bot.engine.actor import Stumbled, in_silence
from bot.engine.live import LiveScenes
from bot.engine.storage_trouble import StorageTrouble
from bot.errors import StorageError, new_reference

log = logging.getLogger(__name__)

BATCH = 256
RETRY_SECONDS = 1.0
TELL_AFTER = 4
"""So many failed attempts in a row before members are told: a busy database is not worth a notice."""
MOST_WAITING = 20_000
"""Messages that wait in memory while the database takes none; later ones are read from their channels."""

Heard = tuple[JournalEntry | Callable[[], None], MessagePosted | None]
Tell = Callable[[int, JournalOutcome, MessagePosted | None], None]


def draft_of(event: MessagePosted, live: LiveScene, *, proxied: bool) -> TurnDraft:
    """The turn that a message becomes in this scene."""
    scene = live.scene
    alias = live.aliases.get(event.author_id)
    kind, text = kind_of(event.text)
    return TurnDraft(
        space_id=scene.space_id,
        place_id=scene.place_id,
        scene_id=scene.id,
        story_id=scene.story_id,
        owner_id=event.author_id,
        speaker=alias.name if alias else event.author_name,
        text=text,
        kind=kind,
        created_at=event.created_at,
        witnesses=() if kind is TurnKind.OUT_OF_CHARACTER else scene.cast,
        message_ids=(event.message_id,),
        mentions_bot=event.mentions_bot,
        reply_to=event.reply_to,
        proxied=proxied,
    )


class Journal:
    """One writer: takes all waiting events, commits them in one transaction, then tells the places.

    `submit` never blocks. When the database refuses, the batch is tried again until it succeeds, in order:
    what was heard stays in memory and is lost only with the process (and then fetched from the channel).
    """

    def __init__(
        self,
        *,
        turns: TurnStore,
        live: LiveScenes,
        tell: Tell,
        trouble: StorageTrouble,
        read_missed: Callable[[], object],
        stumbled: Stumbled = in_silence,
    ) -> None:
        """`read_missed` has the channels read of which a message found no room."""
        self._turns = turns
        self._live = live
        self._tell = tell
        self._trouble = trouble
        self._read_missed = read_missed
        self._stumbled = stumbled
        self._overflown = False
        self._waiting: list[Heard] = []
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing = False

    def submit(self, event: Event, *, proxied: bool = False) -> bool:
        """Queue an event of a place that is remembered; False when it is not to be stored."""
        entry: JournalEntry
        if self._closing:
            return False  # read from the channel's history at the next start
        if isinstance(event, MessagePosted):
            live = self._live.get(event.place.id)
            if live is None or live.scene.paused:
                return False
            if self._full and not event.backfilled:
                self._overflown = True
                self._live.missed(event.place.id)
                return False
            seen = event.backfilled or not self._live.is_unread(event.place.id)
            entry = PostEntry(draft_of(event, live, proxied=proxied), seen=seen)
            self._waiting.append((entry, event))
        else:
            self._waiting.append((event, None))
        self._idle.clear()
        self._wake.set()
        return True

    @property
    def _full(self) -> bool:
        return len(self._waiting) >= MOST_WAITING

    async def room(self) -> None:
        """Return when more can be taken in without losing sight of it."""
        if self._full:
            await self._idle.wait()

    def then(self, call: Callable[[], None]) -> None:
        """Have something done, without a trace, in the order of what was submitted."""
        if not self._closing:
            self._waiting.append((call, None))
            self._idle.clear()
            self._wake.set()

    async def run(self) -> None:
        """Commit until `close`; the owner runs this as a task."""
        while not (self._closing and not self._waiting):
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                batch = self._waiting[:BATCH]
                outcomes = iter(await self._commit([entry for entry, _ in batch if not callable(entry)]))
                del self._waiting[: len(batch)]
                for entry, event in batch:
                    try:
                        if callable(entry):
                            entry()
                        else:
                            self._tell(_place_id(entry), next(outcomes), event)
                    except Exception:
                        # What one place cannot take must not keep all that was heard from the others.
                        self._failed("What was heard could not be passed on", entry)
            self._idle.set()
            if self._overflown:
                self._overflown = False
                self._read_missed()

    async def _commit(self, entries: list[JournalEntry]) -> list[JournalOutcome]:
        attempts = 0
        while True:
            try:
                outcomes = await self._turns.commit(entries)
            except StorageError as problem:
                attempts += 1
                if attempts >= TELL_AFTER:
                    self._trouble.failed(problem)
                    self._tell_members()
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                # One event that breaks the store must not stop all that come after it.
                if len(entries) == 1:
                    self._failed("An event could not be stored", entries[0])
                    return [None]
                return [outcome for entry in entries for outcome in await self._commit([entry])]
            else:
                self._trouble.works()
                return outcomes

    def _tell_members(self) -> None:
        said = {event.place.id: event for _, event in self._waiting if event and not event.backfilled}
        for event in said.values():
            self._trouble.tell(event.place, reply_to=event.message_id)

    def _failed(self, what: str, entry: JournalEntry | Callable[[], None]) -> None:
        number = new_reference()
        log.exception("%s (ref %s): %r", what, number, type(entry))
        place = self._live.place(entry.draft.place_id) if isinstance(entry, PostEntry) else None
        if isinstance(entry, PostEntry) and place is not None:
            self._stumbled(place, number, reply_to=entry.draft.message_ids[-1])

    async def flushed(self) -> None:
        """Return when everything submitted so far is committed, however much is said meanwhile."""
        if self._waiting:
            committed = asyncio.Event()
            self._waiting.append((committed.set, None))
            await committed.wait()

    async def close(self) -> None:
        """Commit what waits, then end `run`."""
        self._closing = True
        self._wake.set()
        await self._idle.wait()


def _place_id(entry: JournalEntry) -> int:
    if isinstance(entry, MessageEdited | MessagesDeleted):
        return entry.place_id
    return entry.draft.place_id
