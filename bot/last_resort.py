"""What nobody caught: one record in the log, with a reference id, instead of silence or a bare traceback."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bot.errors import new_reference

_log = logging.getLogger(__name__)


@contextmanager
def last_resort() -> Iterator[None]:
    """Inside the block, failures of the running loop's callbacks and tasks, of threads and of finalizers
    that nobody looked at are logged.
    """
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler(), threading.excepthook, sys.unraisablehook
    loop.set_exception_handler(_of_the_loop)
    threading.excepthook, sys.unraisablehook = _of_a_thread, _of_a_finalizer
    try:
        yield
    finally:
        loop.set_exception_handler(before[0])
        threading.excepthook, sys.unraisablehook = before[1], before[2]


def _of_the_loop(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if "client_connection" in context:
        # discord.py leaves one where a connection breaks before Discord's first word; it is closed by now.
        _log.info("A connection that nobody closed was closed: %s", context.get("message", ""))
        return
    whose = context.get("task") or context.get("future")
    name = whose.get_name() if isinstance(whose, asyncio.Task) else ""
    what = context.get("message", "Something failed")
    _record(f"{what}: {name}" if name else str(what), context.get("exception"))


def _of_a_thread(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_type is not SystemExit:
        _record(f"The thread {failed.thread.name if failed.thread else '?'} failed", failed.exc_value)


def _of_a_finalizer(failed: sys.UnraisableHookArgs) -> None:
    _record(failed.err_msg or "A finalizer failed", failed.exc_value)


def _record(what: str, problem: BaseException | None) -> None:
    _log.error("%s (ref %s)", what, new_reference(), exc_info=problem)
