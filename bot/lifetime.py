"""Runs the program's one task until it ends or a signal asks it to, and never longer than the drain time."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Final, NoReturn

from bot.last_resort import last_resort

_log = logging.getLogger(__name__)

DRAIN_S: Final = 10.0
"""Seconds from the first signal to the end of the process, with what libraries take afterwards."""
AFTERWARDS_S: Final = 2.0
"""Seconds that libraries' threads may keep the process alive when everything of ours is closed."""
FORCED: Final = 128
"""Added to the signal's number: the exit code of a process that a second signal ended at once."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class _Deadline:
    """Ends the process when it does not end by itself: a thread, so that no stuck event loop stops it."""

    def __init__(self, seconds: float) -> None:
        self.code: int | None = None
        self._seconds = seconds
        self._timer: threading.Timer | None = None

    def start(self) -> None:
        self._start(max(self._seconds - AFTERWARDS_S, self._seconds / 2))

    def settle(self, code: int) -> None:
        """All is closed; threads of libraries get a moment more."""
        self.code = code
        self.cancel()
        self._start(min(AFTERWARDS_S, self._seconds))

    def cancel(self) -> None:
        """The event loop has ended by itself."""
        if self._timer is not None:
            self._timer.cancel()

    def _start(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        if self.code is None:
            _log.error("not everything ended within %.0f s; stopping now", self._seconds)
        _leave(1 if self.code is None else self.code)


def run(main: Callable[[], Coroutine[object, object, int]], *, drain_s: float = DRAIN_S) -> int:
    """Run `main()` to its end and return its exit code.

    SIGTERM or SIGINT cancels it: what it holds open is then closed in order, and the code is 0. When that
    takes longer than `drain_s`, or threads of libraries keep the loop alive, the process is ended; a
    second signal ends it at once.
    """
    deadline = _Deadline(drain_s)
    try:
        return asyncio.run(_until_stopped(main, deadline))
    finally:
        deadline.cancel()


def end_process(code: int, patience_s: float = AFTERWARDS_S) -> NoReturn:
    """Leave the process with this code, in the ordinary way unless threads keep it alive for longer."""
    deadline = _Deadline(patience_s)
    deadline.settle(code)
    sys.exit(code)


async def _until_stopped(main: Callable[[], Coroutine[object, object, int]], deadline: _Deadline) -> int:
    task = asyncio.create_task(main(), name="main")
    stopping = False

    def stop(number: signal.Signals) -> None:
        nonlocal stopping
        if stopping:
            _leave(FORCED + number)
        stopping = True
        _log.info("%s received, finishing what was begun", number.name)
        deadline.start()
        task.cancel()

    with _handling(stop), last_resort():
        try:
            code = await task
        except asyncio.CancelledError:
            if not stopping:
                raise
            code = 0
            gc.freeze()  # the interpreter's last collection takes seconds over a loaded torch, for nothing
    deadline.settle(code)
    return code


@contextlib.contextmanager
def _handling(stop: Callable[[signal.Signals], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def _leave(code: int) -> None:
    """End the process now, without waiting for threads."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
