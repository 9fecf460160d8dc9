"""A pytest plugin: fails a test in which our code holds the event loop for more than 100 ms.

`python -m pytest -p tests.slow_callbacks …`, or `make slow-callbacks`. asyncio's own warning counts the
clock on the wall, which on a busy machine blames whoever was put aside. Here each callback is measured by
the CPU time of its thread, without collections of garbage (their length is that of the test process's
heap), and a sampler notes where it was. What took long on the wall only is listed
at the end, as a hint at code that waits (for a lock, a disk) without giving the loop away.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

SLOW_S = 0.1
"""A callback that takes longer holds up everything else too long."""
_EVERY_S = 0.01
_FROM_S = 0.02
ROOT = Path(__file__).parent.parent
BEFORE_CONNECTING = ("bot/adapters/sql_store/migrate.py",)
"""What runs only before anything else waits for the loop."""
OURS = (str(ROOT / "bot"), str(ROOT / "cogs"))


@dataclass(frozen=True, slots=True)
class Slow:
    """A callback that took long: seconds in our code, and where that was seen most often."""

    wall: float
    cpu: float
    place: str

    def __str__(self) -> str:
        return f"{self.cpu * 1000:.0f} ms of CPU, {self.wall * 1000:.0f} ms in all: {self.place}"


@dataclass(slots=True)
class Running:
    """A callback that is running now, and where in our code it was seen."""

    thread: int
    began: float
    seen: Counter[str] = field(default_factory=Counter)
    looks: int = 0
    collecting: float = 0.0
    """CPU seconds spent on garbage."""

    def ended(self, wall: float, cpu: float) -> Slow:
        """What it was, our share of its times estimated from where it was seen."""
        share = self.seen.total() / self.looks if self.looks else 0.0
        place = self.seen.most_common(1)[0][0] if self.seen else ""
        return Slow(wall * share, cpu * share, place)


def our_place(frame: FrameType | None) -> str:
    """The innermost line of our code in a stack, with what it called; "" when there is none."""
    called = ""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(OURS):
            path = Path(name).relative_to(ROOT)
            return f"{path}:{frame.f_lineno} {frame.f_code.co_qualname}{called}"
        called = called or f" -> {frame.f_code.co_qualname}"
        frame = frame.f_back
    return ""


class Watch:
    """Measures callbacks between `start` and `stop`."""

    def __init__(self) -> None:
        self.slow: list[Slow] = []
        self._running: dict[int, Running] = {}
        self._ended = threading.Event()
        self._run = asyncio.Handle._run
        self._sampler = threading.Thread(target=self._sample, name="slow callbacks", daemon=True)

    def start(self) -> None:
        """Measure from now on, in every loop."""
        asyncio.Handle._run = self._measured()  # type: ignore[method-assign]
        gc.callbacks.append(self._collects)
        self._sampler.start()

    def stop(self) -> None:
        """Measure no more."""
        asyncio.Handle._run = self._run  # type: ignore[method-assign]
        gc.callbacks.remove(self._collects)
        self._ended.set()
        self._sampler.join()

    def _collects(self, phase: str, _: object) -> None:
        one = self._running.get(threading.get_ident())
        if one is not None:
            one.collecting += time.thread_time() * (1 if phase == "stop" else -1)

    def take(self) -> list[Slow]:
        """What was slow since the last time."""
        found, self.slow = self.slow, []
        return found

    def _measured(self) -> Any:
        run, running, thread_id = self._run, self._running, threading.get_ident

        def measured(handle: asyncio.Handle) -> None:
            me = thread_id()
            now = Running(me, time.perf_counter())
            before, running[me] = running.get(me), now
            cpu = time.thread_time()
            try:
                run(handle)
            finally:
                wall, cpu = time.perf_counter() - now.began, time.thread_time() - cpu - now.collecting
                if before is None:
                    running.pop(me, None)
                else:
                    running[me] = before
                if wall >= SLOW_S and now.seen:
                    self.slow.append(now.ended(wall, cpu))

        return measured

    def _sample(self) -> None:
        while not self._ended.wait(_EVERY_S):
            moment = time.perf_counter()
            late = [one for one in list(self._running.values()) if moment - one.began >= _FROM_S]
            frames = sys._current_frames() if late else {}
            for one in late:
                one.looks += 1
                if place := our_place(frames.get(one.thread)):
                    one.seen[place] += 1


@pytest.fixture
def watch() -> Iterator[Watch]:
    """A watch that runs."""
    made = Watch()
    made.start()
    yield made
    made.stop()


class Plugin:
    """Fails tests and tells of suspects."""

    def __init__(self) -> None:
        self.watch = Watch()
        self.suspects: list[tuple[str, Slow]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """After the test itself, so that its own failure goes first."""
        self.watch.take()
        result = yield
        found = self.watch.take()
        found = [one for one in found if not one.place.startswith(BEFORE_CONNECTING)]
        guilty = [one for one in found if one.cpu >= SLOW_S]
        self.suspects += [(item.nodeid, one) for one in found if one.wall >= SLOW_S > one.cpu]
        if guilty:
            pytest.fail("our code held the event loop:\n" + "\n".join(map(str, guilty)), pytrace=False)
        return result

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """What was slow on the wall only, the ten slowest."""
        for test, one in sorted(self.suspects, key=lambda pair: -pair[1].wall)[:10]:
            terminalreporter.write_line(f"suspect: {one} in {test}")

    def pytest_unconfigure(self) -> None:
        """Leave asyncio as it was."""
        self.watch.stop()


def pytest_configure(config: pytest.Config) -> None:
    """Watch the whole run."""
    plugin = Plugin()
    plugin.watch.start()
    config.pluginmanager.register(plugin, "slow callbacks of ours")
