"""Has pictures drawn in a short-lived process, so that the drawing library never loads in the bot."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from bot.core.pictures import Days, Picture, Timeline, Wheel

log = logging.getLogger(__name__)

TIMEOUT_S: Final = 20.0
_AT_ONCE: Final = 1
_ROOT: Final = Path(__file__).resolve().parents[2]


class Pictures:
    """One drawing at a time. A picture that fails is logged, and the answer goes out without it."""

    def __init__(self, *, cache: Path | None = None) -> None:
        """`cache` keeps what the library knows of fonts; without it every drawing would take longer."""
        self._cache = cache or Path(tempfile.gettempdir()) / "troupe-fonts"
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def wheels(self, wheels: Sequence[Wheel]) -> Picture | None:
        """Plutchik's wheel for each persona, at most four."""
        return await self._draw({"kind": "wheels", "wheels": [asdict(wheel) for wheel in wheels[:4]]})

    async def timeline(self, timeline: Timeline) -> Picture | None:
        """The feelings of a scene over its turns."""
        return await self._draw({"kind": "timeline", **asdict(timeline)})

    async def days(self, days: Days) -> Picture | None:
        """Tokens by day, one bar on the other."""
        return await self._draw({"kind": "days", **asdict(days)})

    async def _draw(self, wanted: Mapping[str, Any]) -> Picture | None:
        try:
            async with self._gate, asyncio.timeout(TIMEOUT_S):
                answer = await self._run(json.dumps(wanted).encode())
            found = json.loads(answer)
            legend = tuple((int(number), str(text)) for number, text in found["legend"])
            return Picture(base64.b64decode(found["png"], validate=True), legend)
        except (OSError, TimeoutError, ValueError, KeyError, TypeError, binascii.Error) as problem:
            log.warning("A picture could not be drawn: %r", problem)
            return None

    async def _run(self, wanted: bytes) -> bytes:
        environment = {**os.environ, "MPLCONFIGDIR": str(self._cache), "MPLBACKEND": "agg"}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bot.adapters.picture_drawing",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=_ROOT,
            env=environment,
        )
        try:
            answer, complaint = await process.communicate(wanted)
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            raise OSError(complaint.decode("utf-8", "replace")[-300:])
        return answer
