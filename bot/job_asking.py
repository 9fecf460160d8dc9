"""What a command does with data that a bot may be using: the running bot does it, else this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from bot.data_lock import AlreadyOwned, owned
from bot.job_files import Job, JobFolder, Result
from bot.terminal import Screen

LOCK_S = 3.0
"""How often the one who waits looks whether the bot that had the job has ended."""
_LOOK_S: Final = 0.2

Alone = Callable[[], Awaitable[str]]
"""Does the job with the data folder owned; what to tell in the end."""


async def by_the_bot_or_alone(
    data_dir: Path, kind: str, subject_id: int, alone: Alone, screen: Screen
) -> Result:
    """Have it done by the bot that owns the data folder, and follow it; without one, or when it ends
    meanwhile, do it here."""
    try:
        with owned(data_dir):
            return Result(True, await alone())
    except AlreadyOwned:
        folder = JobFolder(data_dir)
        job = await asyncio.to_thread(folder.ask, kind, subject_id)
        try:
            return await _followed(data_dir, folder, job, alone, screen)
        finally:
            await asyncio.to_thread(folder.forget, job)


async def _followed(data_dir: Path, folder: JobFolder, job: Job, alone: Alone, screen: Screen) -> Result:
    shown, waited = "", 0.0
    screen.passing("The running bot is asked to do it")
    while (result := await asyncio.to_thread(folder.result, job)) is None:
        progress = await asyncio.to_thread(folder.progress, job)
        if progress and progress != shown:
            screen.passing(progress)
            shown = progress
        if waited >= LOCK_S:
            waited = 0.0
            try:
                with owned(data_dir):
                    return Result(True, await alone())
            except AlreadyOwned:
                pass
        await asyncio.sleep(_LOOK_S)
        waited += _LOOK_S
    return result
