"""Starts the real bot in a fresh process against a loopback Discord.

`python -m tests.discord_server.launch_bot` reads LOOPBACK_REST, LOOPBACK_GATEWAY and optionally LOOPBACK_CDN,
and LOOPBACK_ERRORS: a file that gets one JSON line for each error the bot logs.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path

from tests.discord_server.seams import point_discord_at


class ErrorFile(logging.Handler):
    """Writes each error record as one JSON line."""

    def __init__(self, path: Path) -> None:
        """Append to `path`."""
        super().__init__(logging.ERROR)
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record with its traceback."""
        trace = logging.Formatter().formatException(record.exc_info) if record.exc_info else None
        line = json.dumps({"logger": record.name, "message": record.getMessage(), "traceback": trace})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def main() -> int:
    """Set the seams, then run the bot's own entry point."""
    try:
        rest, gateway = os.environ["LOOPBACK_REST"], os.environ["LOOPBACK_GATEWAY"]
    except KeyError as error:
        sys.stderr.write(f"set {error.args[0]} to a loopback address\n")
        return 78
    try:
        point_discord_at(rest, gateway, os.environ.get("LOOPBACK_CDN") or None)
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 78
    if os.environ.get("LOOPBACK_ERRORS"):
        logging.getLogger().addHandler(ErrorFile(Path(os.environ["LOOPBACK_ERRORS"])))
    from bot.__main__ import main as run_bot  # noqa: PLC0415 - after the seams are set

    result = run_bot(["run"])
    return int(result or 0)


if __name__ == "__main__":
    raise SystemExit(main())
