"""A small stand-in for the engine, so that the cogs can be tried against the loopback Discord alone."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np

from bot.core.emotion import FLAT
from bot.core.events import Event
from bot.core.knowledge import Always
from bot.core.moderation import Checked
from bot.core.mood import at_rest, describe
from bot.core.names import fold
from bot.core.options import OPTIONS
from bot.core.privacy import Export, Owned
from bot.core.types import Alias, Line, Memory, MemoryKind, Persona, Place, Scene, Scratchpad, StyleSample
from bot.engine.notices import NO_SCENE
from bot.errors import UserFacing

NOW = datetime(2026, 8, 1, 12, 0, tzinfo=UTC)


class FakePersonas:
    """Personas in a dict."""

    def __init__(self) -> None:
        self.kept: dict[int, Persona] = {}
        self.sampled: set[int] = set()
        self.renewed: list[int] = []
        self.slow_s = 0.0
        self._ids = itertools.count(1)

    def too_large(self, persona: Persona) -> str:
        return ""

    def add(self, space_id: int, name: str, **card: str) -> Persona:
        persona = Persona(
            id=next(self._ids), space_id=space_id, name=name, card=card, temperament=np.asarray(FLAT)
        )
        self.kept[persona.id] = persona
        return persona

    async def create(
        self,
        space_id: int,
        *,
        name: str,
        greeting: str = "",
        examples: str = "",
        by: int,
        approved: bool = True,
        **card: str,
    ) -> Persona:
        if any(fold(known.name) == fold(name) for known in self.kept.values()):
            raise UserFacing(f"There is a persona called “{name}” already.")
        persona = self.add(space_id, name, first_mes=greeting, mes_example=examples, **card)
        self.kept[persona.id] = replace(persona, created_by=by)
        return persona

    async def edit(
        self, persona_id: int, *, name: str | None = None, avatar: bytes | None = None, **card: str
    ) -> Persona:
        old = self.kept[persona_id]
        self.kept[persona_id] = replace(
            old, name=name or old.name, avatar=avatar or old.avatar, card={**old.card, **card}
        )
        return self.kept[persona_id]

    async def delete(self, persona_id: int) -> Persona:
        return self.kept.pop(persona_id)

    async def all(self, space_id: int) -> list[Persona]:
        await asyncio.sleep(self.slow_s)
        return [persona for persona in self.kept.values() if persona.space_id == space_id]

    async def find(self, space_id: int, name: str) -> Persona:
        for persona in self.kept.values():
            if persona.space_id == space_id and fold(persona.name) == fold(name):
                return persona
        raise UserFacing(f"There is no persona called “{name}”.")

    async def samples(self, persona_id: int) -> list[StyleSample]:
        return [StyleSample(1, persona_id, "Hm.")] if persona_id in self.sampled else []

    async def renew_samples(self, persona_id: int) -> None:
        self.renewed.append(persona_id)


class FakeScenes:
    """Scenes in a list; the newest of a place is active."""

    def __init__(self, personas: FakePersonas) -> None:
        self.kept: list[Scene] = []
        self.after: list[int] = []
        self.aliases: list[Alias] = []
        self._personas = personas

    async def start(
        self,
        place: Place,
        *,
        name: str,
        persona_id: int | None,
        location: str,
        situation: str,
        story: str | None,
        after: int,
    ) -> SimpleNamespace:
        if name == "refused":
            raise UserFacing("No such scene may begin.")
        self.kept = [replace(scene, active=False) for scene in self.kept]
        scene = Scene(
            id=len(self.kept) + 1,
            space_id=place.space_id,
            place_id=place.id,
            story_id=1,
            name=name,
            location=location,
            situation=situation,
            cast=(persona_id,) if persona_id else (),
        )
        self.kept.append(scene)
        self.after.append(after)
        persona = self._personas.kept.get(persona_id or 0)
        return SimpleNamespace(scene=scene, persona=persona, hint=None if persona else "Nobody is here yet.")

    async def switch(self, place: Place, scene_id: int) -> Scene:
        self.kept = [replace(scene, active=scene.id == scene_id) for scene in self.kept]
        return self._active(place.id)

    async def set(self, place: Place, **changes: str | None) -> Scene:
        story_time = changes.pop("time", None)
        given = {key: value for key, value in changes.items() if value is not None}
        return self._change(place, story_time=story_time or "", **given)

    async def pause(self, place: Place) -> Scene:
        return self._change(place, paused=True)

    async def resume(self, place: Place, *, after: int) -> Scene:
        self.after.append(after)
        return self._change(place, paused=False)

    async def end(self, place: Place) -> Scene:
        return self._change(place, active=False)

    async def list(self, place_id: int) -> list[Scene]:
        return [scene for scene in reversed(self.kept) if scene.place_id == place_id]

    async def current(self, place_id: int) -> SimpleNamespace | None:
        active = [scene for scene in self.kept if scene.place_id == place_id and scene.active]
        if not active:
            return None
        cast = tuple(self._personas.kept[persona_id] for persona_id in active[0].cast)
        return SimpleNamespace(
            scene=active[0], cast=cast, aliases=tuple(self.aliases), uncovered=3, scratchpad=Scratchpad(1)
        )

    async def cast_add(self, place: Place, persona_id: int) -> Scene:
        return self._change(place, cast=(*self._active(place.id).cast, persona_id))

    async def cast_remove(self, place: Place, persona_id: int) -> Scene:
        cast = tuple(one for one in self._active(place.id).cast if one != persona_id)
        return self._change(place, cast=cast)

    def _active(self, place_id: int) -> Scene:
        for scene in self.kept:
            if scene.place_id == place_id and scene.active:
                return scene
        raise UserFacing(NO_SCENE)

    def _change(self, place: Place, **changes: Any) -> Scene:
        old = self._active(place.id)
        changed = replace(old, **changes)
        self.kept[self.kept.index(old)] = changed
        return changed


class FakeAliases:
    """Aliases; refuses present names as the engine does."""

    def __init__(self, scenes: FakeScenes) -> None:
        self._scenes = scenes

    async def use(
        self,
        place: Place,
        owner_id: int,
        name: str,
        *,
        avatar_url: str | None = None,
        present_names: Collection[str] = (),
    ) -> Alias:
        if fold(name) in {fold(other) for other in present_names}:
            raise UserFacing(f"Somebody here is already called “{name}”.")
        alias = Alias(1, owner_id, name, avatar_url)
        self._scenes.aliases.append(alias)
        return alias

    async def clear(self, place: Place, owner_id: int) -> bool:
        had = any(alias.owner_id == owner_id for alias in self._scenes.aliases)
        self._scenes.aliases = [alias for alias in self._scenes.aliases if alias.owner_id != owner_id]
        return had

    async def list(self, place_id: int) -> list[Alias]:
        return self._scenes.aliases


class FakeMemories:
    """Memories by id; a search finds those that contain the query."""

    def __init__(self) -> None:
        self.kept: dict[int, Memory] = {}
        self.lines: tuple[Line, ...] = ()
        self.forgotten: list[tuple[int, int, bool]] = []
        self.gate: asyncio.Event | None = None
        self.failure: Exception | None = None

    def add(self, text: str, *, speaker: str = "Alice", owner_id: int = 0) -> Memory:
        memory = Memory(
            kind=MemoryKind.TURN,
            space_id=1,
            place_id=1,
            story_id=1,
            scene_id=1,
            text=text,
            created_at=NOW,
            witnesses=(),
            owner_ids=(owner_id,),
            speaker=speaker,
            id=len(self.kept) + 1,
        )
        self.kept[memory.id] = memory
        return memory

    async def search(self, place: Place, query: str, *, limit: int = 10) -> list[SimpleNamespace]:
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        found = [memory for memory in self.kept.values() if fold(query) in fold(memory.text)]
        return [
            SimpleNamespace(memory=memory, score=1.0, when="today", earlier="") for memory in found[:limit]
        ]

    async def scratchpad(self, place_id: int) -> Scratchpad:
        return Scratchpad(1, lines=self.lines)

    async def forget(self, place: Place, memory_id: int, *, by: int, moderator: bool) -> Memory:
        memory = self.kept.get(memory_id)
        if memory is None:
            raise UserFacing("There is no such memory here.")
        if not moderator and memory.owner_ids != (by,):
            raise UserFacing("You can forget what you said yourself; a moderator can forget the rest.")
        self.forgotten.append((memory_id, by, moderator))
        return self.kept.pop(memory_id)


class FakeKeeping:
    """Nothing is pinned."""

    async def always(self, place: Place) -> Always:
        return Always()

    async def history(self, place: Place) -> list[Scratchpad]:
        return []


class FakeOptions:
    """Options as the engine resolves them."""

    def __init__(self) -> None:
        self.texts: dict[tuple[int, str], str] = {}

    async def effective(self, space_id: int, place_id: int | None = None) -> Mapping[str, SimpleNamespace]:
        found: dict[str, SimpleNamespace] = {}
        for key, option in OPTIONS.items():
            found[key] = SimpleNamespace(value=option.default, text="", source="default")
            for where, source in ((0, "guild"), (place_id or 0, "place")):
                if (where, key) in self.texts and (where or source == "guild"):
                    text = self.texts[(where, key)]
                    found[key] = SimpleNamespace(value=option.parse(text), text=text, source=source)
        return found

    async def set(self, space_id: int, place_id: int, key: str, text: str) -> object:
        if key not in OPTIONS:
            raise UserFacing(f"There is no setting `{key}`.")
        value = OPTIONS[key].parse(text)
        self.texts[(place_id, key)] = text
        return value


class FakeTrust:
    """What moderators did."""

    def __init__(self) -> None:
        self.done: list[tuple[int, str, str]] = []
        self.audit = self
        self.approval = self
        self.sharing = self
        self.guard = self

    def checked(self, place: Place) -> Checked:
        return Checked.OFF

    async def around(self, place: Place) -> list[object]:
        return []

    def check_age(self, place: Place, persona: Persona) -> None:
        pass

    async def note(self, place: Place, actor_id: int, action: str, detail: str = "") -> None:
        self.done.append((actor_id, action, detail))


class FakePrivacy:
    """Who opted out, what is owned, who was forgotten."""

    def __init__(self) -> None:
        self.kept = Owned()
        self.out: set[int] = set()
        self.forgotten: list[tuple[int, int]] = []
        self.exported: Export = {}
        self.gate: asyncio.Event | None = None
        self.told: list[Callable[[int], None]] = []

    def on_forgotten(self, tell: Callable[[int], None]) -> None:
        self.told.append(tell)

    def is_out(self, member_id: int) -> bool:
        return member_id in self.out

    async def owned(self, member_id: int) -> Owned:
        return self.kept

    async def export(self, member_id: int) -> Export:
        return self.exported

    async def opt_out(self, member_id: int) -> bool:
        new = member_id not in self.out
        self.out.add(member_id)
        return new

    async def opt_in(self, member_id: int) -> bool:
        new = member_id in self.out
        self.out.discard(member_id)
        return new

    async def forget(self, member_id: int, *, direct_id: int = 0) -> Owned:
        if self.gate is not None:
            await self.gate.wait()
        self.forgotten.append((member_id, direct_id))
        for tell in self.told:
            tell(member_id)
        kept, self.kept = self.kept, Owned()
        return kept


class FakeRetention:
    """What Discord told of servers and channels that come and go."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []
        self.present: list[int] = []

    async def left(self, guild_id: int) -> None:
        self.told.append(("left", guild_id))

    async def joined(self, guild_id: int) -> None:
        self.told.append(("joined", guild_id))

    async def channel_gone(self, channel_id: int) -> None:
        self.told.append(("channel", channel_id))

    async def present_in(self, guild_ids: Collection[int]) -> None:
        self.present = list(guild_ids)


