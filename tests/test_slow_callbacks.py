"""The watch over the event loop: it blames our code for CPU time, not for a busy machine, and nobody else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from tests.slow_callbacks import ROOT, SLOW_S, Watch, watch

__all__ = ["watch"]

SPIN = """
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(100))

def wait(seconds):
    time.sleep(seconds)
"""


def code_in(path: str) -> dict[str, Any]:
    """The two functions, as if they stood in this file."""
    made: dict[str, Any] = {"time": time}
    exec(compile(SPIN, str(ROOT / path), "exec"), made)
    return made


async def called(work: Callable[[float], None], seconds: float) -> None:
    """Have the loop call it."""
    done = asyncio.Event()

    def call() -> None:
        work(seconds)
        done.set()

    asyncio.get_running_loop().call_soon(call)
    await done.wait()
    await asyncio.sleep(0)


async def test_our_code_that_computes_for_long_is_found_with_its_place(watch: Watch) -> None:
    await called(code_in("bot/engine/made_up.py")["spin"], 0.3)
    (slow,) = watch.take()
    assert slow.cpu >= SLOW_S
    assert slow.place.startswith("bot/engine/made_up.py:")
    assert "spin" in slow.place


async def test_our_code_that_waits_is_slow_on_the_wall_only(watch: Watch) -> None:
    await called(code_in("cogs/made_up.py")["wait"], 0.3)
    (slow,) = watch.take()
    assert slow.cpu < SLOW_S <= slow.wall


async def test_code_that_is_not_ours_is_not_blamed(watch: Watch) -> None:
    await called(code_in("tests/made_up.py")["spin"], 0.2)
    assert not watch.take()


async def test_afterwards_the_loop_is_as_before() -> None:
    before = asyncio.Handle._run
    watch = Watch()
    watch.start()
    assert asyncio.Handle._run is not before
    watch.stop()
    assert asyncio.Handle._run is before
