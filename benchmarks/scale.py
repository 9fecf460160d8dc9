"""What a very large guild costs: recall, disk and memory with a million memories in 200 places.

The guild is filled through the shipped stores with turns of real words and vectors drawn at random (encoding
a million sentences takes half a day; a search computes the same distances whatever the vectors hold). Then a
fresh process asks the shipped recall, with the shipped encoder, in a place of 500 and in one of 5,000
memories; the same in a guild of 10,000 memories, for comparison.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks._encoding import say
from benchmarks._filled import fill
from benchmarks._recalling import Memory, draft, open_memory, unstored
from benchmarks._words import Sentences
from bot.app import DATABASE, INDEX
from bot.core.candidates import RecallSettings
from bot.core.mood import at_rest
from bot.core.stores import PostEntry
from bot.core.types import Persona, Place, Scene, Turn
from bot.engine.recalling import Wanted

SPACE: Final = 77
PLACES: Final = 200
SMALL, LARGE = 500, 5_000
"""Memories of the two places that are asked in."""
COMPARED: Final = 10_000
GOAL: Final = 3.0
_AT_ONCE: Final = 10
_PATIENCE_S: Final = 600.0
_NEW: Final = 256
"""Turns that are encoded and indexed as the running bot does it, to see how fast that is."""


def run(
    arguments: Sequence[str],
    memories: int = 1_000_000,
    compared: int = COMPARED,
    sizes: tuple[int, int] = (SMALL, LARGE),
    places: int = PLACES,
    searches: int = 200,
) -> dict[str, Any]:
    """Return the figures of both guilds by their number of memories, and under `ratio_p95` how much longer
    a search takes in the large one, by the size of the place (the goal is at most 3).

    `search_…_ms` is a recall whose query is embedded already, `recall_…_ms` one with the embedding,
    `first_ms` the first in a place (its words are read from the database); `filled_per_s` counts memories
    stored and indexed with given vectors, `indexed_per_s` those that the shipped indexer encodes and indexes.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("--memories", type=int, default=memories, help="memories in the large guild")
    parser.add_argument("--searches", type=int, default=searches, help="searches in each of the two places")
    chosen = parser.parse_args(arguments)
    with ExitStack() as stack:
        guilds: dict[int, _Asked] = {}
        filled: dict[int, float] = {}
        for count in dict.fromkeys((compared, chosen.memories)):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="troupe-")))
            say(f"--- {count} memories in {places} places")
            filled[count] = _fill(folder, _spread(count, sizes, places))
            guilds[count] = stack.enter_context(closing(_Asked(folder)))
        for size, place_id in zip(sizes, _ids(len(sizes)), strict=True):
            _search_in_turns(list(guilds.values()), size, place_id, chosen.searches)
        found = {str(count): {**guilds[count].figures(), "filled_per_s": filled[count]} for count in guilds}
    small, large = found[str(compared)], found[str(chosen.memories)]
    ratio = {
        str(size): round(large[f"place_{size}"]["search_p95_ms"] / small[f"place_{size}"]["search_p95_ms"], 2)
        for size in sizes
    }
    return {**found, "ratio_p95": ratio, "goal": GOAL}


def _search_in_turns(guilds: Sequence[_Asked], size: int, place_id: int, searches: int) -> None:
    """A few searches here, a few there, so that other work on the machine slows both alike."""
    for done in range(0, searches, _AT_ONCE):
        for guild in guilds:
            guild.search(size, place_id, min(_AT_ONCE, searches - done))
    say(f"searched {searches} times in each place of {size}")


