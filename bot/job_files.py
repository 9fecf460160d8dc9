"""Jobs that another process leaves in the data folder for the bot that runs there, as small files."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.errors import TroupeError, new_reference

log = logging.getLogger(__name__)

FOLDER: Final = "jobs"
LOOK_SECONDS: Final = 0.5
_ASKED, _PROGRESS, _RESULT = ".asked", ".progress", ".result"


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked: a word for the kind and the id (of a member, a server, …) that it is about."""

    name: str
    kind: str
    subject_id: int


@dataclass(frozen=True, slots=True)
class Result:
    """How a job ended, in words for the one who asked."""

    ok: bool
    text: str


Handler = Callable[[int, Callable[[str], None]], Awaitable[str]]
"""Does a job for an id, telling its progress in words; what to tell in the end."""


class JobFolder:
    """Both sides of the folder. Reading and writing block for a moment: call them in a thread."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER

    # ------------------------------------------------------------ the one who asks
    def ask(self, kind: str, subject_id: int) -> Job:
        """Leave a job. It is done once, also when the bot is not running until later."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        job = Job(secrets.token_hex(8), kind, subject_id)
        self._write(job.name, _ASKED, json.dumps({"kind": kind, "subject_id": subject_id}))
        return job

    def progress(self, job: Job) -> str:
        """How far it is; empty before it began."""
        return self._read(job.name, _PROGRESS) or ""

    def result(self, job: Job) -> Result | None:
        """How it ended; None until then."""
        text = self._read(job.name, _RESULT)
        return Result(**json.loads(text)) if text else None

    def forget(self, job: Job) -> None:
        """Remove every trace of it."""
        for ending in (_ASKED, _PROGRESS, _RESULT):
            self._path(job.name, ending).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # somebody else's job is still there
            self._folder.rmdir()

    # ------------------------------------------------------------ the one who does it
    def waiting(self) -> list[Job]:
        """Jobs that nobody has done, oldest first. What is no job is removed."""
        if not self._folder.is_dir():
            return []
        found: list[Job] = []
        for path in sorted(self._folder.glob(f"*{_ASKED}"), key=lambda path: path.stat().st_mtime):
            try:
                asked = json.loads(path.read_text("utf-8"))
                found.append(Job(path.stem, str(asked["kind"]), int(asked["subject_id"])))
            except (ValueError, KeyError, TypeError):
                log.warning("%s is no job; it is removed", path.name)
                path.unlink(missing_ok=True)
            except FileNotFoundError:
                continue
        return found

    def tell(self, job: Job, text: str) -> None:
        """Say how far it is."""
        self._write(job.name, _PROGRESS, text)

    def take(self, job: Job) -> None:
        """What was asked is known now: the id is in no file any more."""
        self._path(job.name, _ASKED).unlink(missing_ok=True)

    def finish(self, job: Job, result: Result) -> None:
        """Say how it ended; the request is gone."""
        self.take(job)
        self._path(job.name, _PROGRESS).unlink(missing_ok=True)
        self._write(job.name, _RESULT, json.dumps({"ok": result.ok, "text": result.text}))

    # ------------------------------------------------------------ files
    def _path(self, name: str, ending: str) -> Path:
        return self._folder / f"{name}{ending}"

    def _read(self, name: str, ending: str) -> str | None:
        try:
            return self._path(name, ending).read_text("utf-8")
        except FileNotFoundError:
            return None

    def _write(self, name: str, ending: str, text: str) -> None:
        beside = self._path(name, f"{ending}.new")
        beside.write_text(text, "utf-8")
        os.replace(beside, self._path(name, ending))


async def do_waiting(
    folder: JobFolder, handlers: Mapping[str, Handler], *, mine: Callable[[str], bool] = lambda kind: True
) -> float:
    """Do what waits and is of a kind that is `mine`, one after the other; the seconds until the next look.

    A job that fails is told so and not tried again; one that is cut short by the process's end is.
    """
    for job in await asyncio.to_thread(folder.waiting):
        if not mine(job.kind):
            continue
        result = await _do(folder, job, handlers.get(job.kind))
        await asyncio.to_thread(folder.finish, job, result)
    return LOOK_SECONDS


async def _do(folder: JobFolder, job: Job, handler: Handler | None) -> Result:
    if handler is None:
        return Result(False, f"The running bot cannot {job.kind}; it may be of another version.")
    log.info("Doing a job that was left: %s", job.kind)
    try:
        return Result(True, await handler(job.subject_id, lambda text: folder.tell(job, text)))
    except TroupeError as problem:
        return Result(False, str(problem))
    except Exception as problem:  # the edge of a job: the one who asked must not wait for ever
        number = new_reference()
        log.exception("A job failed: %s (ref %s)", job.kind, number)
        return Result(
            False, f"It failed ({type(problem).__name__}); the bot's log tells more (ref {number})."
        )
