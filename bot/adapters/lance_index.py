"""The search index in LanceDB: exact search by meaning or feeling inside a scope, and its upkeep."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bot.adapters.index_errors import Answer, again_after, our_errors
from bot.adapters.index_query import checked
from bot.adapters.lance_folder import LanceFolder
from bot.adapters.native_memory import return_free_memory
from bot.core.emotion_names import EMOTIONS
from bot.core.ports import IndexHit, IndexKey, Scope
from bot.core.vectors import Vector
from bot.errors import SearchIndexError

if TYPE_CHECKING:
    from bot.adapters.lance_table import LanceTable

MERGE_AFTER = 150
"""Writes to a table until `maintain` puts all of it in order and cleans old versions away."""
FOLD_AFTER = 8
"""Writes until it puts the newest keys into one file: each write is a file, and slows every search."""
LARGE = 256
"""So many rows count as one more write, since a few large ones scatter stories as well as many small ones;
and a file of so many needs no folding."""
TIDY_EVERY = 100
"""After so many searches `maintain` gives the free memory that they left back to the system: scans leave a
MB for a few searches."""
SEARCH_SECONDS = 10.0
WRITE_SECONDS = 60.0
REWRITE_SECONDS = 900.0
GONE = "not found"
"""What the library says when another process cleaned away the version that we looked at."""
CONFLICT = "conflict"
"""What it says when another process wrote in the same moment."""


@dataclass(slots=True)
class _Upkeep:
    """What a table's writes left to be done."""

    writes: int
    """Since it was put in order."""
    unfolded: int
    """Since the small files were put into one."""
    small: set[int]
    """The memories whose keys lie in small files."""

    @property
    def due(self) -> bool:
        return self.writes >= MERGE_AFTER or self.unfolded >= FOLD_AFTER

    def note(self, memory_ids: Collection[int]) -> None:
        self.writes += 1 + len(memory_ids) // LARGE
        self.unfolded += 1
        if len(memory_ids) < LARGE:
            self.small.update(memory_ids)


