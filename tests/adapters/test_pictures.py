"""Pictures: drawn in another process, which alone loads the library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bot.adapters import pictures as launcher
from bot.adapters.pictures import Pictures
from bot.core.pictures import Days, Timeline, Wheel

PNG = b"\x89PNG\r\n\x1a\n"
CALM = (2.0,) * 8


async def test_wheels_are_drawn_and_names_beyond_the_font_become_numbers(tmp_path: Path) -> None:
    drawn = await Pictures(cache=tmp_path).wheels([Wheel("Mira", CALM, CALM), Wheel("美羅", CALM, CALM)])
    assert drawn is not None
    assert drawn.png.startswith(PNG)
    assert drawn.legend == ((1, "美羅"),)


async def test_a_timeline_is_drawn_also_of_few_turns_and_of_odd_words(tmp_path: Path) -> None:
    pictures = Pictures(cache=tmp_path)
    for turns in (1, 3, 200):
        drawn = await pictures.timeline(
            Timeline("The $feast$ {", (CALM,) * turns, ((0, "Alice: \\alpha $x"),))
        )
        assert drawn is not None
        assert drawn.png.startswith(PNG)


async def test_days_are_drawn_also_of_nothing_and_of_odd_names(tmp_path: Path) -> None:
    pictures = Pictures(cache=tmp_path)
    labels = tuple(f"{day:02}.11." for day in range(1, 31))
    for series in ((), (("Mira", (5,) * 30), ("美羅 $", (0,) * 29 + (10**9,)))):
        drawn = await pictures.days(Days("Tokens by day", labels, series))
        assert drawn is not None
        assert drawn.png.startswith(PNG)
    assert drawn.legend == ((1, "美羅 $"),)


async def test_a_drawing_that_fails_leaves_the_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    assert await Pictures(cache=tmp_path).timeline(Timeline("x", (CALM,), ((9, "beyond"),))) is None
    assert "could not be drawn" in caplog.text
    monkeypatch.setattr(launcher, "TIMEOUT_S", 0.01)
    assert await Pictures(cache=tmp_path).wheels([Wheel("Mira", CALM, CALM)]) is None


def test_the_bot_never_loads_the_library() -> None:
    code = "import sys, bot.app, bot.client; sys.exit('matplotlib' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False)
    assert ran.returncode == 0
