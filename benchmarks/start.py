"""How fast the bot starts, and how much memory it holds: idle, with its encoder, and after 1,000 searches.

The real bot runs in its own process on the loopback Discord with its default settings. Searches are
`/memory search` by a member, in all places by turns. Memory is the resident set in MiB, read where Linux
tells it.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks._encoding import say
from benchmarks._filled import fill
from benchmarks._stage import ANSWER_S, Town, bot_in, connected, running, town, until
from benchmarks._words import Sentences
from tests.discord_server import BotProcess

MEMORIES: Final = 100_000
PLACES: Final = 20
SEARCHES: Final = 1_000
_IMPORTS: Final = 3
_REST_S: Final = 3.0
"""Until a started bot has nothing left to do."""
_IMPORT: Final = (
    "import time; began = time.perf_counter(); import bot.app; print(time.perf_counter() - began)"
)
_ROOT: Final = Path(__file__).parents[1]


def run(
    arguments: Sequence[str], memories: int = MEMORIES, places: int = PLACES, searches: int = SEARCHES
) -> dict[str, float]:
    """Return seconds and MiB.

    `import_s`: median of three fresh processes. `ready_s`: from the start of a process on a folder with all
    memories until it is connected. `rss_mb_idle`: connected, no scene open. `rss_mb_embedder`: with
    all memories and the encoder loaded. `rss_mb_100k`: the same process after the searches.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks start", description=__doc__)
    parser.parse_args(arguments)
    imports = [_import_seconds() for _ in range(_IMPORTS)]
    say(f"import of bot.app: {', '.join(f'{value:.2f}' for value in imports)} s")
    figures = asyncio.run(_run(memories, places, searches))
    return {"import_s": round(statistics.median(imports), 2), **figures}


async def _run(memories: int, places: int, searches: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="troupe-") as folder:
        idle = await _idle(Path(folder))
    with tempfile.TemporaryDirectory(prefix="troupe-") as folder:
        async with town(places) as where:
            await fill(Path(folder), where.places, memories)
            return {**await _filled(Path(folder), where, searches), "rss_mb_idle": idle}


async def _idle(folder: Path) -> float:
    """The second start on a folder, so that its tables are there; no scene is open."""
    async with town(1) as where:
        async with running(folder, where):
            pass
        async with running(folder, where) as bot:
            await asyncio.sleep(_REST_S)
            return _rss(bot)


async def _filled(folder: Path, where: Town, searches: int) -> dict[str, Any]:
    bot = bot_in(folder, where)
    began = time.monotonic()
    await bot.start()
    try:
        ready = await connected(bot, where) - began
        await until(lambda: "embedding model is ready" in bot.output, "the embedding model")
        await asyncio.sleep(_REST_S)
        loaded = _rss(bot)
        await _search(where, searches)
        return {"ready_s": round(ready, 2), "rss_mb_embedder": loaded, "rss_mb_100k": _rss(bot)}
    finally:
        await bot.terminate()


async def _search(where: Town, searches: int) -> None:
    sentences = Sentences(seed=6)
    for number in range(searches):
        channel = where.channels[number % len(where.channels)]
        asked = await where.moderator.slash("memory search", channel, query=sentences.next()[:100])
        await asked.answer(ANSWER_S)
        if (number + 1) % 100 == 0:
            say(f"{number + 1} of {searches} searches")


def _import_seconds() -> float:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT], cwd=_ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    return float(done.stdout)


def _rss(bot: BotProcess) -> float:
    """The resident set in MiB."""
    for line in Path(f"/proc/{bot.pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024, 1)
    raise LookupError("the system does not tell the resident set")
