"""How the bot waits: nothing it awaits may swallow a cancellation."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.engine import actor
from tests.engine.stage import open_stage

ROOT = Path(__file__).parents[1]


def sources() -> Iterator[Path]:
    for folder in ("bot", "cogs"):
        yield from (ROOT / folder).rglob("*.py")


def test_waits_are_bounded_by_timeout_blocks() -> None:
    """`asyncio.wait_for` of Python 3.11 returns a result that comes in the moment of a cancellation, and the
    cancellation is lost (python/cpython issue 86296)."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "asyncio.wait_for"
    ]
    assert found == []


async def test_an_idle_place_loses_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places that fall asleep all the time hear everything."""
    monkeypatch.setattr(actor, "IDLE_SECONDS", 0.0)
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        for number in range(30):
            stage.say(f"Line {number}.")
            for _ in range(number % 5):
                await asyncio.sleep(0)
        await stage.quiet()
        assert [turn.text for turn in await stage.window()] == [f"Line {number}." for number in range(30)]