def _spread(count: int, sizes: tuple[int, int], places: int) -> list[int]:
    """How many memories each place holds: the two that are asked in first, the rest alike."""
    rest, others = count - sum(sizes), places - len(sizes)
    if rest < others:
        raise SystemExit(f"{count} memories are too few for places of {sizes}")
    return [*sizes, *(rest // others + (number < rest % others) for number in range(others))]


def _ids(count: int) -> list[int]:
    return [1_000 + number for number in range(count)]


def _fill(folder: Path, sizes: Sequence[int]) -> float:
    """Fill a guild whose places all talk at the same time; memories a second."""
    began = time.perf_counter()
    places = [Place(place_id, SPACE, f"place-{place_id}") for place_id in _ids(len(sizes))]
    order = np.random.default_rng(3).permutation(np.repeat(np.arange(len(sizes)), sizes))
    asyncio.run(fill(folder, places, sum(sizes), order=order.tolist()))
    return round(sum(sizes) / (time.perf_counter() - began))


class _Asked:
    """A process with nothing open but one filled folder: what filling left behind is not in its memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pipe, other = multiprocessing.Pipe()
        self._child = multiprocessing.get_context("spawn").Process(target=_serve, args=(folder, other))
        self._child.start()
        self._times: dict[int, list[tuple[float, float]]] = {}
        self._pipe.recv()

    def search(self, size: int, place_id: int, count: int) -> None:
        """Search so often in a place."""
        self._times.setdefault(size, []).extend(self._ask(("search", place_id, count)))

    def figures(self) -> dict[str, Any]:
        """What was measured."""
        found: dict[str, Any] = {}
        for size, ((first, _), *times) in self._times.items():
            alone, whole = np.array(times).T
            found[f"place_{size}"] = {
                "search_p50_ms": _percentile(alone, 50),
                "search_p95_ms": _percentile(alone, 95),
                "recall_p50_ms": _percentile(whole, 50),
                "recall_p95_ms": _percentile(whole, 95),
                "first_ms": round(first, 1),
            }
        found["rss_mb"] = self._ask(("memory",))
        found["indexed_per_s"] = self._ask(("index", _ids(1)[0]))
        found["sqlite_mb"] = _megabytes(self._folder, f"{DATABASE}*")
        found["index_mb"] = _megabytes(self._folder / INDEX, "*")
        return found

    def close(self) -> None:
        """End the process."""
        self._pipe.send(("end",))
        self._child.join(60)

    def _ask(self, order: tuple[Any, ...]) -> Any:
        self._pipe.send(order)
        if not self._pipe.poll(_PATIENCE_S):
            raise TimeoutError(f"no answer to {order}")
        return self._pipe.recv()


def _serve(folder: Path, pipe: Connection) -> None:
    asyncio.run(_answering(folder, pipe))


async def _answering(folder: Path, pipe: Connection) -> None:
    async with AsyncExitStack() as stack:
        guild = _Guild(await open_memory(folder, "bundled", stack), Sentences(seed=9))
        pipe.send("ready")
        while True:
            order = await asyncio.to_thread(pipe.recv)
            if order[0] == "search":
                pipe.send([await guild.search(order[1]) for _ in range(order[2])])
            elif order[0] == "memory":
                pipe.send(_resident_mb())
            elif order[0] == "index":
                pipe.send(await guild.index_more(order[1]))
            else:
                return


@dataclass(frozen=True)
class _Guild:
    """A filled data folder that is asked."""

    memory: Memory
    sentences: Sentences

    async def search(self, place_id: int) -> tuple[float, float]:
        """Milliseconds of one recall as a reply asks for it: after the embedding of the query, beside which
        the words are searched, and in all."""
        scene, persona = await self._scene(place_id)
        query = unstored(draft(scene, persona, "Alice", self.sentences.next(), datetime.now(UTC)), -1)
        began = time.perf_counter()
        async with self.memory.recaller.asking(scene, persona.id, [query]) as asking:
            await asking.meant
            embedded = time.perf_counter()
            found = await self.memory.recaller.recall(_wanted(scene, persona, query), asking)
        ended = time.perf_counter()
        assert found.choice.items, "nothing was recalled"
        return 1000 * (ended - embedded), 1000 * (ended - began)

    async def index_more(self, place_id: int) -> int:
        """How many new turns a second the shipped indexer encodes and stores."""
        scene, persona = await self._scene(place_id)
        moment = datetime.now(UTC)
        drafts = [draft(scene, persona, "Alice", self.sentences.next(), moment) for _ in range(_NEW)]
        await self.memory.store.turns.commit([PostEntry(draft) for draft in drafts])
        began = time.perf_counter()
        done = await self.memory.indexer.catch_up()
        assert done == _NEW, f"{done} memories were indexed"
        return round(done / (time.perf_counter() - began))

    async def _scene(self, place_id: int) -> tuple[Scene, Persona]:
        scene = (await self.memory.store.scenes.of_place(place_id))[0]
        persona = await self.memory.store.personas.get(scene.cast[0])
        assert persona is not None
        return scene, persona


def _wanted(scene: Scene, persona: Persona, query: Turn) -> Wanted:
    return Wanted(
        scene=scene,
        persona_id=persona.id,
        answers=(query,),
        shown=(query,),
        mood=at_rest([1, 1, 1, 1, 5, 1, 1, 1], datetime.now(UTC)),
        settings=RecallSettings(),
        cooling=frozenset(),
        cost=lambda item: len(item.text) // 4,
        aside_resting=frozenset(),
    )


def _resident_mb() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) // 1024
    return 0


def _megabytes(folder: Path, names: str) -> int:
    return sum(file.stat().st_size for file in folder.rglob(names) if file.is_file()) >> 20


def _percentile(values: Any, share: float) -> float:
    return round(float(np.percentile(values, share)), 1)
