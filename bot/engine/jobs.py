"""Background work with an owner: every task has a name, a reference, a logged failure and an end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from bot.errors import StorageError, log_failure, new_reference

log = logging.getLogger(__name__)

T = TypeVar("T")

RESTART_SECONDS = 5.0
"""A service that failed starts again after so long."""


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, T], *, name: str) -> AsyncIterator[asyncio.Task[T]]:
    """Run `work` beside the block, which may wait for its result; it ends with the block at the latest."""
    task = asyncio.create_task(work, name=name)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Closing(RuntimeError):
    """Work was begun while its owner closes: it is left for the next start."""


class Jobs:
    """Owns tasks until they end or `close` ends them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False

    @property
    def busy(self) -> bool:
        """Whether anything is running."""
        return bool(self._tasks)

    @property
    def closing(self) -> bool:
        """Whether no new work is taken any more."""
        return self._closing

    def start(self, work: Coroutine[object, object, object], *, name: str) -> asyncio.Task[object]:
        """Run `work` now. A failure is logged once with a reference id and goes no further."""
        if self._closing:
            work.close()
            raise Closing("no new work while closing")
        task = asyncio.create_task(logged(work, name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # what is ended before it began was never awaited
        return task

    async def run(self, work: Coroutine[object, object, T], *, name: str) -> T:
        """The result of `work`, which goes on to its end when the one who waits for it is cancelled: then its
        failure is logged."""
        if self._closing:
            work.close()
            raise Closing("no new work while closing")
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_log_failure)
            raise

    def keep(self, work: Callable[[], Awaitable[None]], *, name: str) -> asyncio.Task[object]:
        """Run a service that should never end; after a failure it starts again."""

        async def step() -> float:
            await work()
            return RESTART_SECONDS

        return self.loop(step, name=name, patience=RESTART_SECONDS)

    def loop(
        self, step: Callable[[], Awaitable[float]], *, name: str, patience: float = 30.0
    ) -> asyncio.Task[object]:
        """Call `step` again and again; it returns the seconds to wait. A failure waits `patience` seconds."""
        return self.start(self._repeat(step, name, patience), name=name)

    async def _repeat(self, step: Callable[[], Awaitable[float]], name: str, patience: float) -> None:
        told = ""
        while True:
            try:
                wait = await step()
                told = ""
            except Closing:
                return
            except StorageError as problem:
                if told != str(problem):  # a full disk may stay so for hours
                    log.warning("%s waits: %s", name, problem)
                told, wait = str(problem), patience
            except Exception:
                # The edge of a background loop: one bad step must not end the loop.
                log.exception("%s failed (ref %s); trying again in %.0f s", name, new_reference(), patience)
                wait = patience
            await asyncio.sleep(wait)

    async def settled(self, within: float) -> None:
        """Wait until all running work has ended by itself, for at most `within` seconds."""
        if self._tasks and within > 0:
            await asyncio.wait(set(self._tasks), timeout=within)

    async def close(self, grace: float = 0.0) -> None:
        """Let running work end by itself for `grace` seconds, then cancel it and wait for the end."""
        self._closing = True
        await self.settled(grace)
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def logged(work: Coroutine[object, object, object], name: str) -> object:
    """Do `work` and log its failure, which goes no further: the edge of a task that nobody awaits."""
    try:
        return await work
    except Closing:
        return None
    except StorageError as problem:
        log.warning("%s failed: %s", name, problem)
        return None
    except Exception:
        log.exception("%s failed (ref %s)", name, new_reference())
        return None


def _log_failure(task: asyncio.Task[Any]) -> None:
    problem = None if task.cancelled() else task.exception()
    if problem is not None:
        log_failure(log, f"{task.get_name()} failed", problem)


class Service:
    """A service of some `Jobs` that can be stopped for a while: what it was doing is thrown away."""

    def __init__(self, jobs: Jobs, work: Callable[[], Awaitable[None]], *, name: str) -> None:
        self._jobs = jobs
        self._work = work
        self._name = name
        self._task: asyncio.Task[object] | None = None

    def start(self) -> None:
        """Run it from now on."""
        self._task = self._jobs.keep(self._work, name=self._name)

    @asynccontextmanager
    async def stopped(self) -> AsyncIterator[None]:
        """Nothing of it runs inside the block. One block at a time."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        try:
            yield
        finally:
            if task is not None and not self._jobs.closing:
                self.start()
