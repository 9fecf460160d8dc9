"""The HTTP side of a model server, through the openai package.

The only module that imports it, and only when it is prepared or first asked, in a thread: it takes a second.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from bot.adapters.chat_failures import Failure, Trouble, read_failure
from bot.adapters.chat_stream import NotAnAnswer
from bot.adapters.whole_calls import WholeCalls

IDLE_CONNECTION_S = 3.0
"""A connection that was idle for so long is not used again: many servers hang up after five seconds, and a
question that crosses with that is lost."""
_MOST_REDIRECTS = 3
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

if TYPE_CHECKING:
    import openai

    Stream = openai.AsyncStream[object]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. `first_text` counts silence on the line until text begins (a server's keep-alives are
    no silence), `between` the gaps after it, `total` everything, retries and waiting included.
    """

    connect: float = 10.0
    first_text: float = 120.0
    between: float = 45.0
    usage: float = 5.0
    total: float = 240.0
    question: float = 5.0


DEFAULT_TIMEOUTS = Timeouts()


class ChatServer:
    """Sends requests and turns every exception of the library into a Failure, which holds no secret."""

    def __init__(self, *, base_url: str, api_key: str, timeouts: Timeouts) -> None:
        self._address = urlsplit(base_url.strip())
        self._plain = self._address._replace(netloc=self._address.netloc.rpartition("@")[2])
        self.label = self._address.hostname or "the model server"
        self._key = api_key
        self._timeouts = timeouts
        user = [unquote(part) for part in (self._address.username, self._address.password) if part]
        self._secrets = (api_key, *user)
        self._client: openai.AsyncOpenAI | None = None
        self._connecting = asyncio.Lock()
        self.calls = WholeCalls()

    async def open(self, body: Mapping[str, object], *, purpose: str) -> Stream | Failure:
        """Post a completion request and return its answer, unread. The caller closes it, and runs it all
        in `calls`."""
        client = await self._connect()
        import openai  # noqa: PLC0415 - see above

        try:
            return await client.post(
                "/chat/completions",
                cast_to=object,
                body=body,
                options={"headers": {"X-Troupe-Purpose": purpose}},
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
        except Exception as error:  # whatever the library or the HTTP client below it raises
            return self.failure(error)

    async def post(
        self, path: str, body: Mapping[str, object], *, purpose: str, seconds: float
    ) -> object | Failure:
        """Post a request that is answered in one piece; return the JSON of the answer."""
        client = await self._connect()
        try:
            asked = client.post(
                path,
                cast_to=object,
                body=body,
                options={"headers": {"X-Troupe-Purpose": purpose}, "timeout": seconds},
            )
            found: object = await self.calls.run(asked, name=f"ask for {path}")
        except Exception as error:  # whatever the library or the HTTP client below it raises
            return self.failure(error)
        return found

    async def get(self, path: str) -> object:
        """Return the JSON at a path of the API, or with a leading "/" of the server; None without one."""
        root = self._plain._replace(path="", query="", fragment="").geturl()
        url = f"{root}{path}" if path.startswith("/") else f"/{path}"
        client = await self._connect()
        try:
            asked = client.get(url, cast_to=object, options={"timeout": self._timeouts.question})
            found = await self.calls.run(asked, name=f"ask for {path}")
        except Exception:  # a question that may go unanswered, whatever the reason
            return None
        return found

    def failure(self, error: Exception) -> Failure:
        """Return our account of an exception of the library, which may hold the key or the prompt."""
        import openai  # noqa: PLC0415 - see above

        if isinstance(error, NotAnAnswer):
            return Failure(Trouble.GARBAGE, text=str(error))
        if isinstance(error, openai.APIStatusError):
            failure = self.read_failure(error.status_code, error.body, error.response.headers)
            return replace(failure, text=f"{_redirected(error)}{failure.text}")
        cause = error.__cause__ or error
        kinds = {kind.__name__ for kind in type(cause).__mro__}  # of the HTTP client below the library
        if "TooManyRedirects" in kinds:
            return Failure(Trouble.STATUS, status=404, text="it redirects without an end")
        if isinstance(error, openai.APITimeoutError | TimeoutError) or "TimeoutException" in kinds:
            return Failure(Trouble.TIMEOUT, text="silence")
        if isinstance(error, openai.APIConnectionError) or "TransportError" in kinds:
            return Failure(Trouble.CONNECTION, text=type(cause).__name__)
        return Failure(Trouble.GARBAGE, text=type(error).__name__)

    def read_failure(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> Failure:
        """Return the failure that an error answer describes."""
        return read_failure(status, body, headers or {}, secrets=self._secrets)

    async def prepare(self) -> None:
        """Load the library now, so that the first request need not wait for it."""
        await self._connect()

    async def aclose(self) -> None:
        """Close the connections."""
        await self.calls.ended()
        if self._client is not None:
            await self._client.close()

    async def _connect(self) -> openai.AsyncOpenAI:
        async with self._connecting:
            if self._client is None:
                self._client = await asyncio.to_thread(self._make_client)
        return self._client

    def _make_client(self) -> openai.AsyncOpenAI:
        import openai  # noqa: PLC0415 - see above

        timeouts = self._timeouts
        limits = copy(openai.DEFAULT_CONNECTION_LIMITS)
        limits.keepalive_expiry = IDLE_CONNECTION_S
        client = openai.AsyncOpenAI(
            base_url=self._plain.geturl(),
            api_key=self._key or "none",
            max_retries=0,
            default_headers=_authorization(self._address),
            http_client=openai.DefaultAsyncHttpxClient(
                trust_env=self.label not in _LOOPBACK, max_redirects=_MOST_REDIRECTS, limits=limits
            ),
            timeout=openai.Timeout(
                connect=timeouts.connect, read=timeouts.first_text, write=30.0, pool=timeouts.total
            ),
        )
        # Taken from the environment by the library; no business of other servers.
        client.organization = client.project = None
        return client


def _authorization(address: SplitResult) -> dict[str, str]:
    """Return the address's user part as a header, since addresses are logged by the HTTP client."""
    if address.username is None:
        return {}
    pair = f"{unquote(address.username)}:{unquote(address.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _redirected(error: openai.APIStatusError) -> str:
    """Say where the request ended, if not at the address of the settings: on the way it may lose its body."""
    if not error.response.history:
        return ""
    url = error.response.url
    return f"(redirected to {url.scheme}://{url.host}{url.path}) "


def status_in(error: object, default: int) -> int:
    """Return the HTTP status that an error object names."""
    code = error.get("code") if isinstance(error, Mapping) else None
    status = int(code) if isinstance(code, int | str) and str(code).isdecimal() else default
    return status if 400 <= status < 600 else default
