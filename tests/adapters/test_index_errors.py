"""How failures of the search index's library become ours."""

from __future__ import annotations

import asyncio

import pytest

from bot.adapters.index_errors import again_after, our_errors
from bot.errors import SearchIndexError


class Failing:
    """Fails with each of `errors` in turn, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.refreshed = 0

    async def act(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "answer"

    async def refresh(self) -> None:
        self.refreshed += 1


async def test_symptom_is_met_with_a_refresh_and_another_attempt() -> None:
    failing = Failing(RuntimeError("Retryable commit Conflict"), RuntimeError("commit conflict"))
    assert await again_after("conflict", failing.act, failing.refresh, attempts=3, first_wait=0) == "answer"
    assert failing.refreshed == 2


async def test_last_attempt_fails_as_it_is() -> None:
    failing = Failing(*(OSError("Not found") for _ in range(2)))
    with pytest.raises(OSError, match="Not found"):
        await again_after("not found", failing.act, failing.refresh, attempts=2, first_wait=0)
    assert failing.refreshed == 1


async def test_other_failures_are_not_tried_again() -> None:
    failing = Failing(RuntimeError("disk full"))
    with pytest.raises(RuntimeError, match="disk full"):
        await again_after("conflict", failing.act, failing.refresh, attempts=3, first_wait=0)
    assert failing.refreshed == 0


@pytest.mark.parametrize("error", [RuntimeError("x"), ValueError("x"), OSError("x"), KeyError("x")])
async def test_failures_say_how_to_repair(error: Exception) -> None:
    with pytest.raises(SearchIndexError, match="python -m bot reindex") as caught:
        async with our_errors(5):
            raise error
    assert caught.value.__cause__ is error


async def test_answer_that_never_comes_is_given_up() -> None:
    with pytest.raises(SearchIndexError, match="did not answer"):
        async with our_errors(0.01):
            await asyncio.Event().wait()


async def test_cancellation_travels_on() -> None:
    with pytest.raises(asyncio.CancelledError):
        async with our_errors(5):
            raise asyncio.CancelledError
