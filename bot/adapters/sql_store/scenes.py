"""The store of places, stories, scenes, casts, aliases, scratchpads and moods."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.engine import Connection

from bot.adapters.sql_store import scene_rows, scratchpads
from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.place_record import read_place, select_owing
from bot.adapters.sql_store.tables import aliases, cast_members, moods, places, scenes, stories
from bot.core.stores import PlaceRecord
from bot.core.types import Alias, Line, LiveScene, MemoryDraft, Place, Scene, Scratchpad, Story, Trigger

_CHANGEABLE = frozenset({"name", "location", "situation", "story_time", "active", "paused"})


class SqlScenes:
    """Fulfils `bot.core.stores.SceneStore`. A scene id that is unknown raises StorageError."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def live(self) -> list[tuple[Place, LiveScene]]:
        """See the port."""
        return await self._database.read(scene_rows.select_live, snapshot=True)

    async def record(self, place_id: int, *, turns: int, since: datetime) -> PlaceRecord | None:
        """See the port."""
        return await self._database.read(
            lambda connection: read_place(connection, place_id, most=turns, since=since), snapshot=True
        )

    async def owing(self, since: datetime) -> list[int]:
        """See the port."""
        return await self._database.read(lambda connection: select_owing(connection, since))

    async def place(self, place_id: int) -> Place | None:
        """See the port."""
        return next(iter(await self._places(places.c.id == place_id)), None)

    async def places(self) -> list[Place]:
        """See the port."""
        return await self._places(sa.true())

    async def _places(self, condition: sa.ColumnElement[bool]) -> list[Place]:
        def work(connection: Connection) -> list[Place]:
            rows = connection.execute(sa.select(places).where(condition).order_by(places.c.id))
            return [Place(row.id, row.guild_id, row.name, row.parent_id) for row in rows]

        return await self._database.read(work)

    async def seen(self) -> dict[int, int]:
        """See the port."""

        def work(connection: Connection) -> dict[int, int]:
            rows = connection.execute(sa.select(places.c.id, places.c.seen_until))
            return {row.id: row.seen_until for row in rows}

        return await self._database.read(work)

    async def seen_until(self, place_id: int) -> int:
        """The newest message id that the journal has read here; 0 for a place never met."""

        def work(connection: Connection) -> int:
            found = connection.execute(sa.select(places.c.seen_until).where(places.c.id == place_id))
            return int(found.scalar() or 0)

        return await self._database.read(work)

    async def start(
        self, place: Place, *, name: str, location: str, situation: str, story: str | None, after: int
    ) -> Scene:
        """See the port. A place's first story has the name of its first scene when none is given."""
        now = self._database.now()

        def work(connection: Connection) -> Scene:
            scene_rows.write_place(connection, place)
            scene_rows.read_from(connection, place.id, after)
            insert = sa.insert(scenes).values(
                space_id=place.space_id,
                place_id=place.id,
                story_id=scene_rows.story_for(connection, place.id, story, name),
                name=name,
                location=location,
                situation=situation,
                started_at=now,
            )
            scene_id = int(connection.execute(insert.returning(scenes.c.id)).scalar_one())
            scene_rows.make_active(connection, scene_rows.scene_by_id(connection, scene_id))
            return scene_rows.scene_by_id(connection, scene_id)

        return await self._database.write(work)

    async def activate(self, scene_id: int, *, after: int) -> Scene:
        """The scene becomes its place's active one, paused if it was; messages up to `after` are not its."""

        def work(connection: Connection) -> Scene:
            scene = scene_rows.scene_by_id(connection, scene_id)
            scene_rows.make_active(connection, scene)
            scene_rows.read_from(connection, scene.place_id, after)
            return scene_rows.scene_by_id(connection, scene_id)

        return await self._database.write(work)

    async def update(self, scene_id: int, **changes: object) -> Scene:
        """See the port; `active` true makes the place's other scene wait. ValueError for other fields."""
        if unknown := changes.keys() - _CHANGEABLE:
            raise ValueError(f"a scene has no field to change named {', '.join(sorted(unknown))}")

        def work(connection: Connection) -> Scene:
            scene = scene_rows.scene_by_id(connection, scene_id)
            if changes.get("active"):
                scene_rows.make_active(connection, scene)
            if changes:
                connection.execute(sa.update(scenes).where(scenes.c.id == scene_id).values(**changes))
            return scene_rows.scene_by_id(connection, scene_id)

        return await self._database.write(work)

    async def get(self, scene_id: int) -> Scene | None:
        """The scene, or None."""
        found = await self._select(scenes.c.id == scene_id)
        return found[0] if found else None

    async def of_place(self, place_id: int) -> list[Scene]:
        """Newest first."""
        return await self._select(scenes.c.place_id == place_id)

    async def active(self, place_id: int) -> Scene | None:
        """The one scene that is played there, paused or not."""
        found = await self._select(sa.and_(scenes.c.place_id == place_id, scenes.c.active))
        return found[0] if found else None

    async def stories(self, place_id: int) -> list[Story]:
        """Newest first."""
        which = sa.select(stories).where(stories.c.place_id == place_id).order_by(stories.c.id.desc())

        def work(connection: Connection) -> list[Story]:
            return [Story(row.id, row.place_id, row.name) for row in connection.execute(which)]

        return await self._database.read(work)

    async def join(self, scene_id: int, persona_id: int) -> Scene:
        """The persona comes last in the cast; one already there keeps its place."""

        def work(connection: Connection) -> Scene:
            scene_rows.join_cast(connection, scene_id, [persona_id])
            return scene_rows.scene_by_id(connection, scene_id)

        return await self._database.write(work)

    async def leave(self, scene_id: int, persona_id: int) -> Scene:
        """The persona is out of the cast, if it was in."""
        which = sa.and_(cast_members.c.scene_id == scene_id, cast_members.c.persona_id == persona_id)

        def work(connection: Connection) -> Scene:
            connection.execute(sa.delete(cast_members).where(which))
            return scene_rows.scene_by_id(connection, scene_id)

        return await self._database.write(work)

    async def aliases(self, scene_id: int) -> list[Alias]:
        """Of this scene, by name."""
        return await self._database.read(lambda connection: scene_rows.aliases_of(connection, scene_id))

    async def set_alias(self, alias: Alias) -> None:
        """Replaces the alias that the member had in this scene."""
        insert = upsert(aliases).values(
            scene_id=alias.scene_id, owner_id=alias.owner_id, name=alias.name, avatar_url=alias.avatar_url
        )
        replace = insert.on_conflict_do_update(
            index_elements=["scene_id", "owner_id"],
            set_={"name": alias.name, "avatar_url": alias.avatar_url},
        )
        await self._write(replace)

    async def clear_alias(self, scene_id: int, owner_id: int) -> bool:
        """Whether there was one."""
        which = sa.and_(aliases.c.scene_id == scene_id, aliases.c.owner_id == owner_id)
        return await self._write(sa.delete(aliases).where(which)) > 0

    async def scratchpad(self, scene_id: int) -> Scratchpad:
        """The newest revision. Read it before the turns that its successor shall cover: `rewrite` refuses
        turns changed after this moment (`Scratchpad.as_of`)."""
        return await self._database.read(
            lambda connection: scratchpads.newest_scratchpad(connection, scene_id), snapshot=True
        )

    async def revisions(self, scene_id: int, limit: int) -> list[Scratchpad]:
        """Newest first."""
        return await self._database.read(
            lambda connection: scratchpads.select_revisions(connection, scene_id, limit), snapshot=True
        )

    async def rewrite(
        self,
        before: Scratchpad,
        lines: Sequence[Line],
        covers: Collection[int],
        memories: Sequence[MemoryDraft],
        triggers: Sequence[Trigger] = (),
    ) -> Scratchpad | None:
        """See the port. ValueError for a line without sources."""
        now = self._database.now()
        return await self._database.write(
            lambda connection: scratchpads.rewrite(
                connection, before, scratchpads.Rewrite(lines, covers, memories, triggers), now
            )
        )

    async def set_mood(self, scene_id: int, persona_id: int, mood: str) -> None:
        """See the port."""
        insert = upsert(moods).values(scene_id=scene_id, persona_id=persona_id, mood=mood)
        await self._write(
            insert.on_conflict_do_update(index_elements=["scene_id", "persona_id"], set_={"mood": mood})
        )

    async def _select(self, which: scene_rows.Condition) -> list[Scene]:
        return await self._database.read(
            lambda connection: scene_rows.select_scenes(connection, which), snapshot=True
        )

    async def _write(self, statement: sa.Executable) -> int:
        def work(connection: Connection) -> int:
            return connection.execute(statement).rowcount

        return await self._database.write(work)
