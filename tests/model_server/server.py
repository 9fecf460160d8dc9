"""The server itself: routes, scripts by purpose, and a record of every request."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from aiohttp import web

from tests.model_server.behaviours import (
    Behaviour,
    ErrorInStream,
    Fail,
    NoChoices,
    Raw,
    Reset,
    Say,
    Stall,
    ToolCall,
    WebPage,
)
from tests.model_server.embeddings import Embed
from tests.model_server.improvised import improvise
from tests.model_server.refusals import Refusal, overflow_of, refusal_of
from tests.model_server.vendors import Vendor
from tests.model_server.wire import Exchange, Json, count_prompt, messages_of

KINDS: dict[str, type[Behaviour]] = {
    kind.__name__: kind
    for kind in (Say, Fail, WebPage, Raw, ErrorInStream, Reset, Stall, ToolCall, NoChoices, Embed)
}


@dataclass
class RecordedRequest:
    """One completion request. Times are of `time.monotonic`; `ended` is None while it runs."""

    number: int
    purpose: str
    body: Json
    headers: Mapping[str, str]
    arrived: float
    ended: float | None = None
    closed_by_client: bool = False
    refused: bool = False
    client_port: int = 0
    """Which of the client's connections it came by."""

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Role and content of each message."""
        return [(str(message["role"]), str(message["content"])) for message in messages_of(self.body)]

    @property
    def text(self) -> str:
        """All contents, one below the other."""
        return "\n".join(content for _, content in self.messages)

    def as_json(self) -> Json:
        fields = ("number", "purpose", "body", "arrived", "ended", "closed_by_client", "refused")
        return {name: getattr(self, name) for name in fields} | {"headers": dict(self.headers)}


Answering = Behaviour | Callable[[RecordedRequest], Behaviour]
Script = Answering | Sequence[Answering]
"""One behaviour for all requests, a function of the request, or a row of them, used up one by one;
after its end the server improvises."""


@dataclass
class ModelServer:
    """`async with ModelServer(...) as server:` serves at `server.url` until the block ends.

    script: by purpose (the `X-Troupe-Purpose` header); "*" answers for purposes without their own.
    refuses: kinds of requests that are refused, with the number of the vendor's wording.
    context: tokens that fit; a longer prompt is refused in the words of `overflow_vendor`.
    pages: JSON for GET, by path; a model list is there by default.
    vendor: a server of the field to be like, in what it takes, refuses and how it streams.
    """

    script: dict[str, Script] = field(default_factory=dict)
    refuses: dict[Refusal, int] = field(default_factory=dict)
    context: int | None = None
    overflow_vendor: str = "openai"
    model: str = "scripted"
    pages: dict[str, object] = field(default_factory=dict)
    delay: float = 0.0
    vendor: Vendor | None = None
    host: str = "127.0.0.1"
    port: int = 0

    def __post_init__(self) -> None:
        self.requests: list[RecordedRequest] = []
        self._news = asyncio.Event()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._rows: dict[str, int] = {}
        self.redirects: dict[str, tuple[int, str]] = {}
        """Where a path leads and with which status."""

    @property
    def root(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The base address for clients."""
        return f"{self.root}/v1"

    @property
    def open_connections(self) -> int:
        """How many connections of clients are open."""
        server = self._runner.server if self._runner is not None else None
        return sum(one.transport is not None for one in server.connections) if server is not None else 0

    def of(self, purpose: str) -> list[RecordedRequest]:
        """Return the requests of one purpose, in order."""
        return [request for request in self.requests if request.purpose == purpose]

    def set_script(self, purpose: str, script: Script) -> None:
        """Replace the script of a purpose; a row begins at its start."""
        self.script[purpose] = script
        self._rows.pop(purpose, None)

    async def wait_until(self, true: Callable[[ModelServer], object], timeout: float = 30.0) -> None:
        """Wait until a request came or ended that makes `true(server)` true."""
        async with asyncio.timeout(timeout):
            while not true(self):
                self._news.clear()
                await self._news.wait()

    async def __aenter__(self) -> ModelServer:
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/v1/embeddings", self._complete)
        app.router.add_get("/_requests", self._list_requests)
        app.router.add_post("/_script", self._take_script)
        app.router.add_post("/{path:.*}", self._elsewhere)
        app.router.add_get("/{path:.*}", self._page)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.port)
        await site.start()
        self.port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.text())
        record = RecordedRequest(
            number=len(self.requests) + 1,
            purpose=request.headers.get("X-Troupe-Purpose", ""),
            body=body,
            headers={name.lower(): value for name, value in request.headers.items()},
            arrived=time.monotonic(),
            client_port=request.transport.get_extra_info("peername")[1] if request.transport else 0,
        )
        self.requests.append(record)
        self._news.set()
        exchange = Exchange(request, body, self._closing)
        try:
            await self._behaviour(record).play(exchange)
        except asyncio.CancelledError:
            record.closed_by_client = True
            raise
        except ConnectionError:  # the client left in the middle of a stream, as it may
            record.closed_by_client = True
        finally:
            record.ended = time.monotonic()
            self._news.set()
        return exchange.response or web.Response(status=500)

    def be(self, vendor: Vendor, *, context: int | None = None) -> None:
        """Be like this server from now on, with a context of so many tokens."""
        self.vendor, self.model, self.context = vendor, vendor.model, context
        self.pages = dict(vendor.pages(context or 4096))

    def _behaviour(self, record: RecordedRequest) -> Behaviour:
        if self.vendor is None:
            return self._plain_behaviour(record)
        refusal = self.vendor.behaviour(record.body, record.headers, self.context)
        record.refused = refusal is not None
        return refusal or self.vendor.shaped(self._plain_behaviour(record))

    def _plain_behaviour(self, record: RecordedRequest) -> Behaviour:
        if (refusal := refusal_of(record.body, self.refuses)) is not None:
            record.refused = True
            return refusal
        asked = count_prompt(record.body)
        if self.vendor is None and self.context is not None and asked > self.context:
            record.refused = True
            return overflow_of(self.overflow_vendor, limit=self.context, asked=asked)
        answering = self._scripted(record.purpose if record.purpose in self.script else "*")
        if answering is None:
            if "input" in record.body:
                return Embed()
            return Say(improvise(record.body, len(self.of(record.purpose))), delay=self.delay)
        return answering if isinstance(answering, Behaviour) else answering(record)

    def _scripted(self, purpose: str) -> Answering | None:
        script = self.script.get(purpose)
        if not isinstance(script, Sequence):
            return script
        position = self._rows.get(purpose, 0)
        self._rows[purpose] = position + 1
        return script[position] if position < len(script) else None

    async def _page(self, request: web.Request) -> web.Response:
        entry: Json = {"id": self.model, "object": "model", "owned_by": "tests"}
        if self.context is not None:
            entry["max_model_len"] = self.context
        pages = {"/v1/models": {"object": "list", "data": [entry]}} | self.pages
        if request.path in pages:
            return web.json_response(pages[request.path])
        return web.json_response({"error": {"message": "not here", "code": 404}}, status=404)

    async def _elsewhere(self, request: web.Request) -> web.Response:
        if request.path not in self.redirects:
            return web.Response(status=404, text="404 page not found")
        status, target = self.redirects[request.path]
        return web.Response(status=status, headers={"Location": f"{self.root}{target}"})

    def hang_up(self) -> None:
        """Close every connection that waits for another request, without a word."""
        assert self._runner is not None
        assert self._runner.server is not None
        for connection in self._runner.server.connections:
            if connection.transport is not None:
                connection.transport.close()

    async def _list_requests(self, _: web.Request) -> web.Response:
        return web.json_response([record.as_json() for record in self.requests])

    async def _take_script(self, request: web.Request) -> web.Response:
        """Take `{"purpose": ..., "behaviours": [{"kind": "Say", "text": ...}, ...]}` from another process."""
        order = await request.json()
        self.set_script(order["purpose"], [behaviour_of(entry) for entry in order["behaviours"]])
        return web.json_response({})


def behaviour_of(entry: Mapping[str, object]) -> Behaviour:
    """Return the behaviour that a JSON object names by its class and fields."""
    fields = {name: value for name, value in entry.items() if name != "kind"}
    return KINDS[str(entry["kind"])](**fields)
