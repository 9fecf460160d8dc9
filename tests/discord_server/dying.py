"""Has this process killed (kill -9) inside a named function, for tests of what a crash there leaves."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import signal
import threading
from collections.abc import Callable
from typing import Any


def die_in(wanted: str) -> None:
    """`MODULE:NAME.NAME@SECONDS`: the first call of that function ends the process after so many seconds, or
    when the call ends, whichever comes first.

    ValueError or AttributeError when there is no such function.
    """
    target, _, seconds = wanted.partition("@")
    owner, name = _found(target)
    original = inspect.getattr_static(owner, name)
    plain = isinstance(original, classmethod | staticmethod)
    wrapped = _deadly(original.__func__ if plain else original, float(seconds or 0.0))
    setattr(owner, name, type(original)(wrapped) if plain else wrapped)


def set_constant(wanted: str) -> None:
    """`MODULE:NAME=NUMBER`: that number instead of the one in the code."""
    target, _, number = wanted.partition("=")
    owner, name = _found(target)
    setattr(owner, name, type(getattr(owner, name))(number))


def _found(target: str) -> tuple[Any, str]:
    module, _, path = target.partition(":")
    *outer, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for each in outer:
        owner = getattr(owner, each)
    if not hasattr(owner, name):
        raise AttributeError(f"{target} is not there")
    return owner, name


def _deadly(original: Callable[..., Any], seconds: float) -> Callable[..., Any]:
    def begin() -> None:
        clock = threading.Timer(seconds, _die)
        clock.daemon = True
        clock.start()

    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def deadly_coroutine(*args: Any, **kwargs: Any) -> Any:
            begin()
            try:
                return await original(*args, **kwargs)
            finally:
                _die()

        return deadly_coroutine

    @functools.wraps(original)
    def deadly(*args: Any, **kwargs: Any) -> Any:
        begin()
        try:
            return original(*args, **kwargs)
        finally:
            _die()

    return deadly


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
