"""The loopback Discord in a process of its own, and the bot in another, for runs under load."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

from bot.settings import variables

ROOT: Final = Path(__file__).parents[1]
_PATIENCE_S: Final = 900.0


@dataclass(frozen=True)
class City:
    """A Discord with many guilds, reached through its control."""

    about: Mapping[str, Any]
    session: aiohttp.ClientSession

    @property
    def guilds(self) -> list[dict[str, Any]]:
        """Each with its id, its channels' and its members' ids; the last member is a moderator."""
        return list(self.about["guilds"])

    async def do(self, name: str, /, **wanted: Any) -> Any:
        """One command of `tests.discord_server.control`."""
        async with self.session.post(f"{self.about['control']}/{name}", json=wanted) as answer:
            told = await answer.json()
        if isinstance(told, dict) and "error" in told:
            raise RuntimeError(f"{name}: {told['error']}")
        return told


@asynccontextmanager
async def city(guilds: int, channels: int, members: int) -> AsyncIterator[City]:
    """Listening, with so many guilds, channels and members in each."""
    options = ["--guilds", str(guilds), "--channels", str(channels), "--members", str(members), "--no-schema"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.discord_server", *options),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 26,
    )
    assert process.stdout is not None
    try:
        about = json.loads(await asyncio.wait_for(process.stdout.readline(), _PATIENCE_S))
        timeout = aiohttp.ClientTimeout(total=_PATIENCE_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            yield City(about, session)
    finally:
        process.terminate()
        await process.wait()


@dataclass
class LoneBot:
    """The real bot in its own process, connected to a city."""

    folder: Path
    env: Mapping[str, str]
    lines: list[str] = field(default_factory=list)
    started_at: float = 0.0
    _process: asyncio.subprocess.Process | None = None
    _reader: asyncio.Task[None] | None = None

    async def start(self, where: City) -> None:
        """Start the process; `until_said` tells when it is up."""
        addresses = {name: value for name, value in where.about.items() if name.startswith("LOOPBACK_")}
        token = {name: value for name, value in where.about.items() if name == "DISCORD_TOKEN"}
        self.started_at = time.monotonic()
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.discord_server.launch_bot"),
            cwd=self.folder,
            env={
                **os.environ,
                **dict.fromkeys(variables(), ""),
                **addresses,
                **token,
                "PYTHONPATH": str(ROOT),
                "PYTHONUNBUFFERED": "1",
                "HF_HUB_OFFLINE": "1",
                "DATA_DIR": str(self.folder),
                "LOOPBACK_ERRORS": str(self.folder / "logged-errors.jsonl"),
                **self.env,
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=1 << 20,
        )
        self._reader = asyncio.create_task(self._read(), name="bot output")

    async def until_said(self, text: str, seconds: float = 300.0) -> float:
        """Wait for a line of the log; seconds since the start of the process."""
        assert self._process is not None
        deadline = time.monotonic() + seconds
        while not any(text in line for line in self.lines):
            if self._process.returncode is not None or time.monotonic() > deadline:
                raise TimeoutError(f"the bot did not say {text!r}:\n" + "\n".join(self.lines[-30:]))
            await asyncio.sleep(0.01)
        return time.monotonic() - self.started_at

    async def stop(self) -> float:
        """SIGTERM; the seconds until it has ended."""
        assert self._process is not None
        began = time.monotonic()
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(self._process.wait(), 60)
        if self._reader is not None:
            await self._reader
        return time.monotonic() - began

    def resident_mb(self) -> float:
        """The resident set, where Linux tells it."""
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text("ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024

    def cpu_seconds(self) -> float:
        """Processor time used so far, which does not depend on what else the machine does."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def open_files(self) -> int:
        """How many descriptors it holds."""
        assert self._process is not None
        return len(list(Path(f"/proc/{self._process.pid}/fd").iterdir()))

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self.lines.append(line.decode(errors="replace").rstrip("\n"))
