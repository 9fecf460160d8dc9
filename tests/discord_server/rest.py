"""The REST door: reads requests, logs and checks them, applies faults and limits, calls the routes."""

from __future__ import annotations

import asyncio
import json
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import BodyPartReader, web

from . import (
    routes_application,
    routes_channels,
    routes_guilds,
    routes_interactions,
    routes_messages,
    routes_webhooks,
)
from .errors import ApiError
from .faults import Fault, answer_of, cut
from .log import RequestRecord, UploadedFile, Violation
from .routing import Call, Reply, Route

if TYPE_CHECKING:
    from .server import DiscordServer

API = "/api/v10"
_OPEN = ("/webhooks/{webhook_id}/{webhook_token}", "/interactions/")
MAX_UPLOAD = 60 * 1024 * 1024


def routes() -> tuple[Route, ...]:
    """Return every REST route; fixed paths come before those with parameters."""
    return (
        *routes_application.ROUTES,
        *routes_guilds.ROUTES,
        *routes_channels.ROUTES,
        *routes_messages.ROUTES,
        *routes_interactions.ROUTES,
        *routes_webhooks.ROUTES,
    )


@dataclass(frozen=True)
class Door:
    """Answers REST requests for one server."""

    server: DiscordServer

    def install(self, app: web.Application) -> None:
        """Add every route to an aiohttp application, and a last one that reports unknown paths."""
        for method, template, handler in routes():
            app.router.add_route(method, API + template, self._endpoint(template, handler))
        app.router.add_route("*", "/api/{rest:.*}", self._unknown)

    def _endpoint(self, template: str, handler: Callable[[Call], Any]) -> Callable[[web.Request], Any]:
        async def endpoint(request: web.Request) -> web.StreamResponse:
            record = await self._record(request, template)
            try:
                return await self._answer(request, record, handler)
            finally:
                self.server.changed.notify()

        return endpoint

    async def _unknown(self, request: web.Request) -> web.Response:
        record = await self._record(request, request.path)
        self._violate("route", record, "the loopback Discord has no such route")
        return self._reply(record, 404, {"message": "404: Not Found", "code": 0})

    async def _record(self, request: web.Request, template: str) -> RequestRecord:
        body, files = await read_body(request)
        record = RequestRecord(
            index=self.server.request_count,
            method=request.method,
            path=request.path.removeprefix(API),
            template=template,
            params=dict(request.match_info),
            query=dict(request.query),
            headers=dict(request.headers),
            json=body,
            files=files,
            at=time.monotonic(),
        )
        self.server.log_request(record)
        return record

    async def _answer(
        self, request: web.Request, record: RequestRecord, handler: Callable[[Call], Any]
    ) -> web.StreamResponse:
        faults = self.server.faults
        if faults.outage:
            record.fault = "outage"
            cut(request)
            return web.Response(status=503)
        fault = faults.take(record.method, record.path)
        if fault is not None:
            record.fault = fault.name
            if not fault.after_effect:
                refusal = await self._strike(request, record, fault)
                if refusal is not None:
                    return refusal
        limited = self.server.limits.refusal(record) if self.server.limits is not None else None
        if limited is not None:
            record.status = 429
            return limited
        response = self._perform(record, handler)
        if fault is not None and fault.after_effect:
            self.server.changed.notify()
            return await self._strike(request, record, fault) or response
        return response

    async def _strike(
        self, request: web.Request, record: RequestRecord, fault: Fault
    ) -> web.StreamResponse | None:
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.reset is not None:
            cut(request)
            return web.Response(status=503)
        if fault.status is None:
            return None
        record.status = fault.status
        return answer_of(fault)

    def _perform(self, record: RequestRecord, handler: Callable[[Call], Any]) -> web.Response:
        try:
            self._check_token(record)
            self._check_request(record)
            result = handler(Call(self.server, record))
        except ApiError as error:
            if error.rule:
                self._violate("rule", record, f"{error.message} {json.dumps(error.errors or {})}")
            record.code = error.code
            return self._reply(record, error.status, error.body())
        except Exception:
            self._violate("server", record, traceback.format_exc())
            return self._reply(record, 500, {"message": "500: Internal Server Error", "code": 0})
        if not isinstance(result, Reply):
            result = Reply(204) if result is None else Reply(200, result)
        self._check_reply(record, result)
        return self._reply(record, result.status, result.body)

    def _check_token(self, record: RequestRecord) -> None:
        if record.template.startswith(_OPEN):
            return
        if record.headers.get("Authorization") != f"Bot {self.server.token}":
            raise ApiError(401, 0, "401: Unauthorized")

    def _check_request(self, record: RequestRecord) -> None:
        if self.server.specification is None:
            return
        problems = self.server.specification.request_problems(
            record.method, record.template, record.query, record.json
        )
        for problem in problems:
            self._violate("request", record, problem)

    def _check_reply(self, record: RequestRecord, reply: Reply) -> None:
        if self.server.specification is None:
            return
        for problem in self.server.specification.reply_problems(
            record.method, record.template, reply.status, reply.body
        ):
            self._violate("reply", record, problem)

    def _violate(self, kind: str, record: RequestRecord, problem: str) -> None:
        self.server.violations.append(Violation(kind, record, problem))

    def _reply(self, record: RequestRecord, status: int, body: Any) -> web.Response:
        record.status, record.reply = status, body
        headers = self.server.limits.headers(record) if self.server.limits is not None else {}
        if body is None:
            return web.Response(status=status, headers=headers)
        # The client takes any other content type, also with a charset, for text.
        headers["Content-Type"] = "application/json"
        return web.Response(status=status, body=json.dumps(body).encode(), headers=headers)


async def read_body(request: web.Request) -> tuple[Any, list[UploadedFile]]:
    """Return the JSON of a request (payload_json of a multipart one) and its files."""
    if request.content_type.startswith("multipart/"):
        body: Any = None
        files: list[UploadedFile] = []
        reader = await request.multipart()
        async for part in reader:
            assert isinstance(part, BodyPartReader)
            content = bytes(await part.read(decode=False))
            if part.name == "payload_json":
                body = json.loads(content)
            elif part.filename is not None:
                kind = part.headers.get("Content-Type")
                files.append(UploadedFile(part.name or "", part.filename, kind, content))
            else:
                body = (body or {}) | {part.name or "": content.decode()}
        return body, files
    raw = await request.read()
    return (json.loads(raw) if raw else None), []
