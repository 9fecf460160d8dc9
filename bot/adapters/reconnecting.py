"""How long to wait before another attempt to connect to Discord."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final, Literal

from discord.backoff import ExponentialBackoff

LONGEST_S: Final = 180.0
"""Waits are half of it on average: that is fewer sessions in a day than the 1,000 that Discord allows."""
STEADY_S: Final = 300.0
"""After so long without an attempt the waits begin anew."""


class BoundedBackoff(ExponentialBackoff[Literal[False]]):
    """A random time below a bound that doubles with each attempt.

    The library's own bound grows to 17 minutes, and falls only after half an hour without an attempt: on a
    bad line the bot would be deaf for long although it could connect.
    """

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._attempts = 0
        self._last_attempt = now()

    def delay(self) -> float:
        """Seconds."""
        now = self._now()
        if now - self._last_attempt > STEADY_S:
            self._attempts = 0
        self._last_attempt = now
        self._attempts += 1
        return random.uniform(0.0, min(LONGEST_S, 2.0 ** min(self._attempts, 10)))
