"""The terminal of the console: lines in without blocking anything, replies out as they come."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import sys
import termios
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final, TextIO

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_CLEAR: Final = "\r\x1b[K"
_TICK_S: Final = 1.0
_PATIENCE_S: Final = 2.0
"""A wait shorter than this needs no progress line where lines cannot be taken back."""


class Screen:
    """Writes to the terminal. Where output is not a terminal, nothing is written that is taken back later."""

    def __init__(self, *, out: TextIO, interactive: bool) -> None:
        self._out = out
        self.interactive = interactive
        self._transient = False
        self._open_line = False

    def line(self, text: str = "") -> None:
        """A whole line of its own. Control characters are left out."""
        self.end_line()
        self._write(_CONTROL.sub("", text) + "\n")

    def passing(self, text: str) -> None:
        """A line that the next one replaces; where that cannot be, an ordinary line of standard error."""
        if self.interactive:
            self._write(f"{_CLEAR}{_CONTROL.sub('', text)}")
            self._transient = True
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def piece(self, text: str) -> None:
        """A piece of a line that goes on."""
        self._clear()
        self._write(_CONTROL.sub("", text))
        self._open_line = True

    def end_line(self) -> None:
        """Go to a new line unless the cursor stands at the beginning of one."""
        self._clear()
        if self._open_line:
            self._open_line = False
            self._write("\n")

    @contextlib.asynccontextmanager
    async def waiting(self, text: str) -> AsyncIterator[None]:
        """Show that something takes its time, and for how long, until the block ends."""
        ticking = asyncio.create_task(self._tick(text), name="progress line")
        try:
            yield
        finally:
            ticking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ticking
            self._clear()

    async def _tick(self, text: str) -> None:
        began = time.monotonic()
        if not self.interactive:
            await asyncio.sleep(_PATIENCE_S)
            sys.stderr.write(f"{text} …\n")
            sys.stderr.flush()
            return
        while True:
            if not self._open_line:
                self._write(f"{_CLEAR}{text} … {time.monotonic() - began:.0f} s")
                self._transient = True
            await asyncio.sleep(_TICK_S)

    def _clear(self) -> None:
        if self._transient:
            self._transient = False
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


class TypedLines:
    """Lines that a person types, with the terminal's editing. A read may be cancelled at any time."""

    interactive: Final = True

    async def read(self, prompt: str) -> str | None:
        """The next line; None at the end of input (Ctrl-D)."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[str | None] = loop.create_future()
        thread = threading.Thread(
            target=_ask, args=(prompt, _setter(loop, result)), daemon=True, name="typing"
        )
        thread.start()
        return await result


class PipedLines:
    """Lines of a file or a pipe. A thread of its own reads ahead and never holds up the process's end."""

    interactive: Final = False

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._begun = False

    async def read(self, prompt: str = "") -> str | None:
        """The next line; None at the end of input, then and ever after. Prompts are not shown."""
        if not self._begun:
            self._begun = True
            put = _putter(asyncio.get_running_loop(), self._lines)
            threading.Thread(target=_pump, args=(self._descriptor, put), daemon=True, name="reading").start()
        line = await self._lines.get()
        if line is None:
            self._lines.put_nowait(None)
        return line


Lines = TypedLines | PipedLines


def standard_input() -> Lines:
    """The process's input: typed when it is a terminal."""
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # closed, or none at all
        return PipedLines(None)
    return TypedLines() if os.isatty(descriptor) else PipedLines(descriptor)


@contextlib.contextmanager
def restored_terminal() -> Iterator[None]:
    """Leave the terminal as it was, also when a read was cut short."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(AttributeError, OSError, ValueError, termios.error):
            descriptor = sys.stdin.fileno()
            before = termios.tcgetattr(descriptor)
            stack.callback(termios.tcsetattr, descriptor, termios.TCSADRAIN, before)
        yield


def _ask(prompt: str, answer: Callable[[str | None], None]) -> None:
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401, PLC0415  (input() then edits lines and remembers them)
    try:
        answer(input(prompt))
    except (EOFError, OSError, ValueError):
        answer(None)


def _pump(descriptor: int | None, put: Callable[[str | None], None]) -> None:
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    rest = ""
    try:
        while descriptor is not None and (chunk := os.read(descriptor, 65536)):
            *whole, rest = (rest + decoder.decode(chunk)).split("\n")
            for line in whole:
                put(line.rstrip("\r"))
    except OSError:
        pass  # the other end is gone: that is the end of input
    rest += decoder.decode(b"", final=True)
    if rest:
        put(rest.rstrip("\r"))
    put(None)


def _setter(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[str | None]
) -> Callable[[str | None], None]:
    def take(line: str | None) -> None:
        if not future.done():
            future.set_result(line)

    return _threadsafe(loop, take)


def _putter(
    loop: asyncio.AbstractEventLoop, queue: asyncio.Queue[str | None]
) -> Callable[[str | None], None]:
    return _threadsafe(loop, queue.put_nowait)


def _threadsafe(
    loop: asyncio.AbstractEventLoop, take: Callable[[str | None], None]
) -> Callable[[str | None], None]:
    def give(line: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(take, line)

    return give
