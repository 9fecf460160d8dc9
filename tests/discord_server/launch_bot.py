"""Starts the real bot in a fresh process against a loopback Discord.

`python -m tests.discord_server.launch_bot [ARGUMENTS]` reads LOOPBACK_REST, LOOPBACK_GATEWAY and optionally
LOOPBACK_CDN, LOOPBACK_ERRORS: a file that gets one JSON line for each error the bot logs, and
LOOPBACK_TASKS: a file that holds how many tasks the bot has, every second. LOOPBACK_SET and LOOPBACK_DIE are
for `dying`: a constant to change, and the function in which the process is killed. Without arguments it
runs `bot run`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import threading
import time
from pathlib import Path

from tests.discord_server.dying import die_in, set_constant
from tests.discord_server.seams import point_discord_at


def keep_errors(path: Path) -> None:
    """Write each record at error level to `path`, also when the bot replaces its log handlers."""
    original = logging.Logger.callHandlers
    formatter = logging.Formatter()

    def call_handlers(logger: logging.Logger, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            trace = formatter.formatException(record.exc_info) if record.exc_info else None
            line = json.dumps({"logger": record.name, "message": record.getMessage(), "traceback": trace})
            with path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        original(logger, record)

    logging.Logger.callHandlers = call_handlers  # type: ignore[method-assign]


def keep_task_count(path: Path) -> None:
    """Write how many tasks are not done into `path`, every second, from a thread of its own."""

    def count() -> None:
        while True:
            with contextlib.suppress(RuntimeError, OSError):  # the set changed meanwhile; the folder is gone
                path.write_text(str(sum(not task.done() for task in list(asyncio.tasks._all_tasks))), "ascii")
            time.sleep(1.0)

    threading.Thread(target=count, daemon=True, name="task count").start()


def main(arguments: list[str]) -> int:
    """Set the seams, then run the bot's own entry point; 78 when the addresses are missing or not local."""
    try:
        rest, gateway = os.environ["LOOPBACK_REST"], os.environ["LOOPBACK_GATEWAY"]
        point_discord_at(rest, gateway, os.environ.get("LOOPBACK_CDN") or None)
    except KeyError as error:
        sys.stderr.write(f"set {error.args[0]} to a loopback address\n")
        return 78
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 78
    if os.environ.get("LOOPBACK_ERRORS"):
        keep_errors(Path(os.environ["LOOPBACK_ERRORS"]))
    if os.environ.get("LOOPBACK_TASKS"):
        keep_task_count(Path(os.environ["LOOPBACK_TASKS"]))
    if os.environ.get("LOOPBACK_SET"):
        set_constant(os.environ["LOOPBACK_SET"])
    if os.environ.get("LOOPBACK_DIE"):
        die_in(os.environ["LOOPBACK_DIE"])
    from bot.__main__ import main as run_bot  # noqa: PLC0415 - after the seams are set

    return int(run_bot(arguments or ["run"]) or 0)


if __name__ == "__main__":
    from bot.lifetime import end_process  # the way `python -m bot` ends

    end_process(main(sys.argv[1:]))
