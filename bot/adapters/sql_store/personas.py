"""The store of personas and of the replies that keep their voice."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row
from sqlalchemy.exc import IntegrityError

from bot.adapters.sql_store.database import Database
from bot.adapters.sql_store.pasts import drop_past
from bot.adapters.sql_store.tables import (
    memories,
    persona_archives,
    persona_revisions,
    personas,
    style_samples,
    turns,
)
from bot.adapters.sql_store.turn_rows import LIVING
from bot.core.names import fold
from bot.core.stores import PersonaRevision
from bot.core.types import Persona, StyleSample
from bot.errors import NameTaken, StorageError


class SqlPersonas:
    """Fulfils `bot.core.stores.PersonaStore`."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def create(self, persona: Persona) -> Persona:
        """See the port. The revision starts at 1."""

        def work(connection: Connection) -> Persona:
            insert = sa.insert(personas).values(**_row(persona), revision=1).returning(personas.c.id)
            try:
                persona_id = int(connection.execute(insert).scalar_one())
            except IntegrityError as error:
                raise _name_taken(persona) from error
            return _existing(connection, persona_id)

        return await self._database.write(work)

    async def update(self, persona: Persona) -> Persona:
        """See the port. StorageError when there is no such persona, NameTaken as for `create`. Only `approve`
        approves."""
        now = self._database.now()
        return await self._database.write(lambda connection: _update(connection, persona, now))

    async def delete(self, persona_id: int) -> None:
        """The persona, its past, history, samples and moods; it leaves every cast. What it said stays."""
        now = self._database.now()

        def work(connection: Connection) -> None:
            drop_past(connection, persona_id, now)
            connection.execute(sa.delete(personas).where(personas.c.id == persona_id))

        await self._database.write(work)

    async def get(self, persona_id: int) -> Persona | None:
        """The persona, or None."""
        found = await self._select(personas.c.id == persona_id)
        return found[0] if found else None

    async def named(self, space_id: int, name: str) -> Persona | None:
        """The one that has this name now, differences of case and width aside."""
        found = await self._select(sa.and_(_known_in(space_id), personas.c.folded_name == fold(name)))
        return found[0] if found else None

    async def of_space(self, space_id: int) -> list[Persona]:
        """See the port. By name."""
        return await self._select(_known_in(space_id))

    async def waiting(self, space_id: int) -> list[Persona]:
        """See the port."""
        return await self._select(sa.and_(personas.c.space_id == space_id, ~personas.c.approved))

    async def approve(self, persona_id: int) -> Persona:
        """See the port."""

        def work(connection: Connection) -> Persona:
            change = sa.update(personas).where(personas.c.id == persona_id).values(approved=True)
            connection.execute(change)
            return _existing(connection, persona_id)

        return await self._database.write(work)

    async def revisions(self, persona_id: int, limit: int = 100) -> list[PersonaRevision]:
        """See the port."""
        return await self._former(persona_revisions.c.persona_id == persona_id, limit)

    async def revision(self, persona_id: int, number: int) -> PersonaRevision | None:
        """See the port."""
        which = sa.and_(persona_revisions.c.persona_id == persona_id, persona_revisions.c.revision == number)
        return next(iter(await self._former(which, 1)), None)

    async def picture_at(self, persona_id: int, number: int) -> bytes | None:
        """See the port. A picture is kept once, with the last revision that had it."""
        since = sa.and_(
            persona_revisions.c.persona_id == persona_id,
            persona_revisions.c.revision >= number,
            persona_revisions.c.picture_replaced,
        )
        former = sa.select(persona_revisions.c.avatar).where(since).order_by(persona_revisions.c.revision)
        present = sa.select(personas.c.avatar).where(personas.c.id == persona_id)

        def work(connection: Connection) -> bytes | None:
            kept = connection.execute(former.limit(1)).first()
            picture: bytes | None = kept[0] if kept else connection.execute(present).scalar()
            return picture

        return await self._database.read(work)

    async def keep_archive(self, persona_id: int, archive: bytes | None) -> None:
        """See the port."""

        def work(connection: Connection) -> None:
            which = persona_archives.c.persona_id == persona_id
            connection.execute(sa.delete(persona_archives).where(which))
            if archive is not None:
                new = sa.insert(persona_archives).values(persona_id=persona_id, archive=archive)
                connection.execute(new)

        await self._database.write(work)

    async def archive(self, persona_id: int) -> bytes | None:
        """See the port."""
        which = sa.select(persona_archives.c.archive).where(persona_archives.c.persona_id == persona_id)

        def work(connection: Connection) -> bytes | None:
            return connection.execute(which).scalar()

        return await self._database.read(work)

    async def samples(self, persona_id: int) -> list[StyleSample]:
        """Oldest first."""
        which = (
            sa.select(style_samples, turns.c.place_id, memories.c.emotion)
            .join_from(style_samples, turns, style_samples.c.turn_id == turns.c.id, isouter=True)
            .outerjoin(memories, memories.c.turn_id == turns.c.id)
            .where(style_samples.c.persona_id == persona_id)
        )

        def work(connection: Connection) -> list[StyleSample]:
            found = connection.execute(which.order_by(style_samples.c.id))
            return [StyleSample(**row._mapping) for row in found]

        return await self._database.read(work)

    async def add_sample(self, persona_id: int, text: str, turn_id: int | None) -> None:
        """A sample of a turn goes when the turn is edited or deleted; one that is gone leaves none."""
        living = sa.select(turns.c.id).where(turns.c.id == turn_id, LIVING)

        def work(connection: Connection) -> None:
            if turn_id is None or connection.execute(living).first() is not None:
                values = {"persona_id": persona_id, "text": text, "turn_id": turn_id}
                connection.execute(sa.insert(style_samples).values(values))

        await self._database.write(work)

    async def pin_sample(self, sample_id: int, pinned: bool) -> None:
        """Nothing happens when it is gone."""
        which = style_samples.c.id == sample_id
        await self._execute(sa.update(style_samples).where(which).values(pinned=pinned))

    async def drop_sample(self, sample_id: int) -> None:
        """One of them, pinned or not."""
        await self._execute(sa.delete(style_samples).where(style_samples.c.id == sample_id))

    async def drop_samples(self, persona_id: int, place_id: int | None = None) -> None:
        """See the port."""
        which = sa.and_(style_samples.c.persona_id == persona_id, ~style_samples.c.pinned)
        if place_id is not None:
            said_there = sa.select(turns.c.id).where(turns.c.place_id == place_id)
            which = sa.and_(which, style_samples.c.turn_id.in_(said_there))
        await self._execute(sa.delete(style_samples).where(which))

    async def _former(self, which: sa.ColumnElement[bool], limit: int) -> list[PersonaRevision]:
        shown = [column for column in persona_revisions.c if column.name != "avatar"]
        newest = sa.select(*shown).where(which).order_by(persona_revisions.c.revision.desc())

        def work(connection: Connection) -> list[PersonaRevision]:
            return [PersonaRevision(**row._mapping) for row in connection.execute(newest.limit(limit))]

        return await self._database.read(work)

    async def _select(self, which: sa.ColumnElement[bool]) -> list[Persona]:
        def work(connection: Connection) -> list[Persona]:
            found = connection.execute(sa.select(personas).where(which).order_by(personas.c.folded_name))
            return [persona_of(row) for row in found]

        return await self._database.read(work)

    async def _execute(self, statement: sa.Executable) -> None:
        def work(connection: Connection) -> None:
            connection.execute(statement)

        await self._database.write(work)


