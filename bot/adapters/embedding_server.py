"""Turns text into vectors at an OpenAI-compatible embeddings endpoint."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

import numpy as np

from bot.adapters.chat_call import Retries
from bot.adapters.chat_failures import Failure, Trouble
from bot.adapters.chat_server import ChatServer, Timeouts
from bot.adapters.recent_queries import RecentQueries
from bot.adapters.sentence_model import prompts_by_name
from bot.core.breaker import Breaker, BreakerRules
from bot.core.vectors import Vector
from bot.errors import SearchIndexError, SettingsError

BATCH: Final = 32
"""Texts in one request: what the strictest common server takes."""
BATCH_CHARACTERS: Final = 24_000
LONGEST: Final = 8_000
"""Characters of one text; a server that takes less is sent less."""
SHORTEST: Final = 200
QUERY_SECONDS: Final = 8.0
"""A reply waits no longer for this; it goes on with words."""
PASSAGE_SECONDS: Final = 60.0
PASSAGE_RETRIES: Final = Retries(count=4, longest_wait=30.0)
QUERY_RETRIES: Final = Retries(count=1, first_wait=0.5, longest_wait=2.0, after_silence=False)
RULES: Final = BreakerRules(failures=2, slow=5.0, first_wait=15.0, longest_wait=120.0)
_PURPOSE: Final = "embedding"
_PROBE: Final = "Good evening."

Progress = Callable[[str], None]


class ServedEncoder:
    """`bot.core.ports.Encoder` over HTTP. Nothing is asked before `load` or the first text.

    Busy servers are asked again; a text that is too long for the model is cut. SearchIndexError when no
    usable answer comes; SettingsError when the first one says that key, address or model are wrong. After
    failures it rests, not `ready`, so that replies do not wait for a server that is down. Close it, or use
    `async with`.
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str,
        api_key: str,
        retries: Retries = PASSAGE_RETRIES,
        query_seconds: float = QUERY_SECONDS,
        passage_seconds: float = PASSAGE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`model` as the server names it. The id does not name the server: it may move."""
        self._model = model
        self._prompts = prompts_by_name(model)
        self._server = ChatServer(
            base_url=base_url, api_key=api_key, timeouts=Timeouts(first_text=passage_seconds)
        )
        self._retries = retries
        self._seconds = (query_seconds, passage_seconds)
        self._clock = clock
        self._breaker = Breaker(RULES)
        self._dimensions = 0
        self._longest = LONGEST
        self._recent = RecentQueries()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def id(self) -> str:
        return f"openai:{self._model}"

    @property
    def dimensions(self) -> int:
        """0 until the first answer."""
        return self._dimensions

    @property
    def ready(self) -> bool:
        """Whether the server has answered, and is not resting after failures."""
        rested = not self._breaker.opened or self._breaker.may_be_tried(self._clock())
        return self._dimensions > 0 and rested and not self._closed

    async def load(self, progress: Progress | None = None) -> None:
        """Ask for one vector, which tells the dimensions."""
        if not self._dimensions:
            if progress is not None:
                progress(f"asking the embedding server {self._server.label}")
            await self.embed_passages([_PROBE])

    async def embed_query(self, texts: Sequence[str]) -> Vector:
        """The last 64 texts are remembered. Fails after 8 s rather than keep a reply waiting."""
        return self._stack(await self._recent.rows([_clean(text) for text in texts], self._ask_queries))

    async def _ask_queries(self, texts: list[str]) -> Sequence[Vector]:
        prompted = [self._prompts[0] + text for text in texts]
        return await self._ask(prompted, QUERY_RETRIES, self._seconds[0], self._seconds[0])

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        """In requests of up to 32 texts, one after the other."""
        rows: list[Vector] = []
        prompted = [self._prompts[1] + _clean(text) for text in texts]
        for batch in _batches(prompted):
            rows.extend(await self._ask(batch, self._retries, self._seconds[1], 3 * self._seconds[1]))
        return self._stack(rows)

    def forget(self) -> None:
        """See the port."""
        self._recent.clear()

    async def close(self) -> None:
        """Close the connections."""
        self._closed = True
        self._recent.clear()
        await self._server.aclose()

    # ------------------------------------------------------------ inside
    async def _ask(self, texts: list[str], retries: Retries, seconds: float, total: float) -> list[Vector]:
        """The vectors of one request's texts, within `total` seconds; the breaker hears how it went."""
        began = self._clock()
        trying = self._breaker.may_be_tried(began)
        if trying:
            self._breaker.begin_trial()
        try:
            async with asyncio.timeout(total):
                rows = await self._fitted(texts, retries, seconds)
        except (SearchIndexError, SettingsError, TimeoutError) as problem:
            now = self._clock()
            self._breaker.failed(now, took=now - began)
            if isinstance(problem, TimeoutError):
                raise SearchIndexError(f"{self._server.label} gave no vectors in time.") from problem
            raise
        except asyncio.CancelledError:
            if trying:
                self._breaker.end_trial()
            raise
        self._breaker.succeeded()
        return rows

    async def _fitted(self, texts: list[str], retries: Retries, seconds: float) -> list[Vector]:
        """Ask; where a text is too long for the model, ask for each alone, and cut what is still too long."""
        cut = [text[: self._longest] for text in texts]
        answer = await self._patiently(cut, retries, seconds)
        if not isinstance(answer, Failure):
            return answer
        if not answer.overflow:
            raise self._error(answer)
        if len(texts) > 1:
            return [(await self._fitted([text], retries, seconds))[0] for text in texts]
        if len(cut[0]) <= SHORTEST:
            raise self._error(answer)
        self._longest = max(SHORTEST, len(cut[0]) // 2)
        return await self._fitted(texts, retries, seconds)

    async def _patiently(self, texts: list[str], retries: Retries, seconds: float) -> list[Vector] | Failure:
        done = 0
        while True:
            answer = await self._once(texts, seconds)
            if not isinstance(answer, Failure) or answer.overflow:
                return answer
            wait = retries.wait(answer, done)
            if wait is None:
                return answer
            done += 1
            await asyncio.sleep(wait)

    async def _once(self, texts: list[str], seconds: float) -> list[Vector] | Failure:
        body = {"model": self._model, "input": texts}
        answer = await self._server.post("/embeddings", body, purpose=_PURPOSE, seconds=seconds)
        if isinstance(answer, Failure):
            return answer
        try:
            rows = _read(answer, len(texts))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as problem:
            return Failure(Trouble.GARBAGE, text=str(problem)[:100])
        length = len(rows[0]) if rows else self._dimensions
        if self._dimensions and length != self._dimensions:
            return Failure(Trouble.GARBAGE, text=f"vectors of {length} numbers, {self._dimensions} before")
        self._dimensions = length
        return rows

    def _error(self, failure: Failure) -> SearchIndexError | SettingsError:
        told = f"{self._server.label} gave no vectors ({failure.label}: {failure.text[:200]})"
        wrong = failure.final or failure.status in {404, 405}
        if wrong and not failure.overflow and not self._dimensions:
            return SettingsError(f"EMBEDDING_MODEL={self.id}: {told}")
        return SearchIndexError(told)

    def _stack(self, rows: Sequence[Vector]) -> Vector:
        if not rows:
            return np.zeros((0, self._dimensions), dtype=np.float32)
        return np.stack(rows).astype(np.float32, copy=False)


def _read(answer: object, wanted: int) -> list[Vector]:
    """Unit vectors in the order of the texts. What any other answer raises is caught by the caller."""
    entries = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(entries, list) or len(entries) != wanted:
        raise ValueError("no list of as many vectors as texts")
    rows: list[Vector | None] = [None] * wanted
    for place, entry in enumerate(entries):
        row = np.asarray(entry["embedding"], dtype=np.float32)
        length = float(np.linalg.norm(row)) if row.ndim == 1 and row.size else 0.0
        if not math.isfinite(length) or length <= 0:
            raise ValueError("a vector without a direction")
        rows[int(entry.get("index", place))] = row / np.float32(length)
    found = [row for row in rows if row is not None]
    if len(found) != wanted or len({row.size for row in found}) > 1:
        raise ValueError("vectors that do not fit together")
    return found


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, as many in one request as servers take."""
    few: list[str] = []
    for text in texts:
        size = sum(map(len, few)) + len(text)
        if few and (len(few) == BATCH or size > BATCH_CHARACTERS):
            yield few
            few = []
        few.append(text)
    if few:
        yield few


def _clean(text: str) -> str:
    """Without half surrogates and NUL, which no JSON server takes; an empty text stays a text."""
    plain = text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ").strip()
    return plain or "."
