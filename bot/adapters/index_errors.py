"""Turns failures of the search index's library into ours, with a bound on time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from bot.errors import SearchIndexError

ADVICE = "`python -m bot reindex` rebuilds the search index; the database holds everything that is in it."
LIBRARY_ERRORS = (RuntimeError, ValueError, OSError, KeyError, TypeError)
"""What lancedb and pyarrow raise; they have no base class of their own."""


FIRST_WAIT = 0.05
Answer = TypeVar("Answer")


async def again_after(
    symptom: str,
    action: Callable[[], Awaitable[Answer]],
    refresh: Callable[[], Awaitable[None]],
    *,
    attempts: int,
    first_wait: float = FIRST_WAIT,
) -> Answer:
    """Does `action`; where the library fails with `symptom` in its text, refreshes and tries again.

    Waits `first_wait` seconds, then twice as long, and so on. Other failures, and the last, are raised.
    """
    for attempt in range(1, attempts):
        try:
            return await action()
        except LIBRARY_ERRORS as error:
            if symptom not in str(error).lower():
                raise
        await asyncio.sleep(first_wait * 2 ** (attempt - 1))
        await refresh()
    return await action()


@asynccontextmanager
async def our_errors(seconds: float) -> AsyncIterator[None]:
    """Raises `SearchIndexError` for a failure of the library, and after `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise SearchIndexError(f"The search index did not answer within {seconds:g} s.") from error
    except LIBRARY_ERRORS as error:
        raise SearchIndexError(
            f"The search index cannot be used ({type(error).__name__}). {ADVICE}"
        ) from error
