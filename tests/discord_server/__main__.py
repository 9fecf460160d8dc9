"""Runs the loopback Discord alone: prints its addresses as one JSON line, then serves until it is stopped."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys

from .control import Control
from .server import DiscordServer


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m tests.discord_server", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--guilds", type=int, default=1, help="guilds to begin with")
    parser.add_argument("--channels", type=int, default=2, help="text channels in each guild")
    parser.add_argument("--members", type=int, default=3, help="members in each guild, besides a moderator")
    parser.add_argument("--shards", type=int, default=1, help="shards that /gateway/bot recommends")
    parser.add_argument("--clock-factor", type=float, default=1.0, help="how much faster deadlines pass")
    parser.add_argument("--log-limit", type=int, default=20_000, help="how many requests are kept")
    parser.add_argument("--no-schema", action="store_true", help="leave out the OpenAPI checks")
    return parser.parse_args(arguments)


async def serve(options: argparse.Namespace) -> None:
    """Serve until SIGINT or SIGTERM."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    server = DiscordServer(
        port=options.port,
        shards=options.shards,
        clock_factor=options.clock_factor,
        check_schema=not options.no_schema,
        log_limit=options.log_limit,
    )
    control = Control(server)
    server.extras.append(control)
    async with server:
        wanted = {"guilds": options.guilds, "channels": options.channels, "members": options.members}
        built = await control.build(wanted)
        about = {
            **server.environment,
            "control": f"http://127.0.0.1:{server.port}/control",
            "application_id": str(server.application_id),
            "schema_checked": server.schema_checked,
            "guilds": built,
        }
        sys.stdout.write(json.dumps(about) + "\n")
        sys.stdout.flush()
        await stopped.wait()


if __name__ == "__main__":
    asyncio.run(serve(parsed(sys.argv[1:])))
