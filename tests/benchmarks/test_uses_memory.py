"""The benchmark of used memories, against a scripted model that reads its notes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from benchmarks import uses_memory
from bot.settings import Settings
from tests.model_server import ModelServer, RecordedRequest, Say


def reads_its_notes(request: RecordedRequest) -> Say:
    """The first recalled fact it is asked for, as long as the horse is meant; else it evades."""
    notes = request.text.rpartition("<notes>")[2]
    return Say("Quickbeam, of course!" if "Quickbeam" in notes else "Hm, let me think of that.")


@pytest.fixture
def address() -> Iterator[str]:
    """A model server in a loop of its own: the benchmark runs its own too."""
    loop, ended, ready = asyncio.new_event_loop(), asyncio.Event(), threading.Event()
    found: list[str] = []

    async def serve() -> None:
        async with ModelServer() as model:
            model.set_script("reply", reads_its_notes)
            found.append(model.url)
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(10)
    yield found[0]
    loop.call_soon_threadsafe(ended.set)
    thread.join(10)
    loop.close()


@pytest.mark.timeout(240)
def test_it_tells_what_was_recalled_and_what_was_used(address: str) -> None:
    settings = Settings.load({"LLM_BASE_URL": address, "LLM_MODEL": "scripted"}, None)
    figures = uses_memory.run(["--facts", "3"], settings)
    assert figures["facts"] == 3
    assert figures["recalled"] == 1.0
    assert figures["used"] == figures["used_of_recalled"] == pytest.approx(1 / 3, abs=0.001)
    assert [row["used"] for row in figures["replies"].values()] == ["no", "no", "yes"]
