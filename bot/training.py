"""`python -m bot train-emotion`: fits the head that reads feelings to this machine's embedding model."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from bot.adapters.emotion_head import head_path
from bot.core.vectors import Vector
from bot.encoders import encoder_of
from bot.errors import SettingsError
from bot.settings import Settings
from bot.terminal import Screen
from bot.train_emotion import train


async def train_head(settings: Settings, files: Sequence[Path], out: Path | None) -> int:
    """Train, show progress and the figures of lines kept apart. The bot takes the new head at its next start.

    SettingsError when a file cannot be read or they hold too few lines.
    """
    screen = Screen(out=sys.stdout, interactive=sys.stdout.isatty())
    encoder = encoder_of(settings)
    target = out or head_path(settings.data_dir, encoder.id)
    loop = asyncio.get_running_loop()

    def encode(texts: Sequence[str]) -> Vector:
        return asyncio.run_coroutine_threadsafe(encoder.embed_passages(texts), loop).result()

    def progress(text: str) -> None:
        loop.call_soon_threadsafe(screen.passing, text)

    async with encoder:
        async with screen.waiting("Loading the embedding model"):
            await encoder.load()
        try:
            figures = await asyncio.to_thread(
                train, files, encode=encode, out=target, progress=progress, name=target.stem
            )
        except (OSError, ValueError) as problem:
            raise SettingsError(f"The files cannot be used: {problem}") from problem
    screen.line(", ".join(f"{name} {round(value, 3):g}" for name, value in figures.items()))
    screen.line(f"The head is in {target}")
    return 0
