"""Real rate limits with small windows: off unless a test asks for them."""

from __future__ import annotations

import hashlib
import json
import math
import time
from dataclasses import dataclass, field

from aiohttp import web

from .log import RequestRecord

_MAJOR = ("channel_id", "guild_id", "webhook_id", "webhook_token")


@dataclass
class Window:
    """One bucket: how many requests are left until it refills."""

    remaining: int
    resets_at: float


@dataclass
class RateLimits:
    """`limit` requests per `window` seconds and bucket, and `global_limit` per second for the bot.

    Buckets are one per route and major parameter (channel, guild, webhook and token), as Discord's are.
    """

    limit: int = 5
    window: float = 2.0
    global_limit: int | None = None
    refused: int = 0
    _windows: dict[str, Window] = field(default_factory=dict)
    _all: Window = field(default_factory=lambda: Window(0, 0.0))

    def refusal(self, record: RequestRecord) -> web.Response | None:
        """Count a request; return the 429 when it is one too many."""
        now = time.monotonic()
        if record.template.startswith("/interactions/"):
            return None
        if self.global_limit is not None:
            if self._all.resets_at <= now:
                self._all = Window(self.global_limit, now + 1.0)
            self._all.remaining -= 1
            if self._all.remaining < 0:
                return self._answer(self._all.resets_at - now, record, scope="global")
        window = self._windows.get(self._key(record))
        if window is None or window.resets_at <= now:
            window = self._windows[self._key(record)] = Window(self.limit, now + self.window)
        window.remaining -= 1
        if window.remaining < 0:
            return self._answer(window.resets_at - now, record, scope="user")
        return None

    def _answer(self, wait: float, record: RequestRecord, *, scope: str) -> web.Response:
        self.refused += 1
        retry_after = math.ceil(wait * 1000) / 1000
        body = {
            "message": "You are being rate limited.",
            "retry_after": retry_after,
            "global": scope == "global",
        }
        headers = self.headers(record) | {
            "Content-Type": "application/json",
            "Via": "1.1 google",
            "Retry-After": str(math.ceil(wait)),
            "X-RateLimit-Scope": scope,
        }
        return web.Response(status=429, body=json.dumps(body).encode(), headers=headers)

    def headers(self, record: RequestRecord) -> dict[str, str]:
        """Return the headers that tell the client about its bucket."""
        window = self._windows.get(self._key(record))
        if window is None:
            return {}
        left = max(0.0, window.resets_at - time.monotonic())
        name = hashlib.sha256(f"{record.method} {record.template}".encode()).hexdigest()[:16]
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(max(0, window.remaining)),
            "X-RateLimit-Reset": f"{time.time() + left:.3f}",
            "X-RateLimit-Reset-After": f"{left:.3f}",
            "X-RateLimit-Bucket": name,
        }

    @staticmethod
    def _key(record: RequestRecord) -> str:
        majors = [record.params[name] for name in _MAJOR if name in record.params]
        return " ".join([record.method, record.template, *majors])
