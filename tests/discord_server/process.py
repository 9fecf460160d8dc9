"""The bot in a process of its own, for tests that restart or kill it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .server import DiscordServer

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = "tests.discord_server.launch_bot"


class BotProcess:
    """Runs the bot against a loopback Discord. Use as `async with BotProcess(server, folder) as bot`.

    The folder is its working directory and, unless `env` says otherwise, its DATA_DIR. Leaving the block
    stops the process and fails when the bot has logged errors, unless `allow_errors` is set.
    """

    def __init__(
        self,
        server: DiscordServer,
        folder: Path,
        *,
        env: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
        module: str = LAUNCHER,
        allow_errors: bool = False,
    ) -> None:
        """Prepare a process; `env` comes on top of this process's environment and the server's addresses."""
        self.server = server
        self.folder = folder
        self.allow_errors = allow_errors
        self.lines: list[str] = []
        self._command = [sys.executable, "-m", module, *arguments]
        self._env = dict(env or {})
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Start the process."""
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the process and look at its errors."""
        if self.running:
            await self.terminate()
        if error is None and not self.allow_errors:
            assert not self.errors(), f"the bot logged errors: {self.errors()}"

    def beside(self, folder: Path) -> BotProcess:
        """Another bot with the same settings on another data folder; not started."""
        env = {**self._env, "DATA_DIR": str(folder)}
        return BotProcess(self.server, folder, env=env, allow_errors=self.allow_errors)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the bot is given, for another process on the same data."""
        return {"DATA_DIR": str(self.folder), **self.server.environment, **self._env}

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._started().pid

    @property
    def output(self) -> str:
        """What the bot has written to standard output and standard error so far."""
        return "\n".join(self.lines)

    async def start(self, env: Mapping[str, str] | None = None) -> None:
        """Start the process, for the first time or again; `env` holds for this time only."""
        path = os.pathsep.join(item for item in (str(ROOT), os.environ.get("PYTHONPATH")) if item)
        env = {
            **os.environ,
            "PYTHONPATH": path,
            "PYTHONUNBUFFERED": "1",
            "LOOPBACK_ERRORS": str(self._errors_path),
            **self.environment,
            **(env or {}),
        }
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            cwd=self.folder,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=1 << 20,
        )
        self._reader = asyncio.create_task(self._read(), name="bot-process-output")

    async def ready(self, timeout: float = 60.0) -> None:
        """Return when the bot has identified. Raises AssertionError with its output when it ends before."""
        waiting = asyncio.create_task(self.server.ready(timeout), name="bot-process-ready")
        ending = asyncio.create_task(self._started().wait(), name="bot-process-end")
        try:
            await asyncio.wait({waiting, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                await self._drained()
                raise AssertionError(f"the bot ended with {ending.result()}:\n{self.output}")
            await waiting
        finally:
            for task in (waiting, ending):
                task.cancel()
            await asyncio.gather(waiting, ending, return_exceptions=True)

    async def terminate(self, timeout: float = 20.0) -> int:
        """Ask the bot to stop (SIGTERM) and return its exit code; after `timeout` it is killed."""
        self._signal(signal.SIGTERM)
        try:
            return await self.wait(timeout)
        except TimeoutError:
            await self.kill()
            raise

    async def kill(self) -> None:
        """Kill the bot at once (SIGKILL), as a crash or a power cut does."""
        self._signal(signal.SIGKILL)
        await self.wait()

    async def wait(self, timeout: float = 20.0) -> int:
        """Return the exit code when the process has ended and the server has noticed."""
        code = await asyncio.wait_for(self._started().wait(), timeout)
        await self._drained()
        await self.server.until(
            lambda: not self.server.gateway.connections, timeout, "the end of the bot's connection"
        )
        return code

    def errors(self) -> list[dict[str, Any]]:
        """Return what the bot has logged at error level: logger, message, traceback."""
        if not self._errors_path.exists():
            return []
        return [json.loads(line) for line in self._errors_path.read_text(encoding="utf-8").splitlines()]

    @property
    def _errors_path(self) -> Path:
        return self.folder / "logged-errors.jsonl"

    def _started(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError("the process was not started")
        return self._process

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._started().send_signal(number)

    async def _drained(self) -> None:
        if self._reader is not None:
            await self._reader

    async def _read(self) -> None:
        stream = self._started().stdout
        assert stream is not None
        async for line in stream:
            self.lines.append(line.decode(errors="replace").rstrip("\n"))
