"""Jobs left for the running bot: done once, followed, and no id stays in a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.errors import UserFacing
from bot.job_files import FOLDER, Job, JobFolder, Result, do_waiting

SUBJECT = 987654321987654321


def files(folder: Path) -> str:
    return "".join(path.read_text("utf-8") + path.name for path in folder.rglob("*") if path.is_file())


async def test_a_job_is_done_with_progress_and_its_result_is_told(tmp_path: Path) -> None:
    folder, seen = JobFolder(tmp_path), []

    async def handler(subject_id: int, progress: Callable[[str], None]) -> str:
        progress("half-way")
        seen.append((subject_id, folder.progress(job)))
        return "all done"

    job = folder.ask("forget", SUBJECT)
    assert folder.result(job) is None
    await do_waiting(folder, {"forget": handler})
    assert seen == [(SUBJECT, "half-way")]
    assert folder.result(job) == Result(True, "all done")
    assert str(SUBJECT) not in files(tmp_path)
    await do_waiting(folder, {"forget": handler})
    assert len(seen) == 1
    folder.forget(job)
    assert not (tmp_path / FOLDER).exists()


@pytest.mark.logs_exceptions
@pytest.mark.parametrize(
    ("failure", "told"), [(UserFacing("Try later."), "Try later."), (ValueError("secret"), "ValueError")]
)
async def test_a_failure_is_told_and_the_job_is_not_tried_again(
    tmp_path: Path, failure: Exception, told: str
) -> None:
    folder = JobFolder(tmp_path)

    async def handler(subject_id: int, progress: Callable[[str], None]) -> str:
        raise failure

    job = folder.ask("forget", SUBJECT)
    await do_waiting(folder, {"forget": handler})
    result = folder.result(job)
    assert result is not None
    assert not result.ok
    assert told in result.text
    assert "secret" not in result.text
    assert folder.waiting() == []


async def test_what_the_bot_does_not_know_is_refused(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path)
    job = folder.ask("dance", 1)
    await do_waiting(folder, {})
    assert folder.result(job) == Result(False, "The running bot cannot dance; it may be of another version.")


async def test_a_job_cut_short_by_the_end_of_the_process_waits_for_the_next(tmp_path: Path) -> None:
    folder, begun = JobFolder(tmp_path), asyncio.Event()

    async def handler(subject_id: int, progress: Callable[[str], None]) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    job = folder.ask("forget", SUBJECT)
    doing = asyncio.create_task(do_waiting(folder, {"forget": handler}))
    await begun.wait()
    doing.cancel()
    await asyncio.gather(doing, return_exceptions=True)
    assert folder.waiting() == [Job(job.name, "forget", SUBJECT)]


async def test_what_is_no_job_is_removed_and_an_empty_folder_is_quiet(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path)
    assert folder.waiting() == []
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "x.asked").write_text("{}", "utf-8")
    assert folder.waiting() == []
    assert files(tmp_path) == ""