@dataclass
class FakeTroupe:
    """Records what the cogs ask of the engine."""

    heard: list[Event] = field(default_factory=list)
    live: set[int] = field(default_factory=set)
    starts: int = 0
    sessions: int = 0
    catch_ups: list[datetime | None] = field(default_factory=list)
    hear_failure: Exception | None = None

    def __post_init__(self) -> None:
        self.personas = FakePersonas()
        self.scenes = FakeScenes(self.personas)
        self.aliases = FakeAliases(self.scenes)
        self.memories = FakeMemories()
        self.keeping = FakeKeeping()
        self.options = FakeOptions()
        self.privacy = FakePrivacy()
        self.trust = FakeTrust()
        self.retention = FakeRetention()

    def hear(self, event: Event) -> None:
        if self.hear_failure is not None:
            raise self.hear_failure
        self.heard.append(event)

    def is_live(self, place_id: int) -> bool:
        return place_id in self.live

    async def start(self) -> None:
        self.starts += 1

    def new_session(self) -> None:
        self.sessions += 1

    async def catch_up(self, since: datetime | None = None) -> None:
        self.catch_ups.append(since)

    async def mood(self, place: Place, persona_id: int | None = None) -> list[SimpleNamespace]:
        views = []
        for persona in self.personas.kept.values():
            if persona_id in (None, persona.id):
                mood = at_rest(persona.temperament, NOW)
                views.append(
                    SimpleNamespace(
                        persona=persona,
                        mood=mood,
                        words=describe(mood),
                        relations={},
                        temperament=persona.temperament,
                    )
                )
        return views

    async def health(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name="Language model", ok=True, text="answers")]
