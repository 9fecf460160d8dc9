"""Transport compression of the gateway, and a signal that tests wait on instead of sleeping."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable


def compressor_for(name: str) -> Callable[[bytes], bytes] | None:
    """Return a packer with one context for a whole connection, or None for plain text frames."""
    if name == "zlib-stream":
        deflate = zlib.compressobj()
        return lambda data: deflate.compress(data) + deflate.flush(zlib.Z_SYNC_FLUSH)
    if name == "zstd-stream":
        import zstandard  # noqa: PLC0415 - only clients that have it ask for it

        stream = zstandard.ZstdCompressor(level=1).compressobj()
        return lambda data: stream.compress(data) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    return None


class Signal:
    """Wakes everyone who waits for some change of the server's state."""

    def __init__(self) -> None:
        """Start with nobody waiting."""
        self._waiters: set[asyncio.Future[None]] = set()

    def notify(self) -> None:
        """Something changed: let every waiter look again."""
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def until(self, ready: Callable[[], object], timeout: float, what: str) -> None:
        """Return when `ready()` is true. Raises TimeoutError naming `what` after `timeout` real seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while not ready():
            remaining = deadline - loop.time()
            if remaining <= 0:
                raise TimeoutError(f"waited {timeout:g} s for {what}")
            waiter: asyncio.Future[None] = loop.create_future()
            self._waiters.add(waiter)
            try:
                await asyncio.wait({waiter}, timeout=remaining)
            finally:
                self._waiters.discard(waiter)
                waiter.cancel()