def _update(connection: Connection, persona: Persona, now: datetime) -> Persona:
    former = _existing(connection, persona.id)
    replaced = former.avatar != persona.avatar
    connection.execute(
        sa.insert(persona_revisions).values(
            persona_id=former.id,
            revision=former.revision,
            name=former.name,
            card=dict(former.card),
            replaced_at=now,
            picture_replaced=replaced,
            avatar=former.avatar if replaced else None,
        )
    )
    values = {**_row(persona), "revision": former.revision + 1, "approved": former.approved}
    try:
        connection.execute(sa.update(personas).where(personas.c.id == persona.id).values(**values))
    except IntegrityError as error:
        raise _name_taken(persona) from error
    return _existing(connection, persona.id)


def _existing(connection: Connection, persona_id: int) -> Persona:
    row = connection.execute(sa.select(personas).where(personas.c.id == persona_id)).first()
    if row is None:
        raise StorageError(f"Persona {persona_id} is not in the database.")
    return persona_of(row)


def _known_in(space_id: int) -> sa.ColumnElement[bool]:
    return sa.and_(personas.c.space_id == space_id, personas.c.approved)


def _name_taken(persona: Persona) -> NameTaken:
    return NameTaken(f"There is already a persona called {persona.name} here. Choose another name.")


def _row(persona: Persona) -> dict[str, Any]:
    return {
        "space_id": persona.space_id,
        "name": persona.name,
        "folded_name": fold(persona.name),
        "created_by": persona.created_by,
        "temperament": persona.temperament,
        "former_names": list(persona.former_names),
        "avatar_url": persona.avatar_url,
        "card": dict(persona.card),
        "avatar": persona.avatar,
        "age_restricted": persona.age_restricted,
        "approved": persona.approved,
    }


def persona_of(row: Row[Any]) -> Persona:
    """A row of the table as a persona."""
    return Persona(
        id=row.id,
        space_id=row.space_id,
        name=row.name,
        card=row.card,
        temperament=row.temperament,
        former_names=tuple(row.former_names),
        avatar=row.avatar,
        avatar_url=row.avatar_url,
        revision=row.revision,
        created_by=row.created_by,
        age_restricted=row.age_restricted,
        approved=row.approved,
    )
