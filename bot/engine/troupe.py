"""Troupe as the commands and the console see it: hear events, and everything a moderator can ask for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.core import mood as moods
from bot.core.events import Event, MessageEdited, MessagePosted, snowflake
from bot.core.mood import Mood
from bot.core.ports import Messenger
from bot.core.relations import Relation
from bot.core.stores import SceneStore
from bot.core.types import Persona, Place
from bot.core.vectors import Vector
from bot.engine.aliases import Aliases
from bot.engine.conduct import Conduct
from bot.engine.delivery import Delivery
from bot.engine.explaining import Explainer
from bot.engine.greetings import Greetings
from bot.engine.health import Health, HealthLine
from bot.engine.indexing import Indexer
from bot.engine.jobs import Jobs, Service
from bot.engine.journal import Journal
from bot.engine.keeping import Keeping
from bot.engine.live import LiveScenes
from bot.engine.lore import Lore
from bot.engine.memory import Memories
from bot.engine.notices import NO_SCENE, Notices
from bot.engine.options import Options
from bot.engine.overheard import Overheard
from bot.engine.pages import Pages
from bot.engine.pasts import Pasts
from bot.engine.persona_drafts import Drafts
from bot.engine.personas import Personas
from bot.engine.places import Places
from bot.engine.privacy import Privacy
from bot.engine.relations import Relations
from bot.engine.replies import Replies
from bot.engine.retention import Retention
from bot.engine.samples import Samples
from bot.engine.scenes import Scenes
from bot.engine.state import PlaceState
from bot.engine.story_words import StoryWords
from bot.engine.summarising import Summariser
from bot.engine.trust import Trust
from bot.engine.unplayed import Unplayed
from bot.engine.usage import Usage
from bot.errors import DeliveryError, UserFacing

log = logging.getLogger(__name__)

DRAIN_SECONDS = 6.0
"""How long running replies may go on after SIGTERM; the rest of the ten seconds is for closing stores."""

HISTORIES_AT_ONCE = 4
MOST_RELATIONS = 12
"""Members towards whom `/mood show` tells a persona's relation."""


@dataclass(frozen=True, slots=True)
class MoodView:
    """A persona's mood beside its temperament (eight numbers each)."""

    persona: Persona
    mood: Mood
    words: str
    temperament: Vector
    relations: Mapping[str, Relation] = field(default_factory=dict)
    """Towards the members of the scene, by name; those that it never answered are left out."""


