"""What an embedding model costs: milliseconds for one short text, and memory of the process."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks._encoding import Encoding
from bot.adapters.seed_head import seeds

TEXTS: Final = 100
_STATUS: Final = Path("/proc/self/status")


def run(arguments: Sequence[str]) -> dict[str, float]:
    """Return figures of one thread over short role-play lines in eleven languages, one at a time.

    `cpu_ms` and `wall_ms`: medians for one text (the first tells more on a busy machine). `load_s`: until
    the first vector. `rss_mb_added`: resident memory that the model brought, where Linux tells it.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks encoder", description=__doc__)
    parser.add_argument("--model", default="bundled", help="the embedding model (EMBEDDING_MODEL)")
    parser.add_argument("--texts", type=int, default=TEXTS, help="how many texts")
    chosen = parser.parse_args(arguments)
    texts = _texts(chosen.texts + 1)
    before, began = _resident(), time.perf_counter()
    with Encoding(chosen.model) as encoding:
        encoding.queries(texts[:1])
        loaded = time.perf_counter() - began
        spent = [_timed(encoding, text) for text in texts[1:]]
        added = _resident() - before
        dimensions = encoding.encoder.dimensions
    return {
        "cpu_ms": round(statistics.median(cpu for cpu, _ in spent), 1),
        "wall_ms": round(statistics.median(wall for _, wall in spent), 1),
        "load_s": round(loaded, 1),
        "rss_mb_added": round(added),
        "dimensions": dimensions,
    }


def _texts(count: int) -> list[str]:
    """Lines of all languages in turn, so that none outweighs the others."""
    _, lines = seeds()
    step = max(1, len(lines) // count)
    return [line.text for line in lines[::step]][:count]


def _timed(encoding: Encoding, text: str) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    encoding.queries([text])
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000


def _resident() -> float:
    """Return the resident set in MiB, 0 where it is not told."""
    if not _STATUS.exists():
        return 0.0
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
