"""How long a message waits, from the gateway's event until the language model is asked for the reply.

The bot runs in its own process with its default settings: discord.py on the loopback Discord, SQLite,
LanceDB, the word index, the encoder and the head are real; the model's server is scripted. The clock runs in
the servers' process, from writing MESSAGE_CREATE to having read the model request.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks._encoding import say
from benchmarks._filled import PERSONA, fill
from benchmarks._stage import ANSWER_S, Town, running, town, until
from benchmarks._words import Sentences
from bot.adapters.embedder import ThreadedEncoder, make_encoder
from tests.discord_server import Message

PLACES: Final = 20
SIZES: Final[Mapping[str, tuple[int, int]]] = {
    "1000": (1_000, PLACES),
    "10000": (10_000, PLACES),
    "100000": (100_000, PLACES),
    "one_place": (100_000, 1),
}
"""Memories in the guild, and the places that they are spread over."""
_BETWEEN_S: Final = 0.2
"""A pause after each reply, in which its own storing and the notes get done."""


@dataclass
class _Measured:
    """Milliseconds, and calls of the model."""

    path: list[float] = field(default_factory=list)
    embed: list[float] = field(default_factory=list)
    reply_calls: int = 0
    background: int = 0
    """Calls for notes that arrived between a message and its reply's call; they give way to it."""


def run(
    arguments: Sequence[str],
    sizes: Mapping[str, tuple[int, int]] = SIZES,
    replies: int = 80,
    warm_up: int = PLACES,
) -> dict[str, Any]:
    """Return p50 and p95 of the way to the model, and calls per reply.

    `ratio_p50` is p50 at 100,000 memories over `embed_p50_ms`: one embedding of the same messages, measured
    between them with the same encoder and settings.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks reply_path", description=__doc__)
    parser.add_argument("--only", action="append", choices=list(sizes), help="measure only this size")
    parser.add_argument("--replies", type=int, default=replies, help="measured replies of each size")
    chosen = parser.parse_args(arguments)
    wanted = {name: sizes[name] for name in chosen.only or sizes}
    return asyncio.run(_run(wanted, chosen.replies, warm_up))


async def _run(sizes: Mapping[str, tuple[int, int]], replies: int, warm_up: int) -> dict[str, Any]:
    found: dict[str, _Measured] = {}
    async with make_encoder("bundled") as encoder:
        await encoder.load()
        for name, (memories, places) in sizes.items():
            with tempfile.TemporaryDirectory(prefix="troupe-") as folder:
                say(f"--- {name}: {memories} memories over {places} places")
                found[name] = await _measure(Path(folder), memories, places, encoder, (warm_up, replies))
    embed = _percentile([value for one in found.values() for value in one.embed], 50)
    p50 = {name: _percentile(one.path, 50) for name, one in found.items()}
    calls = sum(one.reply_calls for one in found.values())
    say(f"{sum(one.background for one in found.values())} background calls began while a reply was prepared")
    return {
        "p50_ms": p50,
        "p95_ms": {name: _percentile(one.path, 95) for name, one in found.items()},
        "embed_p50_ms": embed,
        "ratio_p50": round(p50.get("100000", next(reversed(p50.values()))) / embed, 2),
        "calls_per_reply": calls / sum(len(one.path) for one in found.values()),
    }


async def _measure(
    folder: Path, memories: int, places: int, encoder: ThreadedEncoder, counts: tuple[int, int]
) -> _Measured:
    sentences = Sentences(seed=3)
    measured = _Measured()
    async with town(places) as where:
        await fill(folder, where.places, memories)
        async with running(folder, where) as bot:
            await until(lambda: "embedding model is ready" in bot.output, "the embedding model")
            for number in range(sum(counts)):
                one = measured if number >= counts[0] else _Measured()
                await _one_reply(where, number, sentences, encoder, one)
                if (number + 1) % 20 == 0:
                    say(f"{number + 1} of {sum(counts)} replies; the last took {one.path[-1]:.0f} ms")
    return measured


async def _one_reply(
    where: Town, number: int, sentences: Sentences, encoder: ThreadedEncoder, measured: _Measured
) -> None:
    channel = where.channels[number % len(where.channels)]
    member = where.members[number % len(where.members)]
    text = f"{PERSONA}, {sentences.next()}"
    before, asked = len(where.model.requests), len(where.model.of("reply"))
    said = await member.say(channel, text)
    began = _event_moment(where, said)
    await where.model.wait_until(lambda model: len(model.of("reply")) > asked, ANSWER_S)
    request = where.model.of("reply")[asked]
    await where.reply_to(said)
    await asyncio.sleep(_BETWEEN_S)
    started = time.perf_counter()
    await encoder.embed_query([text])
    measured.embed.append(1000 * (time.perf_counter() - started))
    measured.path.append(1000 * (request.arrived - began))
    measured.reply_calls += len(where.model.of("reply")) - asked
    measured.background += where.model.requests.index(request) - before


def _event_moment(where: Town, said: Message) -> float:
    """When the loopback Discord wrote the event."""
    for frame in reversed(where.discord.gateway.frames):
        if frame.event == "MESSAGE_CREATE" and int(frame.data["id"]) == said.id:
            return frame.at
    raise LookupError("the message never reached the gateway")


def _percentile(values: Sequence[float], share: float) -> float:
    return round(float(np.percentile(values, share)), 1)