@dataclass(frozen=True, kw_only=True)
class Troupe:
    """The engine's face. Made by `bot.app`; every collaborator is given."""

    personas: Personas
    samples: Samples
    pasts: Pasts
    drafts: Drafts
    lore: Lore
    greetings: Greetings
    scenes: Scenes
    aliases: Aliases
    memories: Memories
    pages: Pages
    keeping: Keeping
    relations: Relations
    usage: Usage
    explainer: Explainer
    replies: Replies
    options: Options
    privacy: Privacy
    retention: Retention
    trust: Trust
    overheard: Overheard
    unplayed: Unplayed
    health_report: Health
    places: Places
    live: LiveScenes
    journal: Journal
    conduct: Conduct
    delivery: Delivery
    notices: Notices
    indexer: Indexer
    summariser: Summariser
    words: StoryWords
    store: SceneStore
    messenger: Messenger
    jobs: Jobs
    notes: Service
    """Runs the summariser."""

    # ------------------------------------------------------------ hearing
    def hear(self, event: Event) -> None:
        """Take in what happened in a channel. Never blocks; guards first, then the journal."""
        if not isinstance(event, MessagePosted):
            if self.privacy.anyone_out:
                self.overheard.changed(event)
            if isinstance(event, MessageEdited) and self.privacy.is_out(event.author_id):
                event = replace(event, written=False)
            if (place := self.live.place(event.place_id)) is not None:
                self.trust.screening.hear(event, place, self.journal.submit)
            return
        proxied = self._is_proxy(event)
        if event.is_bot and not proxied:
            return
        if proxied and not self.options.proxies_seen(event.place.space_id):
            self.jobs.start(self.options.saw_proxy(event.place.space_id), name="remember proxies")
        live = self.live.get(event.place.id)
        if live is None or live.scene.paused:
            if not event.backfilled:
                self.unplayed.hear(event, paused=live is not None)
            return
        if event.text.strip():
            self.trust.screening.hear(event, event.place, self._take_in)

    def _take_in(self, event: Event) -> None:
        """What may be said: written down, or held in memory for one answer."""
        assert isinstance(event, MessagePosted)
        live = self.live.get(event.place.id)
        if live is None or live.scene.paused or not self.privacy.may_store(event):
            return
        if self.privacy.is_out(event.author_id):
            self.overheard.hear(event, live)
            return
        self.live.renamed(event.place)
        self.journal.submit(event, proxied=self._is_proxy(event))

    def _is_proxy(self, event: MessagePosted) -> bool:
        if event.webhook_id is None or event.application_id is None:
            return False
        apps = self.options.known(event.place.space_id, event.place.id)["proxy_apps"]
        return isinstance(apps, Collection) and event.application_id in apps

    def is_live(self, place_id: int) -> bool:
        """Whether the place has an active scene, paused or not."""
        return self.live.get(place_id) is not None

    # ------------------------------------------------------------ life
    async def prepare(self) -> None:
        """Load which places are live; before the first event."""
        await self.privacy.catch_up()
        await self.delivery.prepare()
        for place in await self.store.places():
            self.live.put(place, None, {})
        scenes, seen = await self.store.live(), await self.store.seen()
        await self.options.load_all({place.space_id for place, _ in scenes})
        for place, live in scenes:
            self.live.put(place, live.scene, dict(live.aliases))
            self.live.record_from(place.id, seen[place.id])
        self.live.not_read()
        self.jobs.start(self.journal.run(), name="journal")
        self.jobs.keep(self.indexer.run, name="indexer")
        self.notes.start()
        self.jobs.loop(self.indexer.rewrite_due, name="index rewrites")
        self.jobs.loop(self.retention.step, name="retention")
        self.indexer.wake()

    async def start(self) -> None:
        """Once messages can be sent: settle the outbox, read what was missed, answer what is owed."""
        again = await self.delivery.settle(self.live.place)
        await self.catch_up()
        for place_id in await self.conduct.owing():
            if (place := self.live.place(place_id)) is not None:
                self.places.wake(place, anew=place_id in again)

    def new_session(self) -> None:
        """What was said before this connection is not known until `catch_up`, this time or after a crash."""
        self.live.not_read()

    async def catch_up(self, since: datetime | None = None) -> None:
        """Read the history of live places; what is known already changes nothing.

        `since` is when the connection was last known to be good; None reads from what was seen at the start.
        """
        gate = asyncio.Semaphore(HISTORIES_AT_ONCE)

        async def one(place: Place) -> None:
            async with gate:
                await self._read_history(place, since)

        await asyncio.gather(*(one(place) for place in self.live.places()))
        await self.trust.screening.flushed()
        await self.journal.flushed()

    async def read_missed(self) -> None:
        """Read the places in which a message found no room in memory, from where they were seen."""
        for place in self.live.unread():
            await self._read_history(place, self.conduct.now())

    async def _read_history(self, place: Place, since: datetime | None) -> None:
        live, begun = self.live.get(place.id), self.live.reading(place.id)
        if live is None or live.scene.paused:
            self.live.read(place.id, begun)
            return
        after = self.live.recorded_from(place.id)
        if since is not None:
            seen = await self.store.seen_until(place.id)
            after = max(after, min(seen, snowflake(since)))
        try:
            async for event in self.messenger.history(place, after=after):
                await self.journal.room()
                self.hear(event)
            self.live.read(place.id, begun)
        except DeliveryError as problem:
            log.warning("The history of place %s cannot be read: %s", place.id, problem)

    async def close(self) -> None:
        """Commit what was heard, let running replies end for a while, then stop. Again: nothing."""
        await self.trust.screening.close(grace=1.0)
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self.journal.close()
        except TimeoutError:
            log.error(
                "The journal could not be written; what it held is read from the channels at the next start"
            )
        await self.unplayed.close()
        await self.places.close(grace=DRAIN_SECONDS - 2.0)
        await self.delivery.close(grace=1.0)
        await self.notices.close(grace=0.5)
        await self.jobs.close()
        await self.usage.close()
        await self.words.close()

    # ------------------------------------------------------------ asking
    async def mood(self, place: Place, persona_id: int | None = None) -> list[MoodView]:
        """The moods of the personas present, or of one of them."""

        async def read(state: PlaceState) -> list[MoodView]:
            if state.scene is None:
                raise UserFacing(NO_SCENE)
            return [self._mood_view(state, persona) for persona in state.cast]

        views = await self.places.do(place, read)
        found = [view for view in views if persona_id in (None, view.persona.id)]
        if persona_id is not None and not found:
            raise UserFacing("That persona is not in this scene. `/scene show` tells who is.")
        return [await self._with_relations(place, view) for view in found]

    async def _with_relations(self, place: Place, view: MoodView) -> MoodView:
        """Read beside the actor, which must not wait for it."""

        async def read(state: PlaceState) -> tuple[int, dict[int, str]]:
            members = {speaker.owner_id: speaker.name for speaker in state.speakers[-MOST_RELATIONS:]}
            return (state.scene.story_id if state.scene else 0), members

        story_id, members = await self.places.do(place, read)
        relations = await self.relations.of(story_id, view.persona.id, members)
        return replace(view, relations=relations)

    def _mood_view(self, state: PlaceState, persona: Persona) -> MoodView:
        now: datetime = self.conduct.now()
        mood = state.moods.get(persona.id) or moods.at_rest(persona.temperament, now)
        mood = moods.decay(mood, persona.temperament, now)
        return MoodView(persona, mood, moods.describe(mood), persona.temperament)

    async def health(self) -> list[HealthLine]:
        """How the parts are doing, for `/settings show`."""
        return await self.health_report.lines()
