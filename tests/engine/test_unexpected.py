"""What fails unexpectedly in the engine: one record in the log, whose reference the place is told, once."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from bot.engine.jobs import Jobs, beside
from tests.engine.stage import TAVERN, Stage, open_stage

pytestmark = pytest.mark.logs_exceptions


async def broken(*_: object, **__: object) -> Any:
    raise ValueError("a secret detail")


def check(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """One record with a traceback, one notice with its reference."""
    (record,) = [one for one in caplog.records if one.exc_info]
    ((_, told),) = stage.messenger.notices
    (reference,) = re.findall(r"reference (\w{6})", told)
    assert f"(ref {reference})" in record.getMessage()
    assert "secret" not in told


async def test_an_event_that_its_place_cannot_take(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        recorded = stage.troupe.conduct.recorded
        stage.troupe.conduct.recorded = broken  # type: ignore[method-assign]
        stage.say("Mira, hello!")
        await stage.quiet()
        stage.troupe.conduct.recorded = recorded  # type: ignore[method-assign]
        check(stage, caplog)
        stage.say("Mira, and now?")
        await stage.quiet()
        assert len(stage.messenger.texts()) == 1


async def test_a_reply_that_cannot_be_committed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        commit = stage.troupe.conduct.commit
        stage.troupe.conduct.commit = broken  # type: ignore[method-assign]
        stage.say("Mira, hello!")
        await stage.quiet()
        stage.troupe.conduct.commit = commit  # type: ignore[method-assign]
        check(stage, caplog)
        assert not stage.messenger.texts()


async def test_an_event_that_cannot_be_stored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        commit = stage.store.turns.commit
        stage.store.turns.commit = broken  # type: ignore[method-assign]
        stage.say("Mira, hello!")
        await stage.quiet()
        stage.store.turns.commit = commit  # type: ignore[method-assign]
        check(stage, caplog)


async def test_the_journal_goes_on_when_a_place_cannot_be_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        tell, told = stage.troupe.journal._tell, []

        def once(*given: Any) -> None:
            told.append(given)
            if len(told) == 1:
                raise ValueError("a secret detail")
            tell(*given)

        stage.troupe.journal._tell = once
        stage.say("Bob sits down.")
        stage.say("Mira, hello!")
        await stage.quiet()
        check(stage, caplog)
        assert len(stage.messenger.texts()) == 1


async def test_a_check_that_fails_loses_no_message_that_waits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        refuses = broken

    async with open_stage(tmp_path, moderation=Broken()) as stage:
        await stage.scene(await stage.persona())
        await stage.troupe.options.set(TAVERN.space_id, 0, "moderation", "members")
        stage.say("Bob sits down.")
        stage.say("Mira, hello!")
        await stage.troupe.trust.screening.flushed()
        await stage.quiet()
        assert [turn.text for turn in await stage.window()][:2] == ["Bob sits down.", "Mira, hello!"]
        assert len(stage.messenger.texts()) == 1
    records = [one for one in caplog.records if one.exc_info]
    assert all("let through" in one.getMessage() and "(ref " in one.getMessage() for one in records)
    assert len(records) == 2


async def test_many_failures_are_told_once(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.troupe.conduct.recorded = broken  # type: ignore[method-assign]
        for _ in range(5):
            stage.say("Mira, hello!")
        await stage.quiet(TAVERN)
        assert len(stage.messenger.notices) == 1


async def test_typing_that_fails_is_logged_and_costs_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.messenger.typing = broken  # type: ignore[method-assign]
        stage.say("Mira, hello!")
        await stage.quiet()
        assert len(stage.messenger.texts()) == 1
        assert not stage.messenger.notices
    assert [one.getMessage().startswith("typing in") for one in caplog.records if one.exc_info] == [True]


async def test_work_beside_ends_with_its_block() -> None:
    ended = asyncio.Event()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with beside(endless(), name="endless"):
        await asyncio.sleep(0)
    assert ended.is_set()


async def test_a_job_that_fails_is_logged_once_with_a_reference(caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs()
    await jobs.start(broken(), name="a job")
    (record,) = [one for one in caplog.records if one.exc_info]
    assert re.search(r"a job failed \(ref \w{6}\)", record.getMessage())
    await jobs.close()


@pytest.mark.parametrize("waiting", [True, False])
async def test_a_job_that_fails_when_nobody_waits_for_it_any_more_is_logged(
    caplog: pytest.LogCaptureFixture, waiting: bool
) -> None:
    jobs, go = Jobs(), asyncio.Event()

    async def fail() -> None:
        await go.wait()
        raise ValueError("lost")

    asking = asyncio.create_task(jobs.run(fail(), name="forget a member"), name="asking")
    await asyncio.sleep(0)
    if not waiting:
        asking.cancel()
        await asyncio.wait([asking])
    go.set()
    await jobs.settled(5)
    (ended,) = await asyncio.gather(asking, return_exceptions=True)
    assert isinstance(ended, ValueError if waiting else asyncio.CancelledError)
    told = [one.getMessage() for one in caplog.records if one.exc_info]
    assert len(told) == (not waiting)
    assert all(re.search(r"forget a member failed \(ref \w{6}\)", one) for one in told)
    await jobs.close()
