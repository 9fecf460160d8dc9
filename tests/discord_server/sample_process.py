"""Runs the sample bot in a process of its own, for the tests of BotProcess and of compression."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys

from tests.discord_server.launch_bot import keep_errors
from tests.discord_server.seams import point_discord_at


async def run() -> None:
    """Log in and stay until SIGTERM."""
    from pathlib import Path  # noqa: PLC0415

    from tests.discord_server.sample_bot import SampleBot  # noqa: PLC0415 - the client after the switches

    point_discord_at(os.environ["LOOPBACK_REST"], os.environ["LOOPBACK_GATEWAY"], os.environ["LOOPBACK_CDN"])
    keep_errors(Path(os.environ["LOOPBACK_ERRORS"]))
    bot = SampleBot()
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    task = asyncio.create_task(bot.start(os.environ["DISCORD_TOKEN"]), name="sample-bot")
    if "fail" in sys.argv:
        logging.getLogger("sample").error("failed on purpose")
    await stopped.wait()
    await bot.close()
    await asyncio.gather(task, return_exceptions=True)


if __name__ == "__main__":
    if "zlib" in sys.argv:
        # Without the zstandard package the client asks for zlib.
        sys.modules["zstandard"] = None  # type: ignore[assignment]
    asyncio.run(run())
