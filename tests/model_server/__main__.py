"""Runs the scripted server alone: prints {"url": ...} as one line, then serves until it is ended.

GET /_requests lists what was asked; POST /_script takes behaviours (see ModelServer). With
--with-parent it ends when its standard input does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

from tests.model_server.server import ModelServer


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.model_server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each word")
    parser.add_argument("--context", type=int, default=None, help="tokens that fit")
    parser.add_argument("--with-parent", action="store_true")
    options = parser.parse_args()
    async with ModelServer(port=options.port, delay=options.delay, context=options.context) as server:
        print(json.dumps({"url": server.url}), flush=True)
        if options.with_parent:
            await asyncio.to_thread(sys.stdin.read)
        else:
            await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(0)
