"""Faults on demand: refusals, slow answers, cut connections and rate limits for chosen requests."""

from __future__ import annotations

import json
import re
import socket
import struct
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

VIA = {"Via": "1.1 google"}


@dataclass
class Fault:
    """What happens to the next `times` requests that match; see the methods of Faults."""

    method: str
    pattern: re.Pattern[str]
    times: int
    status: int | None = None
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    reset: str | None = None
    hits: int = 0
    after_effect: bool = False

    def takes(self, method: str, path: str) -> bool:
        """Say whether this fault hits the request."""
        return self.times > 0 and self.method in ("*", method) and self.pattern.search(path) is not None

    @property
    def name(self) -> str:
        """A word for the log."""
        if self.reset is not None:
            return f"reset {self.reset}"
        return f"slow {self.delay:g}" if self.status is None else str(self.status)


class Faults:
    """The list of faults that wait for their request; the first that matches is used."""

    def __init__(self) -> None:
        """Start without faults."""
        self.waiting: list[Fault] = []
        self.outage = False

    def fail(
        self,
        method: str,
        path: str,
        *,
        status: int = 503,
        code: int = 0,
        message: str | None = None,
        body: Any = None,
        headers: dict[str, str] | None = None,
        times: int = 1,
        after_effect: bool = False,
    ) -> Fault:
        """Answer the next matching requests with an error; `after_effect` lets the request take effect first.

        `path` is a regular expression searched in the path below /api/v10; `body` is JSON-able or text.
        """
        given = {"message": message or f"{status}: fault", "code": code} if body is None else body
        return self._add(
            Fault(
                method,
                re.compile(path),
                times,
                status=status,
                body=given,
                headers=dict(headers or {}),
                after_effect=after_effect,
            )
        )

    def limit(
        self,
        method: str,
        path: str,
        *,
        retry_after: float = 0.05,
        scope: str = "user",
        via: bool = True,
        html: bool = False,
        times: int = 1,
    ) -> Fault:
        """Answer with 429; scope is "user", "shared" or "global"; without `via` or as HTML it is a ban."""
        headers = {"Retry-After": str(retry_after), "X-RateLimit-Scope": scope} | (VIA if via else {})
        if scope == "global":
            headers["X-RateLimit-Global"] = "true"
        body: Any = {
            "message": "You are being rate limited.",
            "retry_after": retry_after,
            "global": scope == "global",
        }
        if html:
            body = "<html><title>Access denied</title>error code: 1015</html>"
        return self.fail(method, path, status=429, body=body, headers=headers, times=times)

    def slow(self, method: str, path: str, seconds: float, *, when: str = "before", times: int = 1) -> Fault:
        """Let the next matching requests wait "before" they take effect, or "after", before the answer."""
        late = _is_after(when)
        return self._add(Fault(method, re.compile(path), times, delay=seconds, after_effect=late))

    def reset(self, method: str, path: str, *, when: str = "before", times: int = 1) -> Fault:
        """Cut the connection "before" the request takes effect, or "after" it did but before the answer."""
        late = _is_after(when)
        return self._add(Fault(method, re.compile(path), times, reset=when, after_effect=late))

    def take(self, method: str, path: str) -> Fault | None:
        """Use up and return the fault for a request."""
        for fault in self.waiting:
            if fault.takes(method, path):
                fault.times -= 1
                fault.hits += 1
                if fault.times == 0:
                    self.waiting.remove(fault)
                return fault
        return None

    def clear(self) -> None:
        """Forget every waiting fault."""
        self.waiting.clear()
        self.outage = False

    def _add(self, fault: Fault) -> Fault:
        self.waiting.append(fault)
        return fault


def _is_after(when: str) -> bool:
    if when not in ("before", "after"):
        raise ValueError(f"when must be 'before' or 'after', not {when!r}")
    return when == "after"


def answer_of(fault: Fault) -> web.Response:
    """Return the HTTP answer of a fault with a status."""
    if isinstance(fault.body, (str, bytes)):
        body = fault.body.encode() if isinstance(fault.body, str) else fault.body
        return web.Response(
            status=fault.status or 500, body=body, headers={"Content-Type": "text/html"} | fault.headers
        )
    return web.Response(
        status=fault.status or 500,
        body=json.dumps(fault.body).encode(),
        headers={"Content-Type": "application/json"} | fault.headers,
    )


def cut(request: web.BaseRequest) -> None:
    """Reset the TCP connection of a request, so that the client sees a broken connection."""
    transport = request.transport
    if transport is None:
        return
    raw = transport.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