class LanceIndex:
    """`bot.core.ports.MemoryIndex` on LanceDB, for one process at a time.

    Every method raises `SearchIndexError` when files are damaged, the encoder's vectors have another
    length than in the run before, or the library fails; and ValueError for vectors of a wrong size.
    """

    def __init__(self, folder: LanceFolder, *, tidy: Callable[[], object]) -> None:
        """Use `LanceIndex.open`."""
        self._folder = folder
        self._tidy = tidy
        self._upkeep: dict[str, _Upkeep] = {}
        self._searches = 0
        """Since memory was given back."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        path: Path,
        *,
        encoder_id: str,
        dimensions: int = 0,
        tidy: Callable[[], object] = return_free_memory,
    ) -> AsyncIterator[LanceIndex]:
        """Opens or makes the folder. `dimensions` 0 means: those that an earlier run wrote, else those of the
        first key.

        The first opening in a process takes two to three seconds, in a thread. A damaged index opens
        too (see `is_damaged`), so that it can be reset; a folder that cannot be made raises
        `SearchIndexError`. `tidy` gives free memory back to the system, in a thread.
        """
        async with LanceFolder.open(Path(path), encoder_id=encoder_id, dimensions=dimensions) as folder:
            yield cls(folder, tidy=tidy)

    # ------------------------------------------------------------ state
    @property
    def encoder_id(self) -> str:
        return self._folder.encoder_id

    @property
    def is_new(self) -> bool:
        """True while this encoder has written nothing here: marks of what is indexed are void then.

        Before the first `upsert` of a run, the database's marks must be forgotten when this is true.
        """
        return self._folder.is_new

    async def is_damaged(self) -> bool:
        """Tries to read the manifest and every table of this encoder; some milliseconds each."""
        if self._folder.damage:
            return True
        for name in self._folder.own_tables():
            try:
                await self._read(name, lambda table: table.probe(), None)
            except SearchIndexError:
                return True
        return False

    async def reset(self) -> None:
        """Throws away every table of every encoder and starts empty, when what is being written is done.
        Searches under way fail."""
        async with AsyncExitStack() as writing:
            for gate in self._folder.gates():
                await writing.enter_async_context(gate.writing())
            self._upkeep.clear()
            await self._folder.reset()

    def stale_tables(self) -> list[str]:
        """Names of tables that another encoder wrote."""
        return self._folder.stale_tables()

    async def drop_stale(self) -> int:
        """Deletes them, once the own tables are complete; how many there were."""
        names = self.stale_tables()
        for name in names:
            await self._drop(name)
        return len(names)

    # ------------------------------------------------------------ searching
    async def nearest(self, scope: Scope, query: Vector, limit: int) -> list[IndexHit]:
        """Exact: the distance to every key of the scope is computed (no approximate index)."""
        if not scope.audience_ids or limit <= 0:
            return []
        vector = self._checked(query)
        return await self._search(scope, lambda table: table.nearest(scope, vector, limit))

    async def nearest_by_emotion(self, scope: Scope, emotion: Vector, limit: int) -> list[IndexHit]:
        """Among memories of known emotion. `d_sem` is not a number here."""
        if not scope.audience_ids or limit <= 0:
            return []
        vector = checked(emotion, len(EMOTIONS), "an emotion")
        return await self._search(scope, lambda table: table.nearest_by_emotion(scope, vector, limit))

    async def vectors(self, scope: Scope, memory_ids: Collection[int]) -> dict[int, Vector]:
        """Memories outside the scope and unknown ones are left out."""
        wanted = set(memory_ids)
        nothing: dict[int, Vector] = {}
        if not scope.audience_ids or not wanted:
            return nothing
        name = self._folder.name_of(scope.space_id)
        return await self._read(name, lambda table: table.vectors(scope, wanted), nothing)

    async def count(self, space_id: int) -> int:
        """Rows, that is keys, of this encoder."""
        return await self._read(self._folder.name_of(space_id), lambda table: table.count(), 0)

    async def _search(
        self, scope: Scope, ask: Callable[[LanceTable], Awaitable[list[IndexHit]]]
    ) -> list[IndexHit]:
        nothing: list[IndexHit] = []
        self._searches += 1
        return await self._read(self._folder.name_of(scope.space_id), ask, nothing)

    # ------------------------------------------------------------ writing
    async def upsert(self, space_id: int, keys: Sequence[IndexKey]) -> None:
        """In steps of 4,096 rows, each whole or not at all."""
        if not keys:
            return
        self._folder.expect(keys[0].vector.size)
        size = self._folder.dimensions or keys[0].vector.size
        await asyncio.to_thread(_check_keys, keys, size)
        async with our_errors(WRITE_SECONDS):
            name = await self._folder.ensure(space_id, size)
        await self._write(name, lambda table: table.upsert(keys), {key.memory_id for key in keys})

    async def set_emotions(self, space_id: int, emotions: Mapping[int, Vector]) -> None:
        clean = {id_: checked(vector, len(EMOTIONS), "an emotion") for id_, vector in emotions.items()}
        if clean:
            await self._write(
                self._folder.name_of(space_id), lambda table: table.set_emotions(clean), clean.keys()
            )

    async def remove(self, space_id: int, memory_ids: Collection[int]) -> None:
        """Also out of tables that another encoder wrote."""
        if memory_ids:
            for name in self._folder.tables_of(space_id):
                await self._write(name, lambda table: table.remove(memory_ids))

    async def drop_space(self, space_id: int) -> None:
        """Deletes the space's tables of every encoder, with their files."""
        for name in self._folder.tables_of(space_id):
            await self._drop(name)

    # ------------------------------------------------------------ upkeep
    async def rewrite(self, space_id: int) -> None:
        """Also tables of other encoders. Searches go on, but for the moment when old files are deleted."""
        self._folder.refuse_damaged()
        for name in self._folder.tables_of(space_id):
            gate = self._folder.gate(name)
            async with gate.writing(), our_errors(REWRITE_SECONDS):
                table = await self._folder.table(name)
                await again_after(CONFLICT, table.write_anew, table.refresh, attempts=3)
                self._folder.keep(name, table)
                async with gate.alone():
                    await table.drop_old()
                self._upkeep[name] = _Upkeep(0, 0, set())

    async def maintain(self) -> None:
        """Folds the newest keys of each table that had 8 or more writes into one file, and merges one that
        had 150 or more in one go, while searches go on. Gives memory back after many searches."""
        for name in [name for name, left in self._upkeep.items() if left.due]:
            async with self._folder.gate(name).writing(), our_errors(REWRITE_SECONDS):
                left = self._upkeep.get(name)
                if left is not None and self._folder.exists(name):
                    table = await self._folder.table(name)
                    await self._put_in_order(table, left)
                    self._folder.keep(name, table)
        if self._searches >= TIDY_EVERY:
            self._searches = 0
            await asyncio.to_thread(self._tidy)

    @staticmethod
    async def _put_in_order(table: LanceTable, left: _Upkeep) -> None:
        if left.writes >= MERGE_AFTER:
            await again_after(CONFLICT, table.tidy, table.refresh, attempts=3)
            left.writes, left.small = 0, set()
        else:
            await again_after(CONFLICT, lambda: table.fold(left.small), table.refresh, attempts=3)
            if len(left.small) >= LARGE:
                left.small = set()
        left.unfolded = 0

    # ------------------------------------------------------------ inside
    def _checked(self, vector: Vector) -> Vector:
        self._folder.expect(vector.size)
        return checked(vector, self._folder.dimensions or len(vector), "a vector")

    async def _read(
        self, name: str, ask: Callable[[LanceTable], Awaitable[Answer]], missing: Answer
    ) -> Answer:
        self._folder.refuse_damaged()
        async with self._folder.gate(name).reading(), our_errors(SEARCH_SECONDS):
            if not self._folder.exists(name):
                return missing
            table = await self._folder.table(name)
            return await again_after(GONE, lambda: ask(table), table.refresh, attempts=2)

    async def _write(
        self, name: str, change: Callable[[LanceTable], Awaitable[None]], memory_ids: Collection[int] = ()
    ) -> None:
        self._folder.refuse_damaged()
        async with self._folder.gate(name).writing(), our_errors(WRITE_SECONDS):
            if not self._folder.exists(name):
                return
            table = await self._folder.table(name)
            if name not in self._upkeep:  # what earlier runs left
                small = await table.in_small_files(LARGE)
                self._upkeep[name] = _Upkeep(await table.versions(), FOLD_AFTER if small else 0, small)
            await again_after(CONFLICT, lambda: change(table), table.refresh, attempts=3)
            self._folder.keep(name, table)
            self._upkeep[name].note(memory_ids)

    async def _drop(self, name: str) -> None:
        gate = self._folder.gate(name)
        async with gate.writing(), gate.alone(), our_errors(WRITE_SECONDS):
            await self._folder.drop(name)
            self._upkeep.pop(name, None)


def _check_keys(keys: Sequence[IndexKey], size: int) -> None:
    for key in keys:
        checked(key.vector, size, "a vector")
        checked(key.emotion, len(EMOTIONS), "an emotion")
