"""Lines in, without blocking and without loss; text out, without control characters."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import threading
from collections.abc import Iterator

import pytest

from bot.terminal import PipedLines, Screen


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    out, into = os.pipe()
    yield out, into
    with contextlib.suppress(OSError):  # a test may have closed it, to end the input
        os.close(into)
    for thread in threading.enumerate():
        if thread.name == "reading":  # it must not read from the next pipe of the same number
            thread.join(10)
    os.close(out)


async def all_of(lines: PipedLines) -> list[str]:
    found = []
    while (line := await lines.read()) is not None:
        found.append(line)
    return found


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\r\n\r\nlast without an end", ["one", "", "last without an end"]),
        ("\ufeffgr\u00fcn\n".encode(), ["gr\u00fcn"]),
        (b"bad \xff byte\n", ["bad \ufffd byte"]),
        (b"", []),
    ],
)
async def test_piped_lines_come_whole(pipe: tuple[int, int], written: bytes, expected: list[str]) -> None:
    os.write(pipe[1], written)
    os.close(pipe[1])
    assert await all_of(PipedLines(pipe[0])) == expected


async def test_a_character_cut_by_a_chunk_is_put_together(pipe: tuple[int, int]) -> None:
    lines = PipedLines(pipe[0])
    text = "\u00fc".encode()
    os.write(pipe[1], text[:1])
    reading = asyncio.create_task(lines.read())
    await asyncio.sleep(0)
    os.write(pipe[1], text[1:] + b"\n")
    assert await reading == "\u00fc"


async def test_the_end_of_input_stays_the_end(pipe: tuple[int, int]) -> None:
    os.close(pipe[1])
    lines = PipedLines(pipe[0])
    assert [await lines.read(), await lines.read()] == [None, None]


async def test_no_input_at_all_is_the_end() -> None:
    assert await PipedLines(None).read() is None


async def test_a_waiting_read_can_be_cancelled_and_loses_nothing(pipe: tuple[int, int]) -> None:
    lines = PipedLines(pipe[0])
    reading = asyncio.create_task(lines.read())
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    os.write(pipe[1], b"still here\n")
    assert await lines.read() == "still here"


def test_pieces_are_ended_before_a_line() -> None:
    out = io.StringIO()
    screen = Screen(out=out, interactive=True)
    screen.piece("Mira: Sit")
    screen.piece(" down.")
    screen.line("next")
    screen.end_line()
    assert out.getvalue() == "Mira: Sit down.\nnext\n"


def test_control_characters_never_reach_the_terminal() -> None:
    out = io.StringIO()
    Screen(out=out, interactive=True).line("a\x1b[2J\x07b\u009bc\ttab\nline")
    assert out.getvalue() == "a[2Jbc\ttab\nline\n"


async def test_a_progress_line_is_taken_back_on_a_terminal() -> None:
    out = io.StringIO()
    screen = Screen(out=out, interactive=True)
    async with screen.waiting("Loading"):
        await asyncio.sleep(0)
        assert "Loading … 0 s" in out.getvalue()
    screen.line("done")
    assert out.getvalue().endswith("\r\x1b[Kdone\n")


async def test_a_short_wait_leaves_no_trace_in_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    async with Screen(out=out, interactive=False).waiting("Loading"):
        await asyncio.sleep(0)
    assert out.getvalue() == ""
    assert capsys.readouterr().err == ""


def test_a_passing_line_is_replaced_on_a_terminal_and_kept_apart_elsewhere(
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal, script = io.StringIO(), io.StringIO()
    shown = Screen(out=terminal, interactive=True)
    shown.passing("1 of 2")
    shown.line("done")
    assert terminal.getvalue() == "\r\x1b[K1 of 2\r\x1b[Kdone\n"
    Screen(out=script, interactive=False).passing("1 of 2")
    assert script.getvalue() == ""
    assert capsys.readouterr().err == "1 of 2\n"
