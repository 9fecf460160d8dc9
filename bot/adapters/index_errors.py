"""Turns failures of the search index's library into ours, with a bound on time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.errors import SearchIndexError

ADVICE = "`python -m bot reindex` rebuilds the search index; the database holds everything that is in it."
LIBRARY_ERRORS = (RuntimeError, ValueError, OSError, KeyError, TypeError)
"""What lancedb and pyarrow raise; they have no base class of their own."""


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
