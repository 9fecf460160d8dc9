"""The bundled model's child when it dies: started again, calls asked once more, an end that is sure."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from pathlib import Path

import pytest

from bot.adapters import local_model
from bot.adapters.chat_model import OpenAIChatModel
from bot.adapters.local_model import BUNDLED_QUIRKS, BUNDLED_RETRIES, LocalModel
from bot.adapters.local_model_child import how_it_ended
from bot.core.chat import ChatMessage
from bot.errors import ModelUnavailable
from tests.adapters.test_local_model import runs

HELLO = [ChatMessage("user", "Alice: Good evening!")]
SERVER = """
import json, os, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder = os.path.dirname(os.path.abspath(__file__))
port = int(sys.argv[sys.argv.index("--port") + 1])

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        open(os.path.join(folder, "asked"), "a").write("x")
        if os.path.exists(os.path.join(folder, "hang")):
            threading.Event().wait()
        said = {"choices": [{"message": {"content": "Good evening."}, "finish_reason": "stop"}]}
        answer = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass

if os.path.exists(os.path.join(folder, "broken")):
    sys.exit(3)
server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}), flush=True)
sys.stdin.buffer.read()
if os.path.exists(os.path.join(folder, "stubborn")):
    threading.Event().wait()
os._exit(0)
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that serves like llama.cpp; files beside it make it hang, break or stay."""
    monkeypatch.setattr(local_model, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(local_model, "find_weights", lambda: tmp_path / "server.py")
    program = tmp_path / "server.py"
    program.write_text(SERVER)
    return program


def chat_of(local: LocalModel) -> OpenAIChatModel:
    return OpenAIChatModel(
        base_url=local.base_url,
        api_key="",
        model=local.name,
        quirks=BUNDLED_QUIRKS,
        retries=BUNDLED_RETRIES,
        sleep=local.rest,
    )


def running(program: Path) -> list[str]:
    """The processes that run a program."""
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [command.parent.name] if str(program).encode() in command.read_bytes() else []
    return found


async def until(true: object) -> None:
    """Wait until `true()`."""
    assert callable(true)
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.01)


async def test_a_running_call_is_asked_once_more_of_the_next_child(
    server: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (server.parent / "hang").touch()
    async with LocalModel(server=server) as local:
        chat, first = chat_of(local), local.pid
        assert first is not None
        call = asyncio.create_task(chat.complete(HELLO, purpose="reply", max_tokens=9))
        await until((server.parent / "asked").exists)
        (server.parent / "hang").unlink()
        with caplog.at_level(logging.WARNING, "bot.adapters.local_model"):
            os.kill(first, signal.SIGKILL)
            assert (await call).text == "Good evening."
        assert local.pid != first
        assert (server.parent / "asked").read_text() == "xx"
        assert chat.name == local.name
        await chat.aclose()
    (line,) = [record.message for record in caplog.records if record.name == "bot.adapters.local_model"]
    assert "killed (signal 9), most likely because the machine ran out of memory" in line


async def test_a_child_that_cannot_start_is_tried_less_and_less_often(
    server: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(local_model, "WORTH_WAITING", 0.05)
    monkeypatch.setattr(local_model, "LONGEST_WAIT", 0.1)
    async with LocalModel(server=server) as local:
        chat, first = chat_of(local), local.pid
        assert first is not None
        (server.parent / "broken").touch()
        os.kill(first, signal.SIGTERM)
        await until(lambda: len(caplog.records) >= 4)
        with pytest.raises(ModelUnavailable):
            await chat.complete(HELLO, purpose="reply", max_tokens=9)
        (server.parent / "broken").unlink()
        await until(lambda: local.pid != first and runs(local.pid or 0))
        assert (await chat.complete(HELLO, purpose="reply", max_tokens=9)).text == "Good evening."
        await chat.aclose()
    told = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert "crashed (signal 15); it starts again in 0.01 s" in told[0]
    assert told[1].startswith(
        "The bundled language model ended before it was ready. It is tried again in 0.02"
    )
    assert told[-1].endswith("again in 0.1 s.")


@pytest.mark.parametrize("stubborn", [False, True])
async def test_its_end_is_sure(server: Path, monkeypatch: pytest.MonkeyPatch, stubborn: bool) -> None:
    monkeypatch.setattr("bot.adapters.local_model_child._GRACE", 0.3)
    if stubborn:
        (server.parent / "stubborn").touch()
    async with LocalModel(server=server) as local:
        pid = local.pid or 0
        assert runs(pid)
    assert not runs(pid)


async def test_an_end_in_the_middle_of_a_restart_leaves_no_child(server: Path) -> None:
    seen = []
    for pause in (0.0, 0.02, 0.06):
        async with LocalModel(server=server) as local:
            seen.append(local.pid or 0)
            os.kill(seen[-1], signal.SIGKILL)
            await asyncio.sleep(pause)
        assert local.pid is None
    assert not running(server)


@pytest.mark.parametrize(
    ("code", "words"), [(-9, "out of memory"), (-11, "crashed (signal 11)"), (3, "exit code 3")]
)
def test_how_a_child_ended_is_told(code: int, words: str) -> None:
    assert words in how_it_ended(code)


async def test_the_real_model_answers_again_after_it_was_killed() -> None:
    async with LocalModel() as local:
        chat = chat_of(local)
        os.kill(local.pid or 0, signal.SIGKILL)
        completion = await chat.complete(HELLO, purpose="reply", max_tokens=4)
        assert completion.text.strip()
        await chat.aclose()
