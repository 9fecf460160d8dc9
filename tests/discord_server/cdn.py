"""The CDN routes: attachment bytes and small pictures for avatars and emojis."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from .faults import answer_of, cut

if TYPE_CHECKING:
    from .server import DiscordServer

_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass(frozen=True)
class Cdn:
    """Serves the files of one server."""

    server: DiscordServer

    def install(self, app: web.Application) -> None:
        """Add the routes to an aiohttp application."""
        app.router.add_get("/cdn/attachments/{channel_id}/{attachment_id}/{filename}", self.attachment)
        app.router.add_get("/cdn/{kind:avatars|emojis|icons|embed}/{rest:.*}", self.picture)

    async def attachment(self, request: web.Request) -> web.Response:
        """Return a file; 404 once its message is gone or its address has expired."""
        fault = self.server.faults.take("GET", request.path)
        if fault is not None:
            await asyncio.sleep(fault.delay)
            if fault.reset is not None:
                cut(request)
            if fault.reset is not None or fault.status is not None:
                return answer_of(fault)
        found = self.server.world.files.get(int(request.match_info["attachment_id"]))
        if self.server.faults.outage or found is None or found.expired:
            return web.Response(status=404, text="This content is no longer available.")
        kind = found.content_type or "application/octet-stream"
        return web.Response(body=found.content, headers={"Content-Type": kind})

    async def picture(self, request: web.Request) -> web.Response:
        """Return a one-pixel PNG."""
        return web.Response(body=_PIXEL, headers={"Content-Type": "image/png"})
