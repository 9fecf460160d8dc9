"""A signal ends the process in order and in time; a real process, a real signal."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from bot import lifetime

PROGRAM = """
    import asyncio, sys, threading, time
    from bot import lifetime

    async def main() -> int:
        print("begun", flush=True)
        try:
            await asyncio.sleep(60)
        finally:
            {closing}
        return 5

    {before}
    lifetime.end_process(lifetime.run(main, drain_s={drain}), patience_s=0.3)
"""


def start(
    root: Path, closing: str = "print('closed', flush=True)", drain: float = 10, before: str = ""
) -> subprocess.Popen[str]:
    source = textwrap.dedent(PROGRAM).format(closing=closing, drain=drain, before=before)
    process = subprocess.Popen([sys.executable, "-c", source], cwd=root, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=30)
    return process.returncode, output


def test_the_tasks_own_code_is_returned_and_the_caller_lives_on() -> None:
    async def seven() -> int:
        await asyncio.sleep(0)
        return 7

    assert lifetime.run(seven) == 7
    timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    assert all(timer.finished.is_set() for timer in timers), "a timer would end the caller's process"


def test_an_error_travels_on() -> None:
    async def broken() -> int:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        lifetime.run(broken)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_closes_in_order_and_exits_0(root: Path, number: signal.Signals) -> None:
    process = start(root)
    process.send_signal(number)
    assert ended(process) == (0, "closed\n")


def test_what_takes_too_long_is_ended(root: Path) -> None:
    process = start(root, closing="await asyncio.sleep(60)", drain=0.3)
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 1


def test_a_stuck_event_loop_is_ended_too(root: Path) -> None:
    process = start(root, closing="time.sleep(60)", drain=0.3)
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 1


def test_a_thread_that_never_ends_does_not_hold_the_process(root: Path) -> None:
    process = start(root, drain=0.3, before="threading.Thread(target=time.sleep, args=(60,)).start()")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert ended(process) == (0, "closed\n")
    assert time.monotonic() - began < 20


def test_a_second_signal_ends_it_at_once(root: Path) -> None:
    process = start(root, closing="print('closing', flush=True); await asyncio.sleep(60)", drain=50)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "closing\n"
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == lifetime.FORCED + signal.SIGINT


def test_a_stopped_process_collects_no_garbage_before_it_ends(root: Path) -> None:
    looking = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 0))"
    process = start(root, before=looking)
    process.send_signal(signal.SIGTERM)
    assert ended(process) == (0, "closed\nTrue\n")
