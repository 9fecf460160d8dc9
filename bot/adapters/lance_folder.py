"""The folder of the search index: its connection, which tables it holds, and which of them are open."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import shutil
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.adapters.index_errors import ADVICE, our_errors
from bot.adapters.index_manifest import (
    Manifest,
    encoder_tag,
    read_manifest,
    table_name,
    table_parts,
    write_manifest,
)
from bot.adapters.native_memory import limit_arenas
from bot.adapters.table_gate import TableGate
from bot.errors import SearchIndexError

if TYPE_CHECKING:
    from bot.adapters.lance_table import LanceTable

log = logging.getLogger(__name__)

OPEN_TABLES = 32
READ_AHEAD = 16 << 20
"""Bytes that a scan may hold before they are compared; the library's own bound is 2 GB."""
_SECONDS = 120
_PAGE = 1000


class LanceFolder:
    """Owns the connection. Tables are handed out by name; who may use them when is the gate's affair."""

    def __init__(self, *, path: Path, encoder_id: str, dimensions: int, lance: Any) -> None:
        """Use `LanceFolder.open`."""
        self.encoder_id = encoder_id
        self.dimensions = dimensions
        self._own_dimensions = dimensions
        """What the encoder told; 0 where it cannot tell before its first vector."""
        self._unproven = False
        """Whether the dimensions are only what an earlier run wrote."""
        self.damage = ""
        """Why the index cannot be used; empty when all is well."""
        self._path = path
        self._lance = lance
        self._connection: Any = None
        self._session: Any = None
        self._manifest = Manifest()
        self._handles: OrderedDict[str, LanceTable] = OrderedDict()
        self._gates: defaultdict[str, TableGate] = defaultdict(TableGate)
        self._changing = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path, *, encoder_id: str, dimensions: int) -> AsyncIterator[LanceFolder]:
        """Makes the folder where it is missing. Raises `SearchIndexError` where that cannot be done."""
        limit_arenas()
        os.environ.setdefault("LANCE_DEFAULT_IO_BUFFER_SIZE", str(READ_AHEAD))
        lance = await asyncio.to_thread(importlib.import_module, "bot.adapters.lance_table")
        folder = cls(path=path, encoder_id=encoder_id, dimensions=dimensions, lance=lance)
        await folder._connect()
        try:
            yield folder
        finally:
            folder._disconnect()

    async def _connect(self) -> None:
        async with our_errors(_SECONDS):
            await asyncio.to_thread(self._path.mkdir, parents=True, exist_ok=True)
            self._connection, self._session = await self._lance.connect(str(self._path))
            present = frozenset(await self._present())
            try:
                self._manifest = await self._adopt(present)
            except ValueError as error:
                self.damage = str(error)
        if self.is_new and (former := dict(self._manifest.encoders.values())):
            wrote = ", ".join(f"{name} ({length} numbers a text)" for name, length in former.items())
            log.info("The search index is by %s, now it is %s (%s)", wrote, self.encoder_id, self.dimensions)

    def _disconnect(self) -> None:
        self._handles.clear()
        self._connection.close()

    async def _present(self) -> list[str]:
        """The tables on disk that are ours."""
        names: list[str] = []
        token: str | None = None
        while True:
            page = await self._connection.list_tables(page_token=token, limit=_PAGE)
            names += [name for name in page.tables if table_parts(name)]
            token = page.page_token
            if not token:
                return names

    async def _adopt(self, present: frozenset[str]) -> Manifest:
        """The manifest with all tables on disk. Raises ValueError when one that it names is missing."""
        known = await asyncio.to_thread(read_manifest, self._path) or Manifest()
        if lost := known.tables - present:
            raise ValueError(f"{len(lost)} tables of the search index are missing")
        tag = encoder_tag(self.encoder_id)
        _, before = known.encoders.get(tag, ("", 0))
        if before and self.dimensions and before != self.dimensions:
            raise ValueError(_other_length(before, self.dimensions))
        self._unproven = before > 0 and not self.dimensions
        self.dimensions = self.dimensions or before
        return replace(known, tables=present)

    async def _save(self, manifest: Manifest) -> None:
        await asyncio.to_thread(write_manifest, self._path, manifest)
        self._manifest = manifest

    # ------------------------------------------------------------ names
    @property
    def is_new(self) -> bool:
        """Nothing was ever written with this encoder, or all of it was dropped."""
        return encoder_tag(self.encoder_id) not in self._manifest.encoders

    def name_of(self, space_id: int) -> str:
        """The name of this encoder's table of the space, whether there is one or not."""
        return table_name(space_id, self.encoder_id)

    def exists(self, name: str) -> bool:
        """Whether there is such a table, of whatever encoder."""
        return name in self._manifest.tables

    def own_tables(self) -> list[str]:
        """Of this encoder."""
        tag = encoder_tag(self.encoder_id)
        return [name for name in sorted(self._manifest.tables) if table_parts(name) == (_space(name), tag)]

    def tables_of(self, space_id: int) -> list[str]:
        """Of every encoder."""
        return [name for name in sorted(self._manifest.tables) if _space(name) == space_id]

    def stale_tables(self) -> list[str]:
        """Of other encoders."""
        return sorted(self._manifest.tables - set(self.own_tables()))

    # ------------------------------------------------------------ tables
    def gate(self, name: str) -> TableGate:
        """Who may use the table when; also of one that is not there yet."""
        return self._gates[name]

    def gates(self) -> list[TableGate]:
        """Of every table that was used."""
        return list(self._gates.values())

    def refuse_damaged(self) -> None:
        """Raises `SearchIndexError`, saying what to do, when the index cannot be used."""
        if self.damage:
            raise SearchIndexError(f"The search index cannot be used: {self.damage}. {ADVICE}")

    def expect(self, size: int) -> None:
        """Vectors of this length come now. Where an earlier run wrote others under the same name, another
        model has taken it: the index is damaged. Raises `SearchIndexError` then, or when it was before."""
        if self._unproven and size != self.dimensions:
            self.damage = _other_length(self.dimensions, size)
        self._unproven = False
        self.refuse_damaged()

    async def table(self, name: str) -> LanceTable:
        """The table, opened unless it was among the last 32 used."""
        table = self._handles.get(name)
        if table is None:
            connection = self._connection
            opened: LanceTable = await self._lance.LanceTable.open(connection, name)
            if connection is not self._connection:
                return opened  # all was thrown away meanwhile: nobody else must be given it
            table = self._handles.get(name) or opened  # what another opened meanwhile may have written
        self.keep(name, table)
        return table

    def keep(self, name: str, table: LanceTable) -> None:
        """Hand out this one from now on: a handle shows the table as it was opened, or as it wrote it."""
        self._handles[name] = table
        self._handles.move_to_end(name)
        if len(self._handles) > OPEN_TABLES:
            self._handles.popitem(last=False)

    async def ensure(self, space_id: int, dimensions: int) -> str:
        """Makes the space's table where it is missing; its name."""
        name = self.name_of(space_id)
        async with self._changing:
            if not self.exists(name):
                self.dimensions = self.dimensions or dimensions
                await self._lance.LanceTable.create(self._connection, name, self.dimensions)
                await self._save(self._manifest.with_table(name, self.encoder_id, self.dimensions))
        return name

    async def drop(self, name: str) -> None:
        """Deletes the table and its files."""
        self._handles.pop(name, None)
        async with self._changing:
            await self._connection.drop_table(name, ignore_missing=True)
            await self._save(self._manifest.without_table(name))

    async def reset(self) -> None:
        """Throws everything away and starts empty, while nobody writes; searches under way fail."""
        self._disconnect()
        await asyncio.to_thread(shutil.rmtree, self._path, ignore_errors=True)
        self._manifest = Manifest()
        self.dimensions = self._own_dimensions
        self.damage = ""
        await self._connect()


def _other_length(before: int, now: int) -> str:
    return f"this encoder wrote {before} dimensions before, and {now} now"


def _space(name: str) -> int:
    parts = table_parts(name)
    return parts[0] if parts else -1
