"""One child process that serves the bundled model: started, waited for, ended."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from asyncio.subprocess import Process
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from bot.errors import ModelUnavailable

SERVER = Path(__file__).with_name("local_model_server.py")
_GRACE = 3.0  # seconds for the child to end by itself


@dataclass(frozen=True, slots=True)
class Launch:
    """How the child is started. Port 0 is any free one."""

    weights: Path
    name: str
    threads: int
    context: int
    log_file: Path | None
    port: int = 0
    server: Path = SERVER

    def at(self, url: str) -> Launch:
        """The same at the address of a child before, which clients know."""
        return replace(self, port=urlsplit(url).port or 0)

    def arguments(self) -> list[str]:
        """The command line."""
        options = {
            "--model": self.weights,
            "--name": self.name,
            "--threads": self.threads,
            "--context": self.context,
            "--port": self.port,
        }
        # -P: its own folder is no place to import from
        return [
            sys.executable,
            "-P",
            str(self.server),
            *(str(part) for pair in options.items() for part in pair),
        ]

    def open_log(self) -> BinaryIO | int:
        """Where the child writes."""
        if self.log_file is None:
            return subprocess.DEVNULL
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        return self.log_file.open("wb")


@dataclass(frozen=True, slots=True)
class Child:
    """A child that is ready to answer at `url`."""

    process: Process
    url: str

    @classmethod
    async def start(cls, launch: Launch, *, within: float) -> Child:
        """Start one and wait until it is ready. ModelUnavailable when that takes too long or it ends."""
        process = await _launched(launch)
        try:
            return cls(process, await _url(process, launch, within))
        except BaseException:
            await _end(process)
            raise

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    async def ended(self) -> int:
        """Wait until it has ended, and return its exit code; a negative one is a signal."""
        return await self.process.wait()

    async def end(self) -> None:
        """Let it end, and make sure that it does."""
        await _end(self.process)


def how_it_ended(code: int) -> str:
    """Say what happened to a child that was not asked to end."""
    if code == -signal.SIGKILL:
        return (
            "was killed (signal 9), most likely because the machine ran out of memory: "
            "leave it more, or use a model on another machine"
        )
    return f"crashed (signal {-code})" if code < 0 else f"ended by itself (exit code {code})"


async def _launched(launch: Launch) -> Process:
    log = await asyncio.to_thread(launch.open_log)
    try:
        return await asyncio.create_subprocess_exec(
            *launch.arguments(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C is ours to handle
        )
    finally:
        if not isinstance(log, int):
            log.close()


async def _url(process: Process, launch: Launch, within: float) -> str:
    assert process.stdout is not None
    try:
        async with asyncio.timeout(within):
            line = await process.stdout.readline()
    except TimeoutError:
        line, problem = b"{}", f"did not start within {within:g} s"
    else:
        problem = "ended before it was ready"
    try:
        return str(json.loads(line)["url"])
    except (ValueError, KeyError):
        where = f"; see {launch.log_file}" if launch.log_file else ""
        raise ModelUnavailable(f"The bundled language model {problem}{where}.") from None


async def _end(process: Process) -> None:
    """Let the child see the end of its input, and kill it if that is not enough."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(_GRACE):
            await process.wait()
    except (TimeoutError, asyncio.CancelledError) as reason:
        if process.returncode is None:
            process.kill()
        await process.wait()
        if isinstance(reason, asyncio.CancelledError):
            raise
